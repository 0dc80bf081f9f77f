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

// TestSim crawls random webs by random configurations in virtual time, some with cancels, some with
// processes that are killed and started again, now or a month later, from an old snapshot and the
// ledger. After each: every page the truth knows was asked for, nothing it forbids, each URL has one
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
		c := crawltest.RandomConfig{
			Hosts: 1 + rng.IntN(12), Pages: 1 + rng.IntN(20), Links: 1 + rng.IntN(8), Agent: "testbot", HTTPS: rng.IntN(2) == 0,
			Faults: crawltest.FaultLevel(rng.IntN(3)),
		}
		s := newSim(w, rng)
		if rng.IntN(4) == 0 { // robots.txt is unreachable when the crawl comes back after longer than a copy may serve
			s.back = w.Start().Add(31 * 24 * time.Hour)
			c.OutageFrom, c.OutageUntil = 31*24*time.Hour-time.Minute, 31*24*time.Hour+8*time.Minute
			c.Faults = min(c.Faults, crawltest.PassingFaults)
			s.config.Politeness.RobotsGiveUp = 60 * 24 * time.Hour // what failed before that month goes on failing after it
		}
		web := w.Random(seed, c)
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

	snapshot []byte    // the last one before the process was killed, perhaps a while before
	back     time.Time // when the crawl is started again after its first kill; zero: soon

	mu   sync.Mutex
	dead bool // what the process still does while it ends is as if it did not
}

func newSim(w *crawltest.Web, rng *rand.Rand) *sim {
	s := &sim{bodies: map[string][]byte{}}
	c := crawler.Config{
		MaxDepth: crawler.None, MaxPages: crawler.None, MaxTime: 3000 * time.Hour, Scope: crawler.ScopeAny,
		Concurrency: 1 + rng.IntN(40), MaxRedirects: 50, Handler: &s.visits, KeepRobots: s.keep,
		Frontier: frontier.NewMemory(frontier.MemoryConfig{}), Retries: 5,
	}
	c.Politeness.Delay = time.Duration(rng.IntN(3000)+100) * time.Millisecond
	c.Politeness.DelayFactor = float64(rng.IntN(3)) - 1
	c.Politeness.MaxFailures, c.Politeness.MaxSilence = politeness.None, politeness.None // the truth expects every page that works
	c.Politeness.PerDomain = rng.IntN(2) == 0
	c.Politeness.Ledger = s
	if rng.IntN(3) == 0 {
		c.Politeness.Rate = 0.5 + rng.Float64()*4
	}
	s.config = config(w, c)
	w.Expect(crawltest.Expect{
		Delay: c.Politeness.Delay, PerAddress: true, Agent: "testbot", Contact: contact, MaxRetryAfter: politeness.DefaultMaxRetryAfter,
		RobotsFreshness: true, RobotsRetry: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, time.Minute},
		MaxCrawlDelay: politeness.DefaultMaxCrawlDelay, Rate: c.Politeness.Rate, RateSlack: 10 * time.Second,
		LatencyFactor: max(0, c.Politeness.DelayFactor), MaxLatencyDelay: politeness.DefaultMaxDelay,
	})
	return s
}

var errKilled = errors.New("the process was killed")

func (s *sim) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return 0, errKilled
	}
	return s.ledger.Write(b)
}

func (s *sim) keep(p *fetcher.Page) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return errKilled
	}
	sum := sha256.Sum256(p.Body)
	s.bodies[hex.EncodeToString(sum[:])] = append([]byte(nil), p.Body...)
	return nil
}

// run crawls to the end. Two in three crawls are stopped now and then: by a cancel, after which the same
// Crawler goes on, or by a kill, after which another one does.
func (s *sim) run(t *testing.T, rng *rand.Rand, seeds []string) (restarts int) {
	c, err := crawler.New(s.config)
	if err != nil {
		t.Fatal(err)
	}
	left := rng.IntN(3) * 4
	for {
		ctx, cancel := context.WithCancel(t.Context())
		killed, callOff := false, func() {}
		if restarts < left {
			killed = rng.IntN(2) == 0
			callOff = s.stop(rng, c, cancel, killed)
		}
		rep, err := c.Run(ctx, seeds...)
		callOff()
		cancel()
		switch {
		case err == nil && rep.Finish == crawler.FinishDone:
			return restarts
		case err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, errKilled):
			t.Fatal(err)
		}
		if killed && s.isDead() {
			c = s.restore(t, rng)
		}
		restarts++
	}
}

// stop plans the end of a Run. The function it returns calls that off.
func (s *sim) stop(rng *rand.Rand, c *crawler.Crawler, cancel func(), kill bool) func() {
	at := time.Duration(rng.Int64N(int64(30 * time.Second))) // at no instant at which anything else happens
	snapshot := time.AfterFunc(time.Duration(rng.Int64N(int64(at)+1)), func() {
		b := c.Gate().Snapshot()
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.dead {
			s.snapshot = b
		}
	})
	end := time.AfterFunc(at, func() {
		s.mu.Lock()
		s.dead = kill
		s.mu.Unlock()
		cancel()
	})
	return func() { snapshot.Stop(); end.Stop() }
}

func (s *sim) isDead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

// restore makes a Crawler that goes on where a killed one left off, from what that one left on its disk.
func (s *sim) restore(t *testing.T, rng *rand.Rand) *crawler.Crawler {
	t.Helper()
	time.Sleep(time.Duration(rng.IntN(3)*rng.IntN(3000)) * time.Millisecond)
	if left := time.Until(s.back); left > 0 {
		time.Sleep(left)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = false
	s.config.Politeness.Snapshot, s.config.Politeness.LedgerSize = s.snapshot, int64(s.ledger.Len())
	c, err := crawler.New(s.config)
	if err != nil {
		t.Fatal(err)
	}
	torn := `{"event":"start","run":"`[:rng.IntN(20)]
	if err := c.Gate().Replay(strings.NewReader(s.ledger.String()+torn), s.body); err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *sim) body(sha string) ([]byte, error) {
	if b, ok := s.bodies[sha]; ok {
		return b, nil
	}
	return nil, errors.New("not kept")
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
	}, s.body)
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
