package cluster_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
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

// A node whose clock is wrong gives its shards back and reports the error. When the clock is right again, the node takes shards again.
func TestSkewedNodeOwnsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New()
		if err := cluster.Create(t.Context(), s.Connect(), cluster.Job{Shards: 2}); err != nil {
			t.Fatal(err)
		}
		conn := s.Connect()
		var mu sync.Mutex
		var events []cluster.Event
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
		stop := runNode(t, cluster.Config{
			Engine: conn, Crawl: waitForLinks,
			Trace: func(e cluster.Event) {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, e)
			},
		})
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
		stop()
	})
}

// runNode runs a node with a small store in a new directory. The function stop ends the node and waits for its end.
func runNode(t *testing.T, c cluster.Config) (stop func()) {
	t.Helper()
	c.Name, c.Dir = cmp.Or(c.Name, "n"), t.TempDir()
	c.Store = disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10}
	n, err := cluster.NewNode(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- n.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// One of two nodes cannot own all of its shards, because its clock is wrong or because it may own only a few. The other node takes them, so
// that every shard has an owner.
func TestOthersTakeShardsThatANodeCannotOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		skew time.Duration
		most int
		want map[string]int
	}{
		"a clock that is wrong":    {skew: time.Hour, want: map[string]int{"right": 4}},
		"a node with --max-shards": {most: 1, want: map[string]int{"right": 3, "other": 1}},
		"two equal nodes":          {want: map[string]int{"right": 2, "other": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := mem.New()
				if err := cluster.Create(t.Context(), s.Connect(), cluster.Job{Shards: 4}); err != nil {
					t.Fatal(err)
				}
				var mu sync.Mutex
				owns := map[string]int{}
				ctx, cancel := context.WithCancel(t.Context())
				var nodes sync.WaitGroup
				for _, node := range []string{"other", "right"} {
					c := cluster.Config{Engine: s.Connect(), Name: node, Dir: t.TempDir(), Crawl: waitForLinks, Store: disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10}}
					if node == "other" {
						c.Engine.(*mem.Conn).Skew(tc.skew)
						c.MaxShards = tc.most
					}
					c.Trace = func(e cluster.Event) {
						mu.Lock()
						defer mu.Unlock()
						switch e.What {
						case cluster.Taken:
							owns[node]++
						case cluster.GivenBack, cluster.Lost:
							if owns[node]--; owns[node] == 0 {
								delete(owns, node)
							}
						}
					}
					n, err := cluster.NewNode(ctx, c)
					if err != nil {
						t.Fatal(err)
					}
					nodes.Go(func() {
						if err := n.Run(ctx); err != nil {
							t.Error(err)
						}
					})
				}
				time.Sleep(5 * time.Minute)
				mu.Lock()
				if !maps.Equal(owns, tc.want) {
					t.Errorf("they own %v shards, want %v", owns, tc.want)
				}
				mu.Unlock()
				st, err := cluster.ReadStatus(ctx, s.Connect())
				if err != nil || len(st.Nodes) != 2 || strings.Contains(st.Nodes[0].Waits, "clock") != (tc.skew > 0) || st.Nodes[1].Waits != "" {
					t.Errorf("%+v %v", st.Nodes, err)
				}
				cancel()
				nodes.Wait()
			})
		})
	}
}

// waitForLinks crawls a shard whose only URL stays in progress for ever.
func waitForLinks(ctx context.Context, sh *cluster.Shard) error {
	f := sh.Frontier()
	u, err := weburl.Parse(hostOf(sh))
	if err == nil {
		_, err = f.Add(ctx, frontier.Request{URL: u}) // as this URL is queued, the job is not done
	}
	for err == nil {
		_, err = f.Claim(ctx)
	}
	if errors.Is(err, frontier.ErrDrained) {
		return nil
	}
	return err
}

// hostOf returns the URL of a host that belongs to the shard.
func hostOf(sh *cluster.Shard) string {
	j := sh.Job()
	for i := 0; ; i++ {
		if host := fmt.Sprintf("h%d.test:80", i); j.Shard(host) == sh.Number {
			return "http://" + host + "/"
		}
	}
}
