package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/long"
)

// simOperator is who doubles the shards of a simulated job.
const simOperator = "operator"

// TestSimGrow doubles the shards of simulated jobs. Whoever does it is killed at one of its calls after the other; now and then nodes work
// on the job in between. Then what [TestSim] checks still holds: each page once, none lost, and no pause cut short.
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

// crawlSome lets nodes work for a while, some of which are killed, and then ends the job.
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

// ended waits until no node lives.
func (s *sim) ended() {
	for _, x := range s.living() {
		x.conn.Cut(false)
		<-x.ended
	}
}

// resume lets nodes work again. Who reads what was true before reads that, too: otherwise nodes end, and are begun, again and again.
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

// double doubles the shards, if everything is not crawled already.
func (s *sim) double(rng *rand.Rand) {
	if end, err := cluster.LoadEnd(s.t.Context(), s.server.Connect()); end != cluster.EndStopped || err != nil {
		return
	}
	g := cluster.Growth{Shards: 2 * s.job.Shards, By: simOperator, Dir: s.t.TempDir(), Store: disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10}, Inherit: crawler.Inherit}
	for call := 0; ; call += 1 + rng.IntN(2+call/5) {
		conn := s.server.Connect()
		f := s.faults
		f.Seed, f.Lost, f.Unheard = rng.Uint64(), 0, 0 // it ends with its first error
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
		case err != nil && !killed && (s.faults.Stale == 0 || call > 3000): // otherwise what it read of the job may have been of before
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

// TestGrowIsRefused: a job grows only twofold, when nobody works on it, and not beyond the greatest number of shards.
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
