package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/weburl"
)

// A node whose clock is wrong gives its shards back, says so, and takes them again when the clock is right.
func TestSkewedNodeOwnsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New()
		if err := cluster.Create(t.Context(), s.Connect(), cluster.Job{Shards: 2}); err != nil {
			t.Fatal(err)
		}
		conn := s.Connect()
		var mu sync.Mutex
		var events []cluster.Event
		n, err := cluster.NewNode(t.Context(), cluster.Config{
			Engine: conn, Name: "n", Dir: t.TempDir(), Store: disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10},
			Crawl: func(ctx context.Context, sh *cluster.Shard) error {
				f := sh.Frontier()
				_, err := f.Add(ctx, own(t, sh)) // so that the job is not done
				for err == nil {
					_, err = f.Claim(ctx)
				}
				if errors.Is(err, frontier.ErrDrained) {
					return nil
				}
				return err
			},
			Trace: func(e cluster.Event) {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, e)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		has := func(what string, want int) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			got := 0
			for _, e := range events {
				if e.What == what {
					got++
				}
			}
			if got != want {
				t.Errorf("%s %d times, want %d: %v", what, got, want, events)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- n.Run(ctx) }()
		time.Sleep(time.Minute)
		has(cluster.Taken, 2)
		conn.Skew(-600 * time.Millisecond)
		time.Sleep(2 * time.Minute)
		has(cluster.GivenBack, 2)
		has(cluster.Skewed, 1)
		has(cluster.Taken, 2)
		conn.Skew(100 * time.Millisecond)
		time.Sleep(time.Minute)
		has(cluster.Taken, 4)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// own is a URL of a shard's own.
func own(t *testing.T, sh *cluster.Shard) frontier.Request {
	j := sh.Job()
	for i := 0; ; i++ {
		u, err := weburl.Parse(fmt.Sprintf("http://h%d.test/", i))
		if err != nil {
			t.Error(err)
		}
		if j.Shard(u.Host()) == sh.Number {
			return frontier.Request{URL: u}
		}
	}
}
