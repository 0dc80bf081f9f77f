package cluster_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/frontier/disk"
)

// reading is an engine that counts how often inboxes are read. A mute one tells of nothing that arrives.
type reading struct {
	cluster.Engine
	mute  bool
	reads atomic.Int64
}

// Inbox implements cluster.Inboxes.
func (c *reading) Inbox(ctx context.Context, shard int, after uint64) iter.Seq2[cluster.Entry, error] {
	c.reads.Add(1)
	return c.Engine.Inbox(ctx, shard, after)
}

// Watch implements cluster.Inboxes.
func (c *reading) Watch(shard int, f func()) (stop func(), err error) {
	if c.mute {
		f = func() {}
	}
	return c.Engine.Watch(shard, f)
}

// What arrives is read within a second, and seldom is an inbox read in which nothing has arrived. If the engine does not tell of it, it is
// read within some seconds.
func TestInboxesAreReadWhenSomethingArrives(t *testing.T) {
	for name, tc := range map[string]struct {
		mute   bool
		within time.Duration
	}{
		"told":     {within: time.Second},
		"not told": {mute: true, within: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := mem.New()
				if err := cluster.Create(t.Context(), s.Connect(), cluster.Job{Shards: 1}); err != nil {
					t.Fatal(err)
				}
				e := &reading{Engine: s.Connect(), mute: tc.mute}
				aside := make(chan time.Time, 1)
				n, err := cluster.NewNode(t.Context(), cluster.Config{
					Engine: e, Name: "n", Dir: t.TempDir(), Store: disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10},
					Crawl: waitForLinks,
					Trace: func(x cluster.Event) {
						if x.What == cluster.Aside {
							aside <- time.Now()
						}
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- n.Run(ctx) }()
				time.Sleep(time.Minute)
				before := e.reads.Load()
				time.Sleep(time.Minute)
				if n := e.reads.Load() - before; n > 13 {
					t.Errorf("an inbox in which nothing arrives is read %d times a minute", n)
				}
				sent := time.Now()
				if err := s.Connect().Send(ctx, 0, "1", []byte("which is no offer")); err != nil {
					t.Error(err)
				}
				if waited := (<-aside).Sub(sent); waited > tc.within {
					t.Errorf("read after %v, want %v", waited, tc.within)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
