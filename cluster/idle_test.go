package cluster_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// A node with more than its share gives back busy shards and keeps idle ones. A shard that moves between nodes cannot answer whether it is
// idle; if idle shards moved, the job would not end.
func TestIdleShardsStayWhereTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New()
		if err := cluster.Create(t.Context(), s.Connect(), cluster.Job{Shards: 8}); err != nil {
			t.Fatal(err)
		}
		var moved, idle atomic.Int64
		for _, name := range []string{"first", "second"} {
			defer runNode(t, cluster.Config{
				Engine: s.Connect(), Name: name, Crawl: holdPage,
				Trace: func(e cluster.Event) {
					switch {
					case e.What != cluster.GivenBack:
					case e.Shard == 0:
						moved.Add(1)
					default:
						idle.Add(1)
					}
				},
			})()
			time.Sleep(time.Minute) // meanwhile the first node takes all shards
		}
		if moved.Load() != 1 || idle.Load() != 0 {
			t.Errorf("the busy shard was given back %d times, want once; idle ones %d times, want never", moved.Load(), idle.Load())
		}
	})
}

// holdPage claims URLs of a shard until its context ends. Only shard 0 has a page, and the claim is never settled.
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

// An owner may give its shard back before it has answered a probe that asks whether the shard is idle. That probe then fails, and the next
// owner answers the next probe.
func TestOwnerMayLeaveBeforeItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New()
		e := s.Connect()
		if err := cluster.Create(t.Context(), e, cluster.Job{Shards: 2}); err != nil {
			t.Fatal(err)
		}
		own := func() (stop func()) {
			stop = runNode(t, cluster.Config{Engine: s.Connect(), Crawl: holdPage})
			time.Sleep(time.Minute)
			return stop
		}
		own()()
		ask := cluster.AskIdle(e, 1, 77)
		if answered, busy := ask(t.Context()); answered || busy {
			t.Errorf("while nobody owns it: answered %t, busy %t", answered, busy)
		}
		if err := e.Drop(t.Context(), 1, 1000); err != nil { // as if the first owner had already read the probe
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
