package cluster_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/politeness"
)

// counted is an engine that counts how often a host clock is stored.
type counted struct {
	cluster.ClockStore
	stores atomic.Int64
}

func (c *counted) StoreClock(ctx context.Context, key string, value []byte, rev uint64, life time.Duration) (uint64, error) {
	c.stores.Add(1)
	return c.ClockStore.StoreClock(ctx, key, value, rev, life)
}

// partOf returns the host clocks for the process id of a job. The process gone is proven to have ended.
func partOf(t *testing.T, ctx context.Context, store cluster.ClockStore, id, gone string) *cluster.Clocks {
	t.Helper()
	k := cluster.NewClocks(ctx, store, "job", 0)
	cluster.SetProcess(k, id, gone)
	return k
}

// TestSingleGateRarelyAsksTheEngine checks that a process that is alone at a host does not store the clocks of the host and its address
// twice for each request. Only a turn of a gate that comes after more than a second is reported to the engine.
func TestSingleGateRarelyAsksTheEngine(t *testing.T) {
	for delay, most := range map[time.Duration]int64{100 * time.Millisecond: 12, time.Second: 2 * 32} {
		synctest.Test(t, func(t *testing.T) {
			store := &counted{ClockStore: mem.New().Connect().Clocks()}
			k := partOf(t, t.Context(), store, "p", "")
			g := gateOn(t, k, "a", delay)
			for range 30 {
				request(t, g, robots, "192.0.2.1", 10*time.Millisecond, ok)
			}
			k.Close()
			if n := store.stores.Load(); n > most {
				t.Errorf("30 requests with a delay of %v: %d clocks were stored, want at most %d", delay, n, most)
			}
		})
	}
}

// TestNewcomerGetsATurnWhileAClockIsHeld lets a gate wait for another one that makes requests all the time, or one that has stopped.
func TestNewcomerGetsATurnWhileAClockIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mem.New()
		k := partOf(t, t.Context(), server.Connect().Clocks(), "p", "")
		other := cluster.NewClocks(t.Context(), server.Connect().Clocks(), "", 0)
		busy, waits := gateOn(t, k, "a", 200*time.Millisecond), gateOn(t, other, "b", time.Second)
		var mu sync.Mutex
		var all []string
		var last time.Time // end of the last request
		one := func(g *politeness.Gate, name string) {
			p := admit(t, g, robots, "192.0.2.1")
			mu.Lock()
			began := time.Now()
			if n := len(all); n > 0 && (name == "b" || all[n-1] == "b") && began.Sub(last) < time.Second {
				t.Errorf("%s begins %v after %s, want 1s", name, began.Sub(last), all[n-1])
			}
			all, last = append(all, name), began.Add(time.Hour)
			mu.Unlock()
			time.Sleep(20 * time.Millisecond)
			mu.Lock()
			last = time.Now()
			mu.Unlock()
			g.Report(p, ok)
		}
		ctx, stop := context.WithCancel(t.Context())
		var tasks sync.WaitGroup
		tasks.Go(func() {
			for range 1000 {
				if ctx.Err() == nil {
					one(busy, "a")
				}
			}
		})
		time.Sleep(10 * time.Second)
		for range 10 {
			before := time.Now()
			if one(waits, "b"); time.Since(before) > 3500*time.Millisecond {
				t.Errorf("who waits has its turn after %v", time.Since(before))
			}
		}
		stop()
		tasks.Wait()
		time.Sleep(time.Minute)
		one(busy, "a")
		before := time.Now()
		if one(waits, "b"); time.Since(before) > 2500*time.Millisecond {
			t.Errorf("after a gate that does not come again, the turn is after %v", time.Since(before))
		}
		k.Close()
		other.Close()
	})
}

// TestClocksOfAKilledProcess checks when others may take the clocks of a killed process: after the pause if the process has provably ended,
// otherwise when its request must be over. A long pause is stored at once.
func TestClocksOfAKilledProcess(t *testing.T) {
	for name, c := range map[string]struct {
		gone        string
		reply       politeness.Reply
		least, most time.Duration
	}{
		"it is known":     {"p", ok, time.Second, 1500 * time.Millisecond},
		"it is not known": {"", ok, 28 * time.Second, 33 * time.Second},
		"another is":      {"q", ok, 28 * time.Second, 33 * time.Second},
		"a Retry-After":   {"p", politeness.Reply{Status: 503, Header: http.Header{"Retry-After": {"200"}}}, 199 * time.Second, 205 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := mem.New()
				process, kill := context.WithCancel(t.Context())
				a := partOf(t, process, server.Connect().Clocks(), "p", "")
				one := gateOn(t, a, "a", time.Second)
				request(t, one, robots, "192.0.2.1", 0, ok)
				request(t, one, robots, "192.0.2.1", 0, c.reply)
				time.Sleep(100 * time.Millisecond)
				kill()
				killed := time.Now()
				b := partOf(t, t.Context(), server.Connect().Clocks(), "r", c.gone)
				began := request(t, gateOn(t, b, "b", time.Second), robots, "192.0.2.1", 0, ok)
				if after := began.Sub(killed); after < c.least || after > c.most {
					t.Errorf("requested %v after the kill, want %v to %v", after, c.least, c.most)
				}
				b.Close()
			})
		})
	}
}

// TestClocksAreGivenBackAtOnce: a clock is given back at once after another crawl's turn, and if its pause is longer than the engine knows.
func TestClocksAreGivenBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mem.New()
		process, kill := context.WithCancel(t.Context())
		a := partOf(t, process, server.Connect().Clocks(), "p", "")
		b := cluster.NewClocks(t.Context(), server.Connect().Clocks(), "", 0)
		turn := func(k *cluster.Clocks, gate string) (*politeness.Turn, error) {
			x := &politeness.Turn{Gate: gate, Crawl: gate, Host: "a.test", Port: "80", Delay: time.Second}
			return x, k.Take(x)
		}
		end := func(k *cluster.Clocks, x *politeness.Turn, pause time.Duration) (until time.Time) {
			now := time.Now()
			k.Done(x, politeness.Owed{Ended: now, Host: now.Add(pause)})
			time.Sleep(50 * time.Millisecond)
			return now.Add(pause)
		}
		waits := func(k *cluster.Clocks, gate string, until time.Time) {
			t.Helper()
			var w *politeness.NotYet
			if _, err := turn(k, gate); !errors.As(err, &w) || w.Until.Sub(until).Abs() > 10*time.Millisecond {
				t.Errorf("%v: want to wait until %v", err, until)
			}
			time.Sleep(time.Until(until) + 100*time.Millisecond)
		}
		x, err := turn(b, "b")
		if err != nil {
			t.Fatal(err)
		}
		waits(a, "a", end(b, x, time.Second))
		if x, err = turn(a, "a"); err != nil {
			t.Fatal(err)
		}
		waits(b, "b", end(a, x, time.Second))
		b.Leave("b")
		for range 2 { // in the second round, the first crawl is alone
			time.Sleep(time.Minute)
			if x, err = turn(a, "a"); err != nil {
				t.Fatal(err)
			}
			until := end(a, x, 10*time.Second)
			if waits(b, "b", until); time.Now().Before(until) {
				t.Error("it has not waited")
			}
			b.Leave("b")
		}
		time.Sleep(time.Minute)
		if x, err = turn(a, "a"); err != nil {
			t.Fatal(err)
		}
		until := end(a, x, 10*time.Second)
		kill()
		waits(partOf(t, t.Context(), server.Connect().Clocks(), "r", "p"), "c", until)
		b.Close()
	})
}
