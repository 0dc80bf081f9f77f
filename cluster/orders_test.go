package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/weburl"
)

// TestAResumedJobIsCollectedAgain checks that a job counts as collected only until the next order.
func TestAResumedJobIsCollectedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mem.New().Connect()
		if err := cluster.Create(t.Context(), e, cluster.Job{Shards: 1}); err != nil {
			t.Fatal(err)
		}
		give := func(what string) {
			t.Helper()
			if _, err := cluster.Give(t.Context(), e, cluster.Order{What: what}); err != nil {
				t.Fatal(err)
			}
		}
		is := func(want bool) {
			t.Helper()
			if got, err := cluster.IsCollected(t.Context(), e); got != want || err != nil {
				t.Errorf("collected: %v, %v, want %v", got, err, want)
			}
		}
		is(false)
		give(cluster.OrderDrain)
		if err := cluster.NoteCollected(t.Context(), e, 1, []uint64{0}); err != nil {
			t.Fatal(err)
		}
		is(true)
		give(cluster.OrderResume)
		is(false)
		if err := cluster.NoteCollected(t.Context(), e, 2, []uint64{0}); err != nil {
			t.Fatal(err)
		}
		is(true)
	})
}

// Orders that several operators give at the same time get different numbers, even with stale reads.
func TestOrdersAtTheSameTimeAllCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New()
		if err := cluster.Create(t.Context(), s.Connect(), cluster.Job{Shards: 1}); err != nil {
			t.Fatal(err)
		}
		const operators, each = 8, 5
		var given sync.WaitGroup
		for i := range operators {
			conn := s.Connect()
			conn.Misbehave(mem.Faults{Seed: uint64(i) + 1, Latency: 50 * time.Millisecond, Stale: 0.5})
			given.Go(func() {
				for k := range each {
					err := cluster.ErrNoJob
					for errors.Is(err, cluster.ErrNoJob) { // a stale read may not find the job
						_, err = cluster.Give(t.Context(), conn, cluster.Order{What: "leave-out", To: fmt.Sprintf("h%d-%d.test", i, k)})
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		given.Wait()
		all, err := cluster.LoadOrders(t.Context(), s.Connect())
		if err != nil || len(all) != operators*each {
			t.Fatalf("%d orders of %d, %v", len(all), operators*each, err)
		}
		hosts := map[string]bool{}
		for i, o := range all {
			if hosts[o.To] = true; o.Number != i+1 || o.At.IsZero() {
				t.Errorf("order %d: %+v", i+1, o)
			}
		}
		if len(hosts) != operators*each {
			t.Errorf("%d different orders", len(hosts))
		}
	})
}

// A job that is over accepts only the order to resume. No order lets a job crawl faster than it was created to.
func TestOrdersThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mem.New().Connect()
		if _, err := cluster.Give(t.Context(), e, cluster.Order{What: cluster.OrderPause}); !errors.Is(err, cluster.ErrNoJob) {
			t.Errorf("without a job: %v", err)
		}
		if err := cluster.Create(t.Context(), e, cluster.Job{Shards: 1, Rate: 10, Limits: cluster.Limits{Pages: 100}}); err != nil {
			t.Fatal(err)
		}
		set := func(key string, value float64) error {
			_, err := cluster.Give(t.Context(), e, cluster.Order{What: cluster.OrderSet, Key: key, Value: value})
			return err
		}
		for _, c := range []struct {
			key   string
			value float64
			want  error // nil: accepted, unless bad is true
			bad   bool  // refused with any other error
		}{
			{cluster.SetRate, 2, nil, false},
			{cluster.SetRate, 10, nil, false}, // back to the job's own rate
			{cluster.SetRate, 10.5, cluster.ErrFaster, false},
			{cluster.SetRate, 0, cluster.ErrFaster, false},
			{cluster.SetRate, -1, nil, true},
			{cluster.EndPages, 500, nil, false},
			{cluster.EndPages, 499, nil, true},
			{cluster.EndTime, 3600, nil, false},
			{"delay", 1, nil, true},
		} {
			err := set(c.key, c.value)
			if c.want != nil && !errors.Is(err, c.want) || c.bad != (err != nil && c.want == nil) {
				t.Errorf("%s=%v: %v", c.key, c.value, err)
			}
		}
		s, err := cluster.ReadStatus(t.Context(), e)
		if err != nil || s.Job.Rate != 10 || s.Job.Limits != (cluster.Limits{Pages: 500, Time: time.Hour}) || len(s.Orders) != 4 {
			t.Errorf("%+v, %d orders, %v", s.Job, len(s.Orders), err)
		}
		give := func(what string) error {
			_, err := cluster.Give(t.Context(), e, cluster.Order{What: what})
			return err
		}
		if err := give(cluster.OrderDrain); err != nil {
			t.Error(err)
		}
		if err := give(cluster.OrderPause); !errors.Is(err, cluster.ErrOver) {
			t.Errorf("a job that is over is paused: %v", err)
		}
		if err := errors.Join(give(cluster.OrderResume), give(cluster.OrderPause)); err != nil {
			t.Errorf("a job that goes on: %v", err)
		}
		for err == nil {
			_, err = cluster.Give(t.Context(), e, cluster.Order{What: "leave-out", To: fmt.Sprintf("%020000d", 0)})
		}
		if !errors.Is(err, cluster.ErrTooMany) {
			t.Errorf("orders without end: %v", err)
		}
	})
}

// TestOrdersOutliveNodes pauses jobs and leaves a host out, while nodes are killed, cut off and restarted and reads are stale. During the
// pause nothing is requested, and the next owner of a shard knows which host is left out.
func TestOrdersOutliveNodes(t *testing.T) {
	for seed := range uint64(long.N(5, 12)) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := newSim(t, w, 1000+seed)
				rng := rand.New(rand.NewPCG(seed, 2))
				operator := s.server.Connect()
				give := func(what, to string) {
					if _, err := cluster.Give(t.Context(), operator, cluster.Order{What: what, To: to}); err != nil && !errors.Is(err, cluster.ErrOver) {
						t.Error(err)
					}
				}
				for i := range 2 {
					s.begin(fmt.Sprint("n", i))
				}
				time.Sleep(time.Duration(5+rng.IntN(40)) * time.Second)
				give("leave-out", s.host(1))
				give(cluster.OrderPause, "")
				// A node that is cut off may request URLs until its lease ends. URLs that are claimed already may still be requested.
				time.Sleep(s.job.TTL + 2*time.Minute)
				begin := time.Now()
				for range 4 {
					s.trouble()
					time.Sleep(time.Duration(rng.ExpFloat64() * float64(s.job.TTL)))
				}
				dies := rng.IntN(2) == 0
				for _, x := range s.living() { // the next node starts without any knowledge, and takes over returned shards at once
					if dies {
						x.kill()
					}
					x.stop()
					<-x.ended
				}
				time.Sleep(s.job.TTL)
				calm := s.faults
				s.faults.Stale = 0.5
				s.begin("late")
				s.faults = calm
				time.Sleep(6 * s.job.TTL)
				end := time.Now()
				for _, x := range s.living() {
					x.conn.Misbehave(mem.Faults{})
				}
				give(cluster.OrderResume, "")
				s.run()
				for _, r := range w.Requests() {
					if r.Start.After(begin) && r.Start.Before(end) {
						t.Errorf("%s was requested %v after the pause was certain", r.URL, r.Start.Sub(begin))
					}
					if r.Start.After(begin) && r.Host == s.host(1)+":80" {
						t.Errorf("%s was requested, whose host is left out", r.URL)
					}
				}
			})
		})
	}
}

// If a pause begins while a call of Claim waits, the call gets no URL before the pause ends, whatever is queued meanwhile. A node can give
// back a shard that is paused.
func TestPauseRecallsClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New()
		if err := cluster.Create(t.Context(), s.Connect(), cluster.Job{Shards: 1}); err != nil {
			t.Fatal(err)
		}
		give := func(what string) {
			if _, err := cluster.Give(t.Context(), s.Connect(), cluster.Order{What: what}); err != nil {
				t.Error(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		claimed := make(chan error, 2)
		c := cluster.Config{Engine: s.Connect(), Name: "n", Dir: t.TempDir(), Store: disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10}}
		c.Crawl = func(ctx context.Context, sh *cluster.Shard) error {
			f := sh.Frontier()
			add := func(url string) {
				u, err := weburl.Parse(url)
				if err == nil {
					_, err = f.Add(ctx, frontier.Request{URL: u})
				}
				if err != nil {
					t.Error(err)
				}
			}
			add("http://b.test/")
			if _, err := f.Claim(ctx); err != nil { // this URL stays in progress until the end, so that the job is not done
				return err
			}
			time.AfterFunc(2*time.Minute, func() { add("http://a.test/") })
			for {
				x, err := f.Claim(ctx)
				if claimed <- err; err != nil {
					return nil
				}
				if err := f.Settle(ctx, x, frontier.Settlement{}); err != nil {
					return err
				}
			}
		}
		n, err := cluster.NewNode(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- n.Run(ctx) }()
		time.Sleep(time.Minute)
		give(cluster.OrderPause)
		time.Sleep(9 * time.Minute)
		if len(claimed) > 0 {
			t.Errorf("a URL was handed out while the job is paused: %v", <-claimed)
		}
		give(cluster.OrderResume)
		time.Sleep(time.Minute)
		if len(claimed) != 1 || <-claimed != nil {
			t.Errorf("%d URLs when the job goes on", len(claimed))
		}
		give(cluster.OrderPause)
		time.Sleep(time.Minute)
		began := time.Now()
		stop()
		if err := <-ended; err != nil || time.Since(began) > 5*time.Second {
			t.Errorf("a paused shard was given back after %v: %v", time.Since(began), err)
		}
		if err := <-claimed; !errors.Is(err, frontier.ErrDrained) {
			t.Errorf("its claim: %v", err)
		}
	})
}

// If an order raises the limit of pages while a job runs, the new limit is as exact as the original one.
func TestMorePages(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := newSim(t, w, 3)
		all := len(s.pages())
		if all < 12 {
			t.Fatalf("%d pages", all)
		}
		s.server = mem.New()
		s.job.Limits.Pages, s.faults = 5, mem.Faults{}
		if err := cluster.Create(t.Context(), s.server.Connect(), s.job); err != nil {
			t.Fatal(err)
		}
		s.begin("n0")
		s.begin("n1")
		for range 3 { // the same order from three operators
			if _, err := cluster.Give(context.Background(), s.server.Connect(), cluster.Order{What: cluster.OrderSet, Key: cluster.EndPages, Value: 11}); err != nil {
				t.Fatal(err)
			}
		}
		s.run()
		s.job.Limits.Pages = 11
		s.check()
	})
}
