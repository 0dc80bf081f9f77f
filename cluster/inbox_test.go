package cluster_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// reading is an engine that counts reads of the first inbox. If mute is set, Watch never calls its function.
type reading struct {
	cluster.Engine
	mute  bool
	reads atomic.Int64
}

// Inbox implements cluster.Inboxes.
func (c *reading) Inbox(ctx context.Context, shard int, after uint64) iter.Seq2[cluster.Entry, error] {
	if shard == 0 {
		c.reads.Add(1)
	}
	return c.Engine.Inbox(ctx, shard, after)
}

// Watch implements cluster.Inboxes.
func (c *reading) Watch(shard int, f func()) (stop func(), err error) {
	if c.mute {
		f = func() {}
	}
	return c.Engine.Watch(shard, f)
}

// An inbox is read within a second after a message arrives, or within five seconds if the engine did not announce the message. An inbox
// without messages is read every five seconds.
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
				stop := runNode(t, cluster.Config{
					Engine: e, Crawl: waitForLinks,
					Trace: func(x cluster.Event) {
						if x.What == cluster.Aside {
							aside <- time.Now()
						}
					},
				})
				time.Sleep(time.Minute)
				before := e.reads.Load()
				time.Sleep(time.Minute)
				if n := e.reads.Load() - before; n > 13 {
					t.Errorf("an inbox in which nothing arrives is read %d times a minute", n)
				}
				sent := time.Now()
				if err := s.Connect().Send(t.Context(), 0, "1", []byte("which is no offer")); err != nil {
					t.Error(err)
				}
				if waited := (<-aside).Sub(sent); waited > tc.within {
					t.Errorf("read after %v, want %v", waited, tc.within)
				}
				stop()
			})
		})
	}
}

// In a job of many shards, a shard that has URLs to crawl reads its inbox every five seconds, however many messages arrive. In a job of a
// few shards, the interval is one second.
func TestBusyShardsReadTheirInboxRarely(t *testing.T) {
	for shards, tc := range map[int]struct {
		late  int64 // maximum unread messages, if one arrives each second
		reads int64 // number of reads in a minute
	}{64: {late: 5, reads: 13}, 8: {late: 1, reads: 61}} {
		t.Run(fmt.Sprint(shards), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := mem.New()
				if err := cluster.Create(t.Context(), s.Connect(), cluster.Job{Shards: shards}); err != nil {
					t.Fatal(err)
				}
				e := &reading{Engine: s.Connect()}
				var read atomic.Int64
				stop := runNode(t, cluster.Config{
					Engine: e,
					Crawl: func(ctx context.Context, sh *cluster.Shard) error {
						u, err := weburl.Parse(hostOf(sh))
						if err == nil {
							_, err = sh.Frontier().Add(ctx, frontier.Request{URL: u})
						}
						<-ctx.Done()
						return err
					},
					Trace: func(x cluster.Event) {
						if x.What == cluster.Aside {
							read.Add(1)
						}
					},
				})
				time.Sleep(time.Minute)
				before := e.reads.Load()
				for sent := range int64(60) {
					if late := sent - read.Load(); late > tc.late {
						t.Errorf("%d messages of one each second are not read", late)
					}
					if err := s.Connect().Send(t.Context(), 0, fmt.Sprint(sent), []byte("which is no offer")); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Second)
				}
				if n := e.reads.Load() - before; n > tc.reads {
					t.Errorf("the inbox is read %d times a minute", n)
				}
				stop()
			})
		})
	}
}
