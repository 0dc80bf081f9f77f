package cluster_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/frontier/disk"
)

// TestRestartedNodeTakesItsShardsAtOnce: if a process has provably ended, the next process with its name and directory takes over its
// shards at once, and no other process does.
func TestRestartedNodeTakesItsShardsAtOnce(t *testing.T) {
	const shards = 4
	for name, c := range map[string]struct {
		gone   string // ID of the process that the second process knows to have ended
		dir    string // directory of the second process
		other  bool   // whether another node lives
		atOnce bool
	}{
		"proven":                         {gone: "p1", dir: "n", atOnce: true},
		"proven, and another node lives": {gone: "p1", dir: "n", other: true, atOnce: true},
		"not proven":                     {dir: "n"},
		"another directory":              {gone: "p1", dir: "m"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, dir := mem.New(), t.TempDir()
				if err := cluster.Create(t.Context(), s.Connect(), cluster.Job{Shards: shards, Delay: time.Second}); err != nil {
					t.Fatal(err)
				}
				var owned atomic.Int64
				begin := func(c cluster.Config) (kill func()) {
					c.Engine, c.Crawl, c.Store = s.Connect(), waitForLinks, disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10}
					if c.Name == "n" {
						c.Trace = func(e cluster.Event) {
							if e.What == cluster.Taken {
								owned.Add(1)
							}
						}
					}
					n, err := cluster.NewNode(t.Context(), c)
					if err != nil {
						t.Fatal(err)
					}
					ctx, stop := context.WithCancel(context.Background())
					alive, end := context.WithCancel(context.Background())
					ended := make(chan struct{})
					go func() {
						defer close(ended)
						_ = cluster.RunNode(n, ctx, alive)
					}()
					return func() {
						end()
						stop()
						<-ended
					}
				}
				if c.other {
					defer begin(cluster.Config{Name: "o", Dir: filepath.Join(dir, "o"), MaxShards: 1})()
				}
				kill := begin(cluster.Config{Name: "n", Dir: filepath.Join(dir, "n"), Process: "p1"})
				time.Sleep(2 * time.Minute)
				kill()
				had := owned.Swap(0)
				if want := int64(shards); !c.other && had != want || had == 0 {
					t.Fatalf("the first process owned %d shards", had)
				}
				defer begin(cluster.Config{Name: "n", Dir: filepath.Join(dir, c.dir), Process: "p2", Gone: c.gone})()
				time.Sleep(time.Second / 2)
				if got := owned.Load(); c.atOnce && got == 0 || !c.atOnce && got != 0 {
					t.Errorf("%d shards are taken after half a second", got)
				}
				for owned.Load() == 0 { // at the latest when the lease ends
					time.Sleep(time.Second)
				}
			})
		})
	}
}
