package cluster_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/frontier/disk"
)

// When a stopping node gives its shards back, another node takes them at once. It does not wait for the TTL, the time for which a node must
// be silent before its shards are free. Another process may then use the stopped node's name.
func TestReturnedShardsAreTakenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New()
		if err := cluster.Create(t.Context(), s.Connect(), cluster.Job{Shards: 4}); err != nil {
			t.Fatal(err)
		}
		var nodes sync.WaitGroup
		var slow atomic.Bool // giving back the next shard takes long
		start := func(name string) (owns *atomic.Int64, stop context.CancelFunc) {
			owns = &atomic.Int64{}
			ctx, stop := context.WithCancel(t.Context())
			c := cluster.Config{Engine: s.Connect(), Name: name, Dir: t.TempDir(), Store: disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10}}
			c.Crawl = func(ctx context.Context, sh *cluster.Shard) error {
				err := waitForLinks(ctx, sh)
				if slow.CompareAndSwap(true, false) {
					time.Sleep(cluster.DefaultTTL / 2)
				}
				return err
			}
			c.Trace = func(e cluster.Event) {
				if e.What == cluster.Taken {
					owns.Add(1)
				} else {
					owns.Add(-1)
				}
			}
			n, err := cluster.NewNode(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			nodes.Go(func() {
				if err := n.Run(ctx); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			return owns, stop
		}
		stays, end := start("stays")
		leaves, leave := start("leaves")
		time.Sleep(5 * time.Minute)
		if stays.Load() != 2 || leaves.Load() != 2 {
			t.Fatalf("two nodes own %d and %d of 4 shards", stays.Load(), leaves.Load())
		}
		slow.Store(true) // not earlier: nodes that have just met may give back some of their shards
		leave()
		time.Sleep(cluster.DefaultTTL / 3)
		if stays.Load() != 3 {
			t.Errorf("%v after the other one was told to stop, which takes long for one shard, a node owns %d of 4", cluster.DefaultTTL/3, stays.Load())
		}
		time.Sleep(cluster.DefaultTTL / 3)
		if stays.Load() != 4 {
			t.Errorf("when the other one has left, a node owns %d of 4 shards", stays.Load())
		}
		again, stop := start("leaves")
		time.Sleep(cluster.DefaultTTL)
		if stays.Load()+again.Load() != 4 || again.Load() == 0 {
			t.Errorf("a new process of that name owns %d shards, the other one %d", again.Load(), stays.Load())
		}
		stop()
		end()
		nodes.Wait()
	})
}
