package cluster_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
)

// A node of version 0.2.0 and a node of this version do not know of each other's requests. Therefore, nodes of this version crawl nothing
// until nodes of version 0.2.0 have owned no shard for half a minute, and then take shards in a way that these cannot undo.
func TestNodesOfVersion020AreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), mem.New()
		if err := cluster.CreateOld(ctx, s.Connect(), cluster.Job{Shards: 4, TTL: 12 * time.Second}); err != nil {
			t.Fatal(err)
		}
		old := s.Connect()
		take := func(shard int) *cluster.OldOwner {
			o, err := cluster.TakeOld(ctx, old, shard)
			if err != nil {
				t.Fatalf("shard %d: %v", shard, err)
			}
			return o
		}
		try := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		alive, silent, closed := take(0), take(1), take(2) // shard 3 has had no owner
		try(closed.Close(ctx))

		var mu sync.Mutex
		crawls := map[int]bool{}
		var told []cluster.Event
		begun := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(crawls)
		}
		var stops []func()
		for _, name := range []string{"a", "b"} {
			stops = append(stops, runNode(t, cluster.Config{
				Name: name, Engine: s.Connect(),
				Crawl: func(ctx context.Context, sh *cluster.Shard) error {
					mu.Lock()
					crawls[sh.Number] = true
					mu.Unlock()
					for shard := range 4 {
						if _, err := cluster.TakeOld(ctx, old, shard); err == nil {
							t.Errorf("version 0.2.0 takes shard %d while another is crawled", shard)
						}
					}
					return waitForLinks(ctx, sh)
				},
				Trace: func(e cluster.Event) {
					mu.Lock()
					defer mu.Unlock()
					if e.What == cluster.Waits {
						told = append(told, e)
					}
				},
			}))
		}
		for range 30 { // two minutes
			try(alive.Beat(ctx))
			time.Sleep(4 * time.Second)
		}
		try(silent.Beat(ctx)) // although this owner was silent for long, nobody has taken its shard
		try(alive.Close(ctx))
		time.Sleep(20 * time.Second)
		again := take(3) // a node of version 0.2.0 starts again
		try(again.Close(ctx))
		time.Sleep(29 * time.Second)
		if n := begun(); n > 0 {
			t.Fatalf("%d shards are crawled too early", n)
		}
		time.Sleep(time.Minute)
		if n := begun(); n != 4 {
			t.Errorf("%d shards are crawled of 4", n)
		}
		if len(told) != 2 {
			t.Errorf("%d times told of two nodes that wait: %v", len(told), told)
		}
		for _, stop := range stops {
			stop()
		}
	})
}

// A node of version 0.2.0 that runs on after all others were replaced takes no shard. The other nodes therefore keep none free for it.
func TestNodeOfVersion020GetsNoShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), mem.New()
		if err := cluster.CreateOld(ctx, s.Connect(), cluster.Job{Shards: 4}); err != nil {
			t.Fatal(err)
		}
		end, stop := context.WithCancel(ctx)
		defer stop()
		var signs sync.WaitGroup
		signs.Go(func() {
			for beat := uint64(1); end.Err() == nil; beat++ {
				if err := cluster.SignOld(ctx, s.Connect(), "old", beat); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Second)
			}
		})
		crawls := make(chan int, 100)
		stopNode := runNode(t, cluster.Config{Engine: s.Connect(), Crawl: func(ctx context.Context, sh *cluster.Shard) error {
			crawls <- sh.Number
			return waitForLinks(ctx, sh)
		}})
		time.Sleep(2 * time.Minute)
		if len(crawls) != 4 {
			t.Errorf("%d shards are crawled of 4", len(crawls))
		}
		stop()
		signs.Wait()
		stopNode()
	})
}
