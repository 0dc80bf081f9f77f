package crawler_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/weburl"
)

var (
	simSeed  = flag.Uint64("seed", 0, "run TestSim with this seed alone")
	simRuns  = flag.Int("sim.n", long.N(20, 60), "number of seeds TestSim goes through; with -short a third of them")
	simLines = flag.String("sim.host", "", "also print the ledger's lines about this host:port, of seeds that fail")
	simFrom  = flag.Uint64("sim.from", 1, "the first of them")
)

// TestSim crawls random webs with random configurations in virtual time. Crawls are cancelled, drained, ended
// and resumed from a snapshot, and killed and resumed, immediately or a month later, from an old snapshot and
// the ledger. Disks fill up, bodies get lost, and a careless fetcher mishandles its Permits. After each crawl:
// every expected page was requested, and no disallowed one; each URL has one visit, whose response is in the
// ledger, and was requested once, unless the ledger lost the response; the ledger has everything that the
// servers saw; no process forgot a wait of the previous one; no host got more requests than its budget; and
// neither the servers' auditor nor the ledger's finds a violation. To repeat a failing seed:
//
//	go test ./crawler -run ^TestSim$ -seed N
//
// The flag -sim.n turns TestSim into a soak test.
func TestSim(t *testing.T) {
	if *simSeed != 0 {
		simulate(t, *simSeed)
		return
	}
	n := uint64(*simRuns)
	if testing.Short() {
		n /= 3
	}
	for i := range n {
		seed := *simFrom + i
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { simulate(t, seed) })
	}
}

func simulate(t *testing.T, seed uint64) {
	var s *sim
	defer func() {
		if t.Failed() {
			t.Logf("seed %d, %+v, %d restarts, %v of crawling", seed, s.traits, s.restarts, s.took)
			if *simLines != "" {
				t.Log(lines(s.disk.content(), *simLines))
			}
		}
	}()
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s = newSim(t, w, seed)
		s.run()
		lost := s.lost()
		for _, line := range s.web.Truth(nil, s.web.Seeds()...).Check(w.Requests()) {
			if u, ok := strings.CutSuffix(line, " was answered before"); ok {
				if u = u[strings.LastIndexByte(u, ' ')+1:]; lost[u] > 0 {
					lost[u]--
					continue
				}
			}
			if u, _, ok := strings.Cut(line, " was never"); ok {
				line += ": " + s.visits.line(u)
			}
			t.Error(line)
		}
		s.check()
		s.took = time.Since(w.Start())
	})
}

// traits are the special properties of a crawl.
type traits struct {
	Hard        bool // limits, and hosts that the crawl must give up on
	Contactless bool
	Lossy       bool // bodies of robots.txt files get lost or corrupted
	Hours       bool
	OptOut      bool
	Own         bool
	Tight       bool // memory for hardly any robots.txt
	Idle        bool // so many hosts that the state of idle ones is dropped
	Careless    bool // Permits are mishandled
	Hasty       bool // claims expire soon
	Mapped      bool // IPv4 addresses are written as IPv6
	Full        bool // disks are sometimes full
	File        bool // the ledger is a file
	Month       bool // the crawl resumes after a month, and robots.txt is unreachable
	Outage      bool // robots.txt is unreachable for a while
	Quick       bool // the operator sets no delay
	ShortTTL    bool
	Override    bool // a robots.txt is overridden for a while
}

func drawTraits(rng *rand.Rand) traits {
	one := func(in int) bool { return rng.IntN(in) == 0 }
	x := traits{
		Hard: one(4), Contactless: one(12), Lossy: one(8), Hours: one(10), OptOut: one(6), Own: one(6), Tight: one(5),
		Idle: one(12), Careless: one(3), Hasty: one(5), Mapped: one(3), Full: one(4), File: one(4), Month: one(5),
		Outage: one(4), Quick: one(8), ShortTTL: one(4),
		Override: one(8),
	}
	x.Month = x.Month && !x.Hard
	x.Outage = x.Outage && !x.Month && !x.Hard
	x.Lossy = x.Lossy && !x.Hard
	x.Own = x.Own && !x.Quick
	x.Hours = x.Hours && !x.Hard
	x.Full = x.Full && !x.File
	return x
}

// sim is one crawl of a random web, possibly by several processes.
type sim struct {
	t    *testing.T
	w    *crawltest.Web
	web  *crawltest.RandomWeb
	rng  *rand.Rand
	seed uint64
	traits

	config   crawler.Config
	expect   crawltest.Expect
	audit    audit.Config
	hosts    map[string]crawltest.HostExpect // the operator's own hosts
	out      map[string]time.Time            // host names that opted out, and when
	lifted   map[string]time.Time            // origins with an overridden robots.txt, and until when
	visits   visits
	disk     *remains
	front    *forgetful
	ran      []span // lifetimes of the processes
	runs     []span // times of each Run, which has its own budgets because the queue is not durable
	restarts int
	left     int           // remaining restarts
	crowds   int           // how often the Gate was given many hosts
	took     time.Duration // total time
}

func newSim(t *testing.T, w *crawltest.Web, seed uint64) *sim {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &sim{t: t, w: w, rng: rng, seed: seed, traits: drawTraits(rng), hosts: map[string]crawltest.HostExpect{}, out: map[string]time.Time{}, lifted: map[string]time.Time{}}
	s.left = rng.IntN(4) * 4
	s.disk = newRemains(s)
	s.makeWeb()
	s.front = &forgetful{sim: s, Memory: frontier.NewMemory(frontier.MemoryConfig{HostSlots: s.slots})}
	s.config = crawler.Config{
		Limits: crawler.Limits{Depth: crawler.Unlimited, Pages: crawler.Unlimited, Time: 3000 * time.Hour, Redirects: 50}, Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny},
		Concurrency: 1 + rng.IntN(40), Handler: &s.visits, KeepRobots: s.disk.keep,
		Frontier: s.front, Retries: crawler.Retries{Max: 5},
	}
	s.setPace(&s.config.Politeness)
	s.setLimits(&s.config.Politeness)
	s.setHosts(rand.New(rand.NewPCG(seed, 7)))
	s.config = config(w, s.config)
	if s.Contactless {
		s.config.Contact = ""
	}
	if !s.Month && !s.Hours {
		s.config.Limits.Time = 100 * time.Hour
	}
	if s.ShortTTL { // making a connection may take longer than a Permit is valid
		s.config.Politeness.PermitTTL, s.config.Fetch.ConnectTimeout = 10*time.Second, 20*time.Second
	}
	s.setJudges()
	return s
}

// makeWeb creates the web and chooses special properties for some hosts.
func (s *sim) makeWeb() {
	rng := s.rng
	c := crawltest.RandomConfig{
		Hosts: 1 + rng.IntN(12), Pages: 1 + rng.IntN(20), Links: 1 + rng.IntN(8), Agent: "testbot", HTTPS: rng.IntN(2) == 0,
		Faults: crawltest.FaultLevel(rng.IntN(3)), Hard: s.Hard, Loopback: s.Contactless,
	}
	if s.Hard {
		c.Faults, c.Hosts = crawltest.LastingFaults, 4+rng.IntN(9)
	}
	if s.Month || s.Lossy || s.Outage {
		c.Faults = min(c.Faults, crawltest.PassingFaults)
	}
	if s.Lossy { // a lost robots.txt also loses its Crawl-delay
		c.MaxDelay = -1
	}
	switch {
	case s.Month:
		c.OutageFrom, c.OutageUntil = 31*24*time.Hour-time.Minute, 31*24*time.Hour+8*time.Minute
	case s.Outage:
		c.OutageFrom = time.Duration(rng.Int64N(int64(2 * time.Minute)))
		c.OutageUntil = c.OutageFrom + time.Duration(rng.Int64N(int64(3*time.Minute)))
	}
	s.web = s.w.Random(s.seed, c)
	for i, h := range s.web.Hosts() {
		if s.OptOut && (rng.IntN(4) == 0 || i == 1) {
			s.out[h.Name] = s.w.Start().Add(time.Duration(rng.Int64N(int64(time.Minute))))
			s.web.Excuse(h.Name)
		}
		if s.Override && h.Works && !h.Strict && len(s.lifted) == 0 {
			s.lifted[h.Origin] = s.w.Start().Add(time.Duration(rng.Int64N(int64(time.Minute))))
			s.web.Lift(h.Origin)
		}
		if s.Own && h.Works && !h.Strict && rng.IntN(2) == 0 {
			s.hosts[h.Host] = crawltest.HostExpect{PerHost: 1 + rng.IntN(3)}
		}
	}
}

// slots returns how many concurrent requests an own host allows, or 0 for other hosts.
func (s *sim) slots(host string) int { return s.hosts[host].PerHost }

// setPace chooses delays and other settings for pace.
func (s *sim) setPace(p *politeness.Config) {
	p.Delay = time.Duration(s.rng.IntN(3000)+100) * time.Millisecond
	if s.rng.IntN(3) == 0 {
		p.Delay = time.Duration(s.rng.IntN(800)+100) * time.Millisecond
	}
	if s.Quick {
		p.Delay = []time.Duration{politeness.NoDelay, 10 * time.Millisecond}[s.rng.IntN(2)]
	}
	p.DelayFactor = float64(s.rng.IntN(3)) - 1
	p.PerDomain = s.rng.IntN(2) == 0
	if s.rng.IntN(3) == 0 {
		p.Rate = 0.5 + s.rng.Float64()*4
	}
	if s.Hours {
		from := time.Duration(s.rng.IntN(24)) * time.Hour
		p.Hours = politeness.Hours{window(from, from+time.Duration(1+s.rng.IntN(90))*time.Minute), window(from+6*time.Hour, from+7*time.Hour)}
	}
	if s.Own {
		p.OwnHosts = s.slots
	}
}

// window returns a part of the day, which may extend past midnight.
func window(from, to time.Duration) politeness.Window {
	const day = 24 * time.Hour
	return politeness.Window{From: from % day, To: to % day}
}

// setLimits sets when hosts are given up.
func (s *sim) setLimits(p *politeness.Config) {
	p.MaxFailures, p.MaxSilence = politeness.Unlimited, politeness.Forever // every working page is expected to be fetched
	if s.Month {
		p.RobotsGiveUp = 60 * 24 * time.Hour // no robots.txt works for days
	}
	if s.Outage {
		p.RobotsGiveUp = 3 * time.Hour // a robots.txt may fail a few times more after the outage, and pauses have grown by then
	}
	if s.Hard {
		p.MaxFailures = 8
		if s.rng.IntN(2) == 0 {
			p.MaxFailures, p.MaxSilence = politeness.Unlimited, 20*time.Minute
		}
	}
	if s.Hard && s.rng.IntN(2) == 0 {
		p.MaxRetryAfter = time.Minute
	}
	if s.Tight {
		p.MaxRulesBytes = politeness.Limit(1 + s.rng.IntN(4000))
	}
	for origin, until := range s.lifted {
		p.Overrides = append(p.Overrides, politeness.Override{Origin: origin, Skip: true, Until: until, Reason: "a test"})
	}
	if s.OptOut {
		p.OptOut = func(name string) bool {
			from, out := s.out[name]
			return out && !time.Now().Before(from)
		}
	}
}

// setHosts gives some hosts longer delays, own hosts perhaps shorter ones, and some of them budgets.
func (s *sim) setHosts(rng *rand.Rand) {
	if rng.IntN(5) > 0 {
		return
	}
	usual := or(max(0, s.config.Politeness.Delay), 0)
	delay := func() time.Duration { return usual + time.Duration(rng.IntN(6000))*time.Millisecond }
	all := s.web.Hosts()
	seen := map[string]bool{}
	add := func(match string) {
		if !seen[match] {
			s.config.Hosts = append(s.config.Hosts, crawler.HostSettings{Match: match, Delay: delay()})
		}
		seen[match] = true
	}
	for _, h := range all {
		if rng.IntN(3) == 0 && !s.Contactless { // without a contact, host names are addresses
			add(h.Name)
			if own, ok := s.hosts[h.Host]; ok && own.PerHost > 0 {
				s.config.Hosts[len(s.config.Hosts)-1].Delay = 20 * time.Millisecond
			}
		}
	}
	if rng.IntN(3) == 0 && !s.Contactless {
		u, err := weburl.Parse(all[0].Origin)
		if err != nil {
			s.t.Fatal(err)
		}
		add("*." + u.Domain())
	}
	for _, h := range all {
		if rng.IntN(3) == 0 {
			add(s.w.Site(h.Origin).Addr().String())
		}
	}
	s.setBudgets(rng)
}

// entryOf returns the entry that applies to a host, or nil.
func (s *sim) entryOf(h crawltest.RandomHost) *crawler.HostSettings {
	addr := s.w.Site(h.Origin).Addr().String()
	for i := range s.config.Hosts {
		e := &s.config.Hosts[i]
		domain, below := strings.CutPrefix(e.Match, "*")
		if e.Match == h.Name || e.Match == addr || below && strings.HasSuffix("."+h.Name, domain) {
			return e
		}
	}
	return nil
}

// delayAt returns the operator's delay for a host.
func (s *sim) delayAt(h crawltest.RandomHost, usual time.Duration) time.Duration {
	e := s.entryOf(h)
	if e == nil {
		return usual
	}
	if _, own := s.hosts[h.Host]; own && e.Delay != 0 {
		return e.Delay
	}
	return max(usual, e.Delay)
}

// setJudges configures the auditors.
func (s *sim) setJudges() {
	p := s.config.Politeness
	delay := max(0, p.Delay)
	for h, e := range s.hosts {
		e.Delay = delay
		s.hosts[h] = e
	}
	if !s.Contactless {
		delay = max(delay, politeness.MinDelay)
	}
	delays := map[string]time.Duration{}
	for _, h := range s.web.Hosts() {
		if e, own := s.hosts[h.Host]; own {
			e.Delay = s.delayAt(h, e.Delay)
			s.hosts[h.Host] = e
			continue
		}
		delays[h.Host] = s.delayAt(h, delay)
	}
	silence := p.MaxSilence
	if silence == politeness.Forever {
		silence = 0 // 0 means no limit
	}
	s.expect = crawltest.Expect{
		Delay: delay, Delays: delays, PerAddress: true, PerDomain: p.PerDomain, Hosts: s.hosts, Agent: "testbot", Contact: s.config.Contact,
		AllowRepeats:  true, // a request is repeated if the ledger lost its response: see compare
		MaxRetryAfter: or(p.MaxRetryAfter, politeness.DefaultMaxRetryAfter), RobotsFreshness: true,
		RobotsRetry: []time.Duration{
			time.Second, 5 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute,
			32 * time.Minute, time.Hour,
		},
		RobotsGiveUp:  or(p.RobotsGiveUp, politeness.DefaultRobotsGiveUp),
		MaxCrawlDelay: politeness.DefaultMaxCrawlDelay, Rate: p.Rate, RateSlack: 10 * time.Second,
		LatencyFactor: max(0, p.DelayFactor), MaxLatencyDelay: politeness.DefaultMaxDelay,
		MaxFailures: int(max(0, p.MaxFailures)), MaxSilence: silence,
		OptOut: s.out, Overrides: s.lifted, Contactless: s.Contactless, Late: s.ttl() + 5*time.Second,
	}
	for _, h := range p.Hours {
		s.expect.Hours = append(s.expect.Hours, crawltest.Span{From: h.From, To: h.To + time.Minute})
	}
	s.w.Expect(s.expect)
	s.audit = audit.Config{
		Product: "testbot", UserAgent: "testbot/1.0", Contact: s.config.Contact,
		Delay: delay.Seconds(), DelayFactor: max(0, p.DelayFactor), MaxDelay: politeness.DefaultMaxDelay.Seconds(),
		MaxRetryAfter: s.expect.MaxRetryAfter.Seconds(), PerDomain: p.PerDomain, MaxBackoff: politeness.DefaultMaxBackoff.Seconds(),
		OwnHosts: map[string]int{}, Rate: p.Rate,
	}
	for _, h := range p.Hours {
		s.audit.Hours = append(s.audit.Hours, fmt.Sprintf("%02d:%02d-%02d:%02d", int(h.From.Hours()), int(h.From.Minutes())%60, int(h.To.Hours()), int(h.To.Minutes())%60))
	}
	if !s.Contactless {
		s.audit.UserAgent += " (+" + s.config.Contact + ")"
	}
	for h, e := range s.hosts {
		s.audit.OwnHosts[h] = e.PerHost
	}
	for _, h := range s.config.Hosts {
		s.audit.HostDelays = append(s.audit.HostDelays, audit.HostDelay{Match: h.Match, Delay: h.Delay.Seconds()})
	}
}

func or(v, def time.Duration) time.Duration {
	if v == 0 {
		return def
	}
	return v
}

// ttl returns how long a Permit can be used.
func (s *sim) ttl() time.Duration {
	return or(s.config.Politeness.PermitTTL, politeness.DefaultPermitTTL)
}
