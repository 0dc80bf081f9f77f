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

// What asks whether a shard is idle is answered by its next owner if it was read by one that gave the shard back.
func TestNextOwnerAnswersWhetherItIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New()
		e := s.Connect()
		if err := cluster.Create(t.Context(), e, cluster.Job{Shards: 2}); err != nil {
			t.Fatal(err)
		}
		own := func(dir string) (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			n, err := cluster.NewNode(ctx, cluster.Config{
				Engine: s.Connect(), Name: "n", Dir: dir, Store: disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10}, Crawl: holdPage,
			})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error)
			go func() { ended <- n.Run(ctx) }()
			return func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		stop := own(t.TempDir())
		time.Sleep(10 * time.Second)
		const probe = 77
		if err := cluster.SendProbe(t.Context(), e, 1, probe); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		stop()
		stop = own(t.TempDir())
		time.Sleep(time.Minute)
		if got := cluster.LastProbe(t.Context(), e, 1); got != probe {
			t.Errorf("the next owner has read %d, want %d", got, probe)
		}
		stop()
	})
}
