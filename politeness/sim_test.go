package politeness_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
)

var (
	simSeed  = flag.Uint64("sim.seed", 0, "run TestGateSim with this seed alone")
	simRuns  = flag.Int("sim.n", long.Seeds(200, 600), "number of seeds TestGateSim goes through, from 1")
	simTrace = flag.Int("sim.trace", 60, "how many lines of what happened before a violation TestGateSim shows")
)

// TestGateSim runs Gates with random configurations through random histories, in virtual time. A careless caller talks to servers that
// fail, redirect, change their minds and request pauses. Permits are used late, twice or never; writes to the ledger fail; processes
// stop, are killed, and resume from a snapshot, however old, and the ledger. A judge, which knows what the servers' responses mean,
// sees every request on the wire and checks it against docs/politeness.md, as if no process had been interrupted. To repeat a failing
// seed:
//
//	go test ./politeness -run GateSim -sim.seed N
//
// The flag -sim.n sets the number of seeds, for a soak test.
func TestGateSim(t *testing.T) {
	if *simSeed != 0 {
		simulate(t, *simSeed)
		return
	}
	for seed := range uint64(*simRuns) {
		t.Run(fmt.Sprint("seed=", seed+1), func(t *testing.T) { simulate(t, seed+1) })
	}
}

func simulate(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t, seed)
		h.open(saved{}, false)
		for range 40 + h.rng.IntN(360) {
			h.step()
			if h.judge.found > 0 {
				break
			}
		}
		h.check()
	})
}

// history represents the run of one seed.
type history struct {
	*testing.T
	rng    *rand.Rand
	odd    *rand.Rand // source for rare events, so that these do not change the rest of a history
	web    *web
	disk   *disk
	judge  *judge
	config politeness.Config // as configured
	law    politeness.Config // effective values
	caller *caller
	care   int // careless acts have 1/care of their usual probability
	optOut map[string]bool
	lost   map[*robotsFile]bool // bodies that were lost
	plans  []plan
	wire   []ledger.Entry // requests seen on the wire
}

// plan represents a scheduled action.
type plan struct {
	at time.Time
	do func()
}

func newHistory(t *testing.T, seed uint64) *history {
	rng := rand.New(rand.NewPCG(seed, 3))
	h := &history{T: t, rng: rng, odd: rand.New(rand.NewPCG(seed, 4)), care: pick(rng, 1, 1, 1, 3, 8), web: newWeb(rng, rand.New(rand.NewPCG(seed, 6))), disk: newDisk(t, rng), optOut: map[string]bool{}, lost: map[*robotsFile]bool{}}
	h.config = h.randomConfig()
	h.config.HostDelays = h.randomHostDelays(rand.New(rand.NewPCG(seed, 5)))
	over := override{}
	if rng.IntN(10) == 0 {
		over = h.randomOverride()
		h.config.Overrides = []politeness.Override{over.Override}
	}
	h.law = effective(h.config)
	h.judge = &judge{T: t, config: h.law, agent: h.config.Identity.UserAgent(), web: h.web, law: newLaw(h.law), begin: time.Now()}
	h.judge.override = over
	h.judge.forgetful = h.config.MaxRulesBytes > 0
	h.disk.take = func() []byte { return h.caller.gate.Snapshot() }
	return h
}

func (h *history) randomConfig() politeness.Config {
	rng := h.rng
	c := politeness.Config{
		Identity:      politeness.Identity{Product: "testbot", Version: "1.0", Contact: "https://lab.university.edu/crawl"},
		Delay:         pick(rng, politeness.NoDelay, 0, 50*time.Millisecond, 2*time.Second, 3*time.Second),
		DelayFactor:   pick(rng, politeness.NoFactor, 0, 2),
		MaxDelay:      pick(rng, 0, 5*time.Second),
		Rate:          pick(rng, 0, 0, 0, 0.1, 0.5, 2),
		PerDomain:     rng.IntN(2) == 0,
		MaxCrawlDelay: pick(rng, politeness.Forever, 0, 8*time.Second),
		MaxRetryAfter: pick(rng, politeness.Forever, politeness.Forever, 0, 100*time.Second),
		MaxBackoff:    pick(rng, 0, 10*time.Second),
		MaxFailures:   pick(rng, politeness.Unlimited, 0, 4), MaxSilence: pick(rng, politeness.Forever, 0, time.Minute),
		RobotsGiveUp:  pick(rng, politeness.Forever, 0, time.Minute),
		PermitTTL:     pick(rng, 0, 2*time.Second, 10*time.Second),
		MaxRulesBytes: pick(rng, 0, politeness.Unlimited, 1, 1, 2000),
		OptOut:        func(name string) bool { return h.optOut[name] },
	}
	c.ForbiddenDenies = rng.IntN(3) == 0
	if rng.IntN(4) == 0 {
		own := map[string]int{pick(rng, h.web.servers...).host: 1 + rng.IntN(3)}
		c.OwnHosts = func(host string) int { return own[host] }
	}
	if rng.IntN(8) == 0 {
		from := time.Duration(rng.IntN(48)) * 30 * time.Minute
		c.Hours = politeness.Hours{{From: from, To: (from + 5*time.Hour) % (24 * time.Hour)}}
		for at := time.Duration(0); at < time.Hour; at += 3 * time.Minute { // two minutes of every three are allowed
			c.Hours = append(c.Hours, politeness.Window{From: at, To: at + time.Minute})
		}
		if h.odd.IntN(2) == 0 {
			for i := range c.Hours {
				c.Hours[i].Zone = h.zone()
			}
		}
	}
	if rng.IntN(12) == 0 {
		c.Contactless, c.Identity.Contact = true, ""
	}
	if !h.disk.none {
		c.Ledger = h.disk
	}
	return c
}

// randomHostDelays gives a few hosts longer delays, and own hosts perhaps shorter ones.
func (h *history) randomHostDelays(rng *rand.Rand) (all []politeness.HostDelay) {
	if rng.IntN(5) > 0 {
		return nil
	}
	usual := effective(h.config).Delay
	names := []string{"h0.site0.test", "h1.site0.test:8080", "*.site0.test", "h2.site1.test:8080", "*.site1.test", "*.test"}
	for _, match := range append(names, "192.0.2.1/32", "192.0.2.0/24", "127.0.0.0/30", "::/0") {
		if rng.IntN(3) > 0 {
			continue
		}
		d := politeness.HostDelay{Match: match, Delay: pick(rng, 0, usual+time.Millisecond, usual+4*time.Second, usual+30*time.Second)}
		if h.config.OwnHosts != nil && rng.IntN(2) == 0 && (match[0] == '*' || h.config.OwnHosts(match) > 0) {
			d.Delay = pick(rng, politeness.NoDelay, 20*time.Millisecond, usual+4*time.Second)
		}
		all = append(all, d)
	}
	return all
}

// zone returns a time zone that has daylight saving time from 2 to 9 January. A history begins on 1 January.
func (h *history) zone() *time.Location {
	header := func(types, names byte) string {
		return "TZif2" + strings.Repeat("\x00", 15+16) + "\x00\x00\x00" + string(types) + "\x00\x00\x00" + string(names)
	}
	utc := strings.Repeat("\x00", 6) + "UTC\x00"
	zone, err := time.LoadLocationFromTZData("Test/Zone", []byte(header(1, 4)+utc+header(1, 4)+utc+"\nAAA-2BBB,J2/2,J9/3\n"))
	if err != nil {
		h.Fatal(err)
	}
	return zone
}

// randomOverride replaces the robots.txt of a random origin for a while.
func (h *history) randomOverride() override {
	o := override{Override: politeness.Override{
		Origin: "https://" + pick(h.rng, h.web.servers...).host, Reason: "the owner's leave",
		Until: time.Now().Add(pick(h.rng, 5*time.Second, time.Minute, time.Hour)),
	}}
	if o.Skip = h.rng.IntN(2) == 0; !o.Skip {
		o.file = h.web.file()
		o.Body = o.file.body
	}
	return o
}

// effective returns c with zeros replaced by the defaults of docs/politeness.md, and NoDelay by 0.
func effective(c politeness.Config) politeness.Config {
	number := func(v *time.Duration, def time.Duration) {
		switch {
		case *v == 0:
			*v = def
		case *v < 0:
			*v = 0
		}
	}
	number(&c.Delay, time.Second)
	number(&c.MaxDelay, time.Minute)
	number(&c.MaxCrawlDelay, 5*time.Minute)
	number(&c.MaxRetryAfter, 5*time.Minute)
	number(&c.MaxBackoff, 5*time.Minute)
	number(&c.MaxSilence, 15*time.Minute)
	number(&c.RobotsGiveUp, 15*time.Minute)
	number(&c.PermitTTL, 30*time.Second)
	switch c.DelayFactor {
	case 0:
		c.DelayFactor = 1
	case politeness.NoFactor:
		c.DelayFactor = 0
	}
	switch c.MaxFailures {
	case 0:
		c.MaxFailures = 20
	case politeness.Unlimited:
		c.MaxFailures = 1 << 30
	}
	if c.OwnHosts == nil {
		c.OwnHosts = func(string) int { return 0 }
	}
	return c
}

// plan schedules a call of do after the time d.
func (h *history) plan(d time.Duration, do func()) {
	h.plans = append(h.plans, plan{time.Now().Add(d), do})
}

// step runs the next plan, or sometimes an action of the operator or the machine.
func (h *history) step() {
	switch h.rng.IntN(60 * min(3, h.care)) {
	case 0, 1:
		h.disk.save(h.judge, true)
	case 2:
		h.restart()
	case 3:
		h.meddle()
	case 4:
		time.Sleep(time.Duration(h.rng.ExpFloat64() * float64(pick(h.rng, time.Second, time.Minute, 20*time.Minute, 10*time.Hour, 10*24*time.Hour))))
	case 5, 6:
		h.judge.forgetful = true
		politeness.SweepNext(h.caller.gate)
	default:
		h.next()
	}
}

// next waits for the next plan and runs it.
func (h *history) next() {
	first := 0
	for i := range h.plans {
		if h.plans[i].at.Before(h.plans[first].at) {
			first = i
		}
	}
	p := h.plans[first]
	h.plans = slices.Delete(h.plans, first, first+1)
	time.Sleep(time.Until(p.at))
	p.do()
}

// meddle simulates an action of the operator during a crawl.
func (h *history) meddle() {
	if h.rng.IntN(3) > 0 {
		h.caller.gate.Forgive()
		h.judge.forgive()
		return
	}
	name := pick(h.rng, h.web.servers...).host
	name = name[:len(name)-len(":8080")]
	h.optOut[name] = !h.optOut[name]
	h.judge.note("opted out: %v", h.optOut)
}

// restart ends the process by a kill or an orderly stop, and begins another one.
func (h *history) restart() {
	h.caller.dead = true
	if h.disk.none || h.rng.IntN(3) == 0 {
		s := h.judge.save(h.caller.gate.Snapshot())
		h.disk.snapshots, h.disk.needed = []saved{s}, true
		h.pass()
		h.open(s, false)
		return
	}
	h.pass()
	h.open(h.disk.latest(), true)
}

// pass waits as long as a restart takes, which is usually no time at all.
func (h *history) pass() {
	time.Sleep(time.Duration(h.rng.Int64N(int64(pick(h.rng, 1, 1, time.Second, time.Minute, 48*time.Hour)))))
}

// open begins a process that continues from a snapshot and, if replayed, from the ledger.
func (h *history) open(s saved, replayed bool) {
	c := h.config
	c.Snapshot = s.b
	size, ledger := h.disk.open(torn(h.rng))
	c.LedgerSize = size
	g, err := politeness.NewGate(c)
	h.disk.must(err)
	if replayed {
		h.lose(s)
		if err := g.Replay(ledger, bodies(h.web.files, h.lost)); err != nil {
			h.judge.wrong("P9: %v", err)
		}
	}
	if h.caller != nil {
		h.judge.restart(replayed, s, maps.Clone(h.lost))
	}
	h.caller = &caller{history: h, gate: g}
	h.plans = h.plans[:0]
	for range 1 + len(h.web.servers) {
		h.caller.after(h.caller.upTo(time.Second), func() { h.caller.want(h.web.page()) })
	}
}

// lose sometimes loses bodies of robots.txt files for ever. If it loses any, it also drops all snapshots except s, as those may still
// contain the bodies.
func (h *history) lose(s saved) {
	if h.rng.IntN(4) == 0 {
		for _, f := range h.web.files {
			if h.rng.IntN(2) == 0 {
				h.lost[f] = true
			}
		}
	}
	if len(h.lost) == 0 {
		return
	}
	h.disk.snapshots = h.disk.snapshots[:0]
	if s.b != nil {
		h.disk.snapshots = append(h.disk.snapshots, s)
	}
}

// check compares the ledger with the requests on the wire, and runs the auditor on the ledger.
func (h *history) check() {
	all := h.disk.close()
	if h.disk.none || h.judge.found > 0 {
		return
	}
	starts := map[string]int{}
	for line := range bytes.Lines(all) {
		var e ledger.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			h.judge.wrong("P10: %v in a ledger's line: %s", err, line)
		}
		if e.Event == "start" {
			starts[key(e)]++
		}
	}
	for _, e := range h.wire {
		if starts[key(e)]--; starts[key(e)] < 0 {
			h.judge.wrong("P10: no line for the request for %s at %s, %s", e.URL, e.Addr, e.Written)
		}
	}
	if len(h.lost) == 0 && !h.disk.lacking { // otherwise the auditor knows other facts than the crawl
		h.audit(all)
	}
}

func key(e ledger.Entry) string { return fmt.Sprint(e.URL, " at ", e.Addr, micro(e.Written)) }

// micro returns t in microseconds, rounded up as in the ledger.
func micro(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() }

func (h *history) audit(all []byte) {
	c := h.law
	seconds := func(d time.Duration) float64 {
		if d > 1<<62 {
			return 0
		}
		return d.Seconds()
	}
	own := map[string]int{}
	for _, s := range h.web.servers {
		own[s.host] = c.OwnHosts(s.host)
	}
	var delays []audit.HostDelay
	for _, d := range c.HostDelays {
		delays = append(delays, audit.HostDelay{Match: d.Match, Delay: d.Delay.Seconds()})
	}
	cfg := audit.Config{
		Product: "testbot", UserAgent: h.judge.agent, Contact: c.Identity.Contact, Delay: c.Delay.Seconds(), DelayFactor: c.DelayFactor,
		MaxDelay: c.MaxDelay.Seconds(), MaxRetryAfter: seconds(c.MaxRetryAfter), MaxBackoff: c.MaxBackoff.Seconds(),
		PerDomain: c.PerDomain, OwnHosts: own, HostDelays: delays, ForbidDenies: c.ForbiddenDenies,
		Forgiven: h.judge.forgiven,
	}
	rep, err := audit.Check(bytes.NewReader(all), cfg, bodies(h.web.files, nil))
	if err != nil {
		h.judge.wrong("P10: %v", err)
		return
	}
	for _, v := range rep.Violations {
		h.wrong("auditor", v)
	}
	pacer := audit.NewPacer(cfg, bodies(h.web.files, nil))
	for b := range bytes.Lines(all) {
		var l audit.Line
		if json.Unmarshal(b, &l) == nil {
			for _, v := range second(pacer.Add(&l)) {
				h.wrong("pacer", v)
			}
		}
	}
}

func (h *history) wrong(checker string, v audit.Violation) { h.judge.wrong("the %s: %v", checker, v) }

func second(_ audit.Pause, _ bool, found []audit.Violation) []audit.Violation { return found }
