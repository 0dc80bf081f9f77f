package cluster_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/weburl"
)

// Of a node that has more than its share, only shards that have something to do move to another: the others would only not answer, while
// they move, who asks whether the job is over.
func TestIdleShardsStayWhereTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New()
		if err := cluster.Create(t.Context(), s.Connect(), cluster.Job{Shards: 8}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var nodes sync.WaitGroup
		var moved, idle atomic.Int64
		for _, name := range []string{"first", "second"} {
			n, err := cluster.NewNode(ctx, cluster.Config{
				Engine: s.Connect(), Name: name, Dir: t.TempDir(), Store: disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10},
				Crawl: holdPage,
				Trace: func(e cluster.Event) {
					switch {
					case e.What != cluster.GivenBack || ctx.Err() != nil:
					case e.Shard == 0:
						moved.Add(1)
					default:
						idle.Add(1)
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			nodes.Go(func() {
				if err := n.Run(ctx); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(time.Minute) // the first one has taken all
		}
		if moved.Load() != 1 || idle.Load() != 0 {
			t.Errorf("the busy shard was given back %d times, want once; idle ones %d times, want never", moved.Load(), idle.Load())
		}
		cancel()
		nodes.Wait()
	})
}

// holdPage is the crawl of a shard that has nothing to do, or, as shard 0, a page that is never settled.
func holdPage(ctx context.Context, sh *cluster.Shard) error {
	f := sh.Frontier()
	u, err := weburl.Parse("http://" + hostIn(sh.Job(), true) + "/")
	if err == nil && sh.Number == 0 {
		_, err = f.Add(ctx, frontier.Request{URL: u})
	}
	for err == nil {
		_, err = f.Claim(ctx)
	}
	if errors.Is(err, frontier.ErrDrained) {
		return nil
	}
	return err
}

// Who is asked whether it is idle may give its shard back without an answer: then the attempt to end the job is over, and the next owner
// answers the next one.
func TestWhoIsAskedMayBeGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New()
		e := s.Connect()
		if err := cluster.Create(t.Context(), e, cluster.Job{Shards: 2}); err != nil {
			t.Fatal(err)
		}
		own := func() (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			n, err := cluster.NewNode(ctx, cluster.Config{
				Engine: s.Connect(), Name: "n", Dir: t.TempDir(), Store: disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10}, Crawl: holdPage,
			})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error)
			go func() { ended <- n.Run(ctx) }()
			time.Sleep(time.Minute)
			return func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		own()()
		ask := cluster.AskIdle(e, 1, 77)
		if answered, busy := ask(t.Context()); answered || busy {
			t.Errorf("while nobody owns it: answered %t, busy %t", answered, busy)
		}
		if err := e.Drop(t.Context(), 1, 1000); err != nil { // as if the first owner had read it last
			t.Fatal(err)
		}
		stop := own()
		if answered, busy := ask(t.Context()); answered || !busy {
			t.Errorf("after the owner has changed: answered %t, busy %t", answered, busy)
		}
		ask = cluster.AskIdle(e, 1, 78)
		ask(t.Context())
		time.Sleep(10 * time.Second)
		if answered, busy := ask(t.Context()); !answered || busy {
			t.Errorf("the next attempt: answered %t, busy %t", answered, busy)
		}
		stop()
	})
}
