package crawler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/machine"
)

// TestSharingSim runs crawls in several processes on one machine, with different delays, on one random web. Processes
// start late, are killed at random times or just before a request is sent, and restart; crawls are cancelled and
// resumed. The web's auditor judges all requests together, and audit.CheckTogether judges the ledgers. The processes
// share a state directory with real locks. A kill closes a process's files, which is all that other processes notice. Clocks in
// a bubble cannot be set back; the suite in politeness/internal/sharingtest tests that.
func TestSharingSim(t *testing.T) {
	for seed := range uint64(long.Seeds(12, 60)) {
		if *simSeed != 0 {
			seed = *simSeed
		}
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) { shareMachine(t, w, seed) })
		})
		if *simSeed != 0 || testing.Short() && seed >= 4 {
			return
		}
	}
}

// shareMachine runs the crawls of one seed.
func shareMachine(t *testing.T, w *crawltest.Web, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 33))
	web := w.Random(seed, crawltest.RandomConfig{Hosts: 1 + rng.IntN(3), Pages: 10, Agent: "testbot", Faults: crawltest.FaultLevel(rng.IntN(2))})
	dir, least := t.TempDir(), time.Hour
	var all []*simCrawl
	var processes sync.WaitGroup
	for p := range 2 + rng.IntN(2) {
		var crawls []*simCrawl
		for i := range 1 + rng.IntN(2) {
			d := time.Duration(500+rng.IntN(4000)) * time.Millisecond
			least = min(least, d)
			c := &simCrawl{remains: &remains{sim: &sim{t: t, rng: rand.New(rand.NewPCG(seed, uint64(100*p+i)))}, bodies: map[string][]byte{}}, name: fmt.Sprintf("p%d-c%d", p, i), delay: d}
			crawls, all = append(crawls, c), append(all, c)
		}
		r := rand.New(rand.NewPCG(seed, uint64(1000+p)))
		processes.Go(func() {
			for life := r.IntN(4); life >= 0; life-- {
				time.Sleep(time.Duration(r.IntN(2)*r.IntN(20_000)) * time.Millisecond)
				(&simProcess{t: t, w: w, rng: r, machine: machine.Open(dir, politeness.NewHosts(politeness.HostsLimits{}))}).run(crawls, web.Seeds(), life > 0)
			}
		})
	}
	processes.Wait()
	w.Expect(crawltest.Expect{
		Delay: least, PerAddress: true, Agent: "testbot", Contact: contact, MaxRetryAfter: politeness.DefaultMaxRetryAfter, AllowRepeats: true,
		MaxCrawlDelay: politeness.DefaultMaxCrawlDelay,
	})
	var parts []audit.Part
	for _, c := range all {
		parts = append(parts, audit.Part{
			Name: c.name, Body: c.body, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.content())), nil },
			Config: audit.Config{
				Product: "testbot", UserAgent: "testbot/1.0 (+" + contact + ")", Contact: contact, Delay: c.delay.Seconds(), MaxRetryAfter: politeness.DefaultMaxRetryAfter.Seconds(),
			},
		})
	}
	joint, err := audit.CheckTogether(parts)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range joint.Violations {
		t.Error(v)
	}
	if joint.Requests < 20 || joint.Shared == 0 {
		t.Errorf("%d requests, %d shared: the simulation does nothing", joint.Requests, joint.Shared)
	}
}

// simCrawl is a crawl and the storage that survives its processes.
type simCrawl struct {
	*remains
	name   string
	delay  time.Duration
	resume bool
}

// simProcess is a process with several crawls.
type simProcess struct {
	t       *testing.T
	w       *crawltest.Web
	rng     *rand.Rand
	machine *machine.Hosts
	dead    atomic.Bool
	starts  atomic.Int64 // number of requests until the process is killed at the start of one; 0: never
	end     context.CancelFunc
}

// run runs the process's crawls until they end or the process is killed.
func (p *simProcess) run(crawls []*simCrawl, seeds []string, killed bool) {
	ctx, end := context.WithCancel(p.t.Context())
	defer end()
	p.end = end
	if killed {
		if p.rng.IntN(2) == 0 {
			p.starts.Store(1 + p.rng.Int64N(12))
		}
		defer time.AfterFunc(time.Duration(p.rng.Int64N(int64(time.Minute))), p.kill).Stop()
	}
	var running sync.WaitGroup
	for _, c := range crawls {
		begin, cancel := time.Duration(p.rng.IntN(2)*p.rng.IntN(10_000))*time.Millisecond, time.Duration(p.rng.Int64N(int64(3*time.Minute)))
		if p.rng.IntN(3) > 0 {
			cancel = time.Hour
		}
		running.Go(func() {
			select {
			case <-time.After(begin):
				p.crawl(ctx, c, seeds, cancel)
			case <-ctx.Done():
			}
		})
	}
	running.Wait()
	p.kill() // the process ends
}

// crawl runs a crawl until it is over, or cancelled.
func (p *simProcess) crawl(ctx context.Context, c *simCrawl, seeds []string, cancel time.Duration) {
	ctx, end := context.WithTimeout(ctx, cancel)
	defer end()
	x := config(p.w, crawler.Config{
		Limits: crawler.Limits{Depth: crawler.Unlimited, Pages: 25}, Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Concurrency: 1 + c.rng.IntN(4),
		KeepRobots: c.keep, Politeness: politeness.Config{
			Name: c.name, Delay: c.delay, DelayFactor: politeness.NoFactor, Shared: &mortalHosts{p.machine, p}, Ledger: &mortalLedger{c, p}, LedgerSize: c.open(),
		},
	})
	cr, err := crawler.New(x)
	if err == nil && c.resume {
		err = cr.Gate().Replay(c.reader(), c.body)
	}
	if err != nil {
		p.t.Error(c.name, err)
		return
	}
	c.resume = true
	if rep, err := cr.Run(ctx, seeds...); rep == nil && !p.dead.Load() {
		p.t.Error(c.name, err)
	}
}

// kill kills the process. After that, nothing it does has an effect.
func (p *simProcess) kill() {
	if !p.dead.Swap(true) {
		p.machine.Close()
		p.end()
	}
}

// mortalHosts shares hosts as long as its process lives.
type mortalHosts struct {
	*machine.Hosts
	process *simProcess
}

func (m *mortalHosts) Take(t *politeness.Turn) error {
	if m.process.dead.Load() {
		return &politeness.NotYet{Until: time.Now().Add(time.Hour)}
	}
	return m.Hosts.Take(t)
}

// mortalLedger is a crawl's ledger as long as its process lives.
type mortalLedger struct {
	*simCrawl
	process *simProcess
}

func (l *mortalLedger) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.process.dead.Load() {
		return 0, errKilled
	}
	n, err := l.remains.Write(line)
	if strings.Contains(string(line), `"event":"start"`) && l.process.starts.Load() > 0 && l.process.starts.Add(-1) == 0 {
		l.process.kill()
		err = errors.Join(err, errKilled)
	}
	return n, err
}
