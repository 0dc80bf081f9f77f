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
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/weburl"
)

// simOperator is the name of the operator who doubles the shards of a simulated job.
const simOperator = "operator"

// TestSimGrow doubles the shards of simulated jobs. The operator's process is killed at each of its calls in turn; sometimes nodes work on
// the job before it tries again. Afterwards the checks of [TestSim] hold: each page once, none lost, no pause cut short.
func TestSimGrow(t *testing.T) {
	seeds := []uint64{1, 3, 5}
	for i := range uint64(long.N(0, 20)) {
		seeds = append(seeds, i+6)
	}
	if *simSeed != 0 {
		seeds = []uint64{*simSeed}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				s := newSim(t, w, seed)
				rng := rand.New(rand.NewPCG(seed, 7))
				s.begin("n0")
				s.begin("n1")
				for range 1 + rng.IntN(2) {
					s.crawlSome(rng)
					s.double(rng)
				}
				s.resume()
				s.run()
				s.check()
			})
		})
	}
}

// crawlSome lets nodes work for a while, kills at most one of them, and then stops the job.
func (s *sim) crawlSome(rng *rand.Rand) {
	time.Sleep(time.Duration(rng.Int64N(int64(25 * time.Second))))
	for i, x := range s.living() {
		if i == 0 && rng.IntN(2) == 0 {
			x.conn.Cut(true)
			x.kill()
		}
	}
	if _, err := cluster.Give(s.t.Context(), s.server.Connect(), cluster.Order{What: cluster.OrderDrain}); err != nil && !errors.Is(err, cluster.ErrOver) {
		s.t.Fatal(err)
	}
	if rng.IntN(2) == 0 {
		s.ended()
	}
}

// ended waits until all nodes have ended.
func (s *sim) ended() {
	for _, x := range s.living() {
		x.conn.Cut(false)
		<-x.ended
	}
}

// resume lets nodes work again. It clears the register of the end, as nodes with stale reads would end and be started again and again.
func (s *sim) resume() {
	e := s.server.Connect()
	_, err := cluster.Give(s.t.Context(), e, cluster.Order{What: cluster.OrderResume})
	if err == nil {
		var rev uint64
		if _, rev, err = e.Load(s.t.Context(), cluster.RegisterEnd); err == nil {
			_, err = e.Store(s.t.Context(), cluster.RegisterEnd, nil, rev)
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// double doubles the shards, unless all pages have been crawled already.
func (s *sim) double(rng *rand.Rand) {
	if end, err := cluster.LoadEnd(s.t.Context(), s.server.Connect()); end != cluster.EndStopped || err != nil {
		return
	}
	g := cluster.Growth{Shards: 2 * s.job.Shards, By: simOperator, Dir: s.t.TempDir(), Store: disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10}, Inherit: crawler.Inherit}
	for call := 0; ; call += 1 + rng.IntN(2+call/5) {
		conn := s.server.Connect()
		f := s.faults
		f.Seed, f.Lost, f.Unheard = rng.Uint64(), 0, 0 // no lost or unanswered calls: Grow ends with its first error
		conn.Misbehave(f)
		ctx, kill := context.WithCancel(s.t.Context())
		killed := false
		conn.CutAt(call, rng.IntN(2) == 0, func() { killed = true; kill() })
		err := cluster.Grow(ctx, conn, g)
		kill()
		j, lerr := cluster.LoadJob(s.t.Context(), s.server.Connect())
		if lerr != nil {
			s.t.Fatal(lerr)
		}
		s.log("doubled until call %d: %v; %d shards", call, err, j.Shards)
		switch {
		case err != nil && !killed && (s.faults.Stale == 0 || call > 3000): // with stale reads, Grow may have read an old state of the job
			s.t.Fatalf("call %d: %v", call, err)
		case err == nil && j.Shards != g.Shards:
			s.t.Fatalf("call %d: %d shards without an error", call, j.Shards)
		case err == nil:
			s.job.Shards, s.grown = g.Shards, append(s.grown, time.Now())
			return
		case j.Shards == g.Shards/2 && rng.IntN(12) == 0:
			s.ended()
			s.resume()
			s.begin(fmt.Sprint("n", s.made))
			s.crawlSome(rng)
			if end, err := cluster.LoadEnd(s.t.Context(), s.server.Connect()); end != cluster.EndStopped || err != nil {
				return
			}
		}
	}
}

// TestGrowIsRefused checks that shards can only be doubled, only while no node works on the job, and only up to the maximum number.
func TestGrowIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		created, shards int
		end             string
		want            error
	}{
		"nodes may work":  {4, 8, "", cluster.ErrAtWork},
		"over":            {4, 8, cluster.EndDone, cluster.ErrOver},
		"threefold":       {4, 12, cluster.EndStopped, cluster.ErrValue},
		"fewer":           {4, 2, cluster.EndStopped, cluster.ErrValue},
		"too many":        {1024, 2048, cluster.EndStopped, cluster.ErrValue},
		"as many already": {4, 4, cluster.EndStopped, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := mem.New().Connect()
			err := cluster.Create(t.Context(), e, cluster.Job{Shards: c.created})
			if c.end != "" && err == nil {
				_, err = e.Store(t.Context(), cluster.RegisterEnd, []byte(c.end), 0)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := cluster.Grow(t.Context(), e, cluster.Growth{Shards: c.shards, By: "op", Dir: t.TempDir()}); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if _, err := cluster.Give(t.Context(), e, cluster.Order{What: cluster.OrderGrow, Value: 8}); err == nil {
				t.Error("an order alone doubles the shards")
			}
			if j, err := cluster.LoadJob(t.Context(), e); j.Shards != c.created || err != nil {
				t.Errorf("%d shards, %v", j.Shards, err)
			}
		})
	}
}

// stopped makes a job that was drained before any node owned a shard.
func stopped(t *testing.T, shards int) *mem.Server {
	t.Helper()
	s := mem.New()
	err := cluster.Create(t.Context(), s.Connect(), cluster.Job{Shards: shards, TTL: cluster.MinTTL})
	if err == nil {
		_, err = cluster.Give(t.Context(), s.Connect(), cluster.Order{What: cluster.OrderDrain})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func growth(t *testing.T, shards int) cluster.Growth {
	return cluster.Growth{Shards: shards, By: simOperator, Dir: t.TempDir(), Store: disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10}}
}

// besides is an engine that calls f whenever the time is asked for, which Grow does before its last step.
type besides struct {
	*mem.Conn
	f func()
}

// Now implements cluster.Clock.
func (b besides) Now(ctx context.Context) (time.Time, error) {
	b.f()
	return b.Conn.Now(ctx)
}

// TestOnlyOneConcurrentGrowSucceeds checks that if two operators double the shards at once, one of them succeeds; that Grow fails if a node
// may have taken over a shard meanwhile; and that doubling to a number that the job already has changes nothing.
func TestOnlyOneConcurrentGrowSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stopped(t, 2)
		shards := func(want int) {
			t.Helper()
			if j, err := cluster.LoadJob(t.Context(), s.Connect()); j.Shards != want || err != nil {
				t.Fatalf("%d shards, want %d, %v", j.Shards, want, err)
			}
		}
		takesOver := func() { // storing the orders again looks like a takeover: a node may own a shard
			b, rev, err := s.Connect().Load(t.Context(), "orders")
			if err == nil {
				_, err = s.Connect().Store(t.Context(), "orders", b, rev)
			}
			if err != nil {
				t.Error(err)
			}
		}
		if err := cluster.Grow(t.Context(), besides{s.Connect(), takesOver}, growth(t, 4)); !errors.Is(err, cluster.ErrAtWork) {
			t.Errorf("a node takes a shard over: %v", err)
		}
		shards(2)
		another := func() {
			if err := cluster.Grow(t.Context(), s.Connect(), growth(t, 4)); err != nil {
				t.Error(err)
			}
		}
		if err := cluster.Grow(t.Context(), besides{s.Connect(), another}, growth(t, 4)); !errors.Is(err, cluster.ErrAtWork) {
			t.Errorf("another one doubles the shards: %v", err)
		}
		shards(4)
		records := len(s.History(3))
		if err := cluster.Grow(t.Context(), s.Connect(), growth(t, 4)); err != nil || len(s.History(3)) != records {
			t.Errorf("again: %v, and %d records instead of %d", err, len(s.History(3)), records)
		}
		shards(4)
	})
}

// TestOldOffersAreSentOn checks that links sent to the former shard of a host are queued by the host's present shard, and that a node that
// does not know the new shards ends.
func TestOldOffersAreSentOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New()
		if err := cluster.Create(t.Context(), s.Connect(), cluster.Job{Shards: 1, TTL: cluster.MinTTL}); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		got := map[string]int{}
		begin := func(name string, c *mem.Conn) (ended chan error) {
			n, err := cluster.NewNode(t.Context(), cluster.Config{
				Engine: c, Name: name, Dir: t.TempDir(), Store: growth(t, 0).Store,
				Crawl: func(ctx context.Context, sh *cluster.Shard) error {
					for {
						x, err := sh.Frontier().Claim(ctx)
						if errors.Is(err, frontier.ErrDrained) {
							return nil
						}
						if err == nil {
							mu.Lock()
							got[x.URL.Host()] = sh.Number + 10*got[x.URL.Host()]
							mu.Unlock()
							err = sh.Frontier().Settle(ctx, x, frontier.Settlement{})
						}
						if err != nil {
							return err
						}
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			ended = make(chan error, 1)
			go func() { ended <- n.Run(context.Background()) }()
			return ended
		}
		away := s.Connect()
		old := begin("old", away)
		a, err := cluster.NewAdder(t.Context(), s.Connect())
		for i := range 12 {
			u, uerr := weburl.Parse(fmt.Sprintf("http://h%d.test/", i))
			err = errors.Join(err, uerr, a.Add(t.Context(), frontier.Request{URL: u}))
		}
		away.Cut(true)
		_, gerr := cluster.Give(t.Context(), s.Connect(), cluster.Order{What: cluster.OrderDrain})
		if err = errors.Join(err, gerr, cluster.Grow(t.Context(), s.Connect(), growth(t, 2))); err == nil {
			_, err = cluster.Give(t.Context(), s.Connect(), cluster.Order{What: cluster.OrderResume})
		}
		if err = errors.Join(err, a.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
		away.Cut(false)
		if err := <-old; !errors.Is(err, cluster.ErrGrown) {
			t.Errorf("the node that knows one shard: %v", err)
		}
		if err := <-begin("new", s.Connect()); err != nil {
			t.Error(err)
		}
		j, err := cluster.LoadJob(t.Context(), s.Connect())
		if err != nil || len(got) != 12 {
			t.Errorf("%d hosts of 12, %v", len(got), err)
		}
		for host, shard := range got {
			if j.Shard(host) != shard {
				t.Errorf("%s is crawled in shard %d, not %d", host, shard, j.Shard(host))
			}
		}
	})
}
