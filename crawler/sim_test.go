package crawler_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
)

var (
	simSeed = flag.Uint64("seed", 0, "run TestSim with this seed alone")
	simRuns = flag.Int("sim.n", 60, "number of seeds TestSim goes through, from 1")
)

// TestSim crawls random webs by random configurations, some with cancels and restarts, in virtual
// time. After each: every page the truth knows was asked for, nothing it forbids, each URL has one
// visit, and neither the servers' auditor nor the ledger's sees a violation. A failing seed is
// repeated by
//
//	go test ./crawler -run Sim -seed N
//
// and -sim.n makes a soak of it.
func TestSim(t *testing.T) {
	if *simSeed != 0 {
		simulate(t, *simSeed)
		return
	}
	for seed := range uint64(*simRuns) {
		t.Run(fmt.Sprint("seed=", seed+1), func(t *testing.T) { simulate(t, seed+1) })
	}
}

func simulate(t *testing.T, seed uint64) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		rng := rand.New(rand.NewPCG(seed, 1))
		web := w.Random(seed, crawltest.RandomConfig{
			Hosts: 1 + rng.IntN(12), Pages: 1 + rng.IntN(20), Links: 1 + rng.IntN(8), Agent: "testbot", HTTPS: rng.IntN(2) == 0,
			Faults: crawltest.FaultLevel(rng.IntN(3)),
		})
		s := newSim(w, rng)
		restarts := s.run(t, rng, web.Seeds())
		for _, line := range web.Truth(nil, web.Seeds()...).Check(w.Requests()) {
			t.Error(line)
		}
		s.check(t)
		if t.Failed() {
			t.Logf("seed %d, %d restarts, %v of crawling", seed, restarts, time.Since(w.Start()))
		}
	})
}

// sim is one crawl of a random web, perhaps in several Runs.
type sim struct {
	config crawler.Config
	ledger strings.Builder
	bodies map[string][]byte
	visits visits

	mu sync.Mutex
}

func newSim(w *crawltest.Web, rng *rand.Rand) *sim {
	s := &sim{bodies: map[string][]byte{}}
	c := crawler.Config{
		MaxDepth: crawler.None, MaxPages: crawler.None, MaxTime: 1000 * time.Hour, Scope: crawler.ScopeAny,
		Concurrency: 1 + rng.IntN(40), MaxRedirects: 50, Handler: &s.visits, KeepRobots: s.keep,
		Frontier: frontier.NewMemory(frontier.MemoryConfig{}), Retries: 5,
	}
	c.Politeness.Delay = time.Duration(rng.IntN(3000)+100) * time.Millisecond
	c.Politeness.DelayFactor = float64(rng.IntN(3)) - 1
	c.Politeness.MaxFailures, c.Politeness.MaxSilence = politeness.None, politeness.None // the truth expects every page that works
	c.Politeness.PerDomain = rng.IntN(2) == 0
	c.Politeness.Ledger = s
	if rng.IntN(3) == 0 {
		c.Politeness.Rate = 0.5 + rng.Float64()*20
	}
	s.config = config(w, c)
	return s
}

func (s *sim) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Write(b)
}

func (s *sim) keep(p *fetcher.Page) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := sha256.Sum256(p.Body)
	s.bodies[hex.EncodeToString(sum[:])] = append([]byte(nil), p.Body...)
	return nil
}

// run crawls to the end. Two in three crawls are cancelled now and then and started again.
func (s *sim) run(t *testing.T, rng *rand.Rand, seeds []string) (restarts int) {
	c, err := crawler.New(s.config)
	if err != nil {
		t.Fatal(err)
	}
	left := rng.IntN(3) * 4
	for {
		ctx, cancel := context.WithCancel(t.Context())
		if restarts < left {
			ctx, cancel = context.WithTimeout(t.Context(), time.Duration(rng.IntN(30_000))*time.Millisecond)
		}
		rep, err := c.Run(ctx, seeds...)
		cancel()
		switch {
		case err == nil && rep.Finish == crawler.FinishDone:
			return restarts
		case err != nil && !errors.Is(err, context.DeadlineExceeded):
			t.Fatal(err)
		}
		restarts++
	}
}

func (s *sim) check(t *testing.T) {
	if len(s.visits.all) != len(s.visits.by) {
		t.Errorf("%d visits of %d URLs", len(s.visits.all), len(s.visits.by))
	}
	p := s.config.Politeness
	rep, err := audit.Check(strings.NewReader(s.ledger.String()), audit.Config{
		Product: "testbot", UserAgent: "testbot/1.0 (+" + contact + ")", Contact: contact,
		Delay: p.Delay.Seconds(), DelayFactor: max(0, p.DelayFactor), MaxDelay: 60, MaxRetryAfter: 300,
		PerDomain: p.PerDomain, MaxBackoff: 300,
	}, func(sha string) ([]byte, error) {
		if b, ok := s.bodies[sha]; ok {
			return b, nil
		}
		return nil, errors.New("not kept")
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range rep.Violations {
		t.Error(v, "\n", s.lines(v.Host))
	}
}

// lines are the ledger's lines about one host.
func (s *sim) lines(host string) string {
	var b strings.Builder
	for i, l := range strings.Split(s.ledger.String(), "\n") {
		if strings.Contains(l, `"host":"`+host+`"`) {
			fmt.Fprintf(&b, "%d %s\n", i+1, l)
		}
	}
	return b.String()
}
