package politeness

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/politeness/internal/sharedclock"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// Sharing has crawls take turns at hosts, addresses, domains and the total rate of requests, and keeps the robots.txt files that
// one of them has requested for the others. A Gate with [Config.Shared] takes a Turn for every Permit. With the Report it returns
// the Turn, with the pauses that are due.
//
// [Hosts] is the implementation for the crawls of one process.
type Sharing interface {
	// Take takes every clock of t, or none and returns a *[NotYet]. A crawl that must wait keeps its place in the order, and
	// its delay applies to all crawls until its next request. Take is called without locks and may block.
	Take(t *Turn) error
	// Done ends a Turn that Take has granted, unless Done was called before, and holds its clocks for the times in owed. For a
	// Turn that was not granted it only holds them. It is called under the Gate's lock and must not block.
	Done(t *Turn, owed Owed)
	// Leave ends all turns and waits of a Gate.
	Leave(gate string)

	// Robots returns the file that KeepRobots kept last for a key, until its time Until. It returns false if there is none, or if it
	// was dropped for lack of space: the crawl then requests the file. In that case Fetched is the latest Fetched of the dropped
	// files, zero if none was dropped. Robots is called without locks and may block.
	Robots(key RobotsKey) (RobotsFile, bool)
	// KeepRobots keeps a file for the key, in place of the one kept before. Once it has returned, Robots returns the file
	// to any other crawl that has a turn at the host. KeepRobots is called before Done, and like Done it must not block.
	KeepRobots(key RobotsKey, f RobotsFile)
}

// Turn describes the shared clocks that a request needs.
type Turn struct {
	Gate   string        // ID of the Gate in the ledger (Entry.Run)
	Crawl  string        // Config.Name
	Host   string        // name of the host, or "" for one that the operator owns
	Port   string        // port of the host
	Addr   netip.Addr    // address of the host; not valid if its clock is not shared
	Domain string        // the registrable domain; "" without Config.PerDomain
	Delay  time.Duration // the pause that this crawl requires before the request, whoever made the last one
	// Total takes only the clock of all requests, for the total rate of the crawls that have one. Delay is then the interval
	// that this crawl leaves between the starts of two requests.
	Total bool
	// Quiet is the time at which the hours for requests begin again, if a URL of the host waits for them. Take
	// then grants nothing, and nobody gets the clock of the host until Quiet, unless the Gate leaves before.
	Quiet time.Time
	// Loopback is set instead of Addr for a loopback address, whose ports are different programs: a cluster job has a clock for
	// it, too.
	Loopback netip.Addr
	URL      weburl.URL // URL of the request, even if Host is ""; zero for a Turn that was not taken

	// Take sets the fields below.

	Waited ledger.Clause // clause of the wait for other crawls; without a name if there was no wait
	Away   ledger.Clause // clause of the wait for the keeper of the clocks to respond; without a name if there was no wait
	// Until is the latest time at which the request may begin: the Permit expires then. Zero: no limit.
	Until time.Time
	// Held ends if others may get the Turn although Done was not called, for example because its holder could not be reached.
	// The request must be aborted then ([Permit.Held]). nil: the Turn cannot be lost.
	Held context.Context
}

// shareQuiet makes other crawls, too, wait until the hours for requests begin, if q waits for them:
// it returns the error of Take. Any other err is returned unchanged. The Gate is unlocked meanwhile.
func (g *Gate) shareQuiet(q Request, err error) error {
	var wait *NotYet
	if len(g.cfg.Hours) == 0 && !g.cfg.VisitTime || !errors.As(err, &wait) || wait.Clauses[0].Name != ledger.ClauseQuiet || g.host(q.URL).own {
		return err
	}
	t := Turn{
		Gate: g.journal.run, Crawl: g.cfg.Name, Host: q.URL.Hostname(), Port: q.URL.Port(), Delay: g.cfg.usualDelay(), URL: q.URL, Quiet: wait.Until,
	}
	g.mu.Unlock()
	defer g.mu.Lock()
	return g.cfg.Shared.Take(&t)
}

// Clause returns the name of the ledger's clause for a wait for the Turn.
func (t *Turn) Clause() string {
	if t.Total {
		return ledger.ClauseRate
	}
	return ledger.ClauseShared
}

// Owed holds the times until which clocks are held. The zero Time holds none.
type Owed struct {
	Ended              time.Time // end of the request; zero if none was made: then the crawl keeps its place in the order
	Host, Addr, Domain time.Time
	Total              time.Time // only for a Turn with Total: end of the interval; then Ended is when the request was allowed
}

// Hosts holds the clocks and files that the crawls of one process share. A host, an address or a domain has one request at a time,
// whichever crawl makes it. The next one comes after the longest pause required by the crawl that made the request and by those that wait.
// Crawls that wait are served in order of arrival. Crawls with a Config.Rate leave the longest of their intervals between the starts of
// their requests to any hosts.
type Hosts struct {
	limits HostsLimits

	mu     sync.Mutex
	clocks map[clockKey]*sharedclock.Clock
	sweep  int                  // number of clocks at which idle clocks are removed
	out    map[*Turn]turnClocks // the clocks of granted turns
	token  time.Time            // time at which Rate allows the next request
	due    time.Time            // the latest time promised to a request waiting for Rate
	files  sharedFiles
}

// HostsLimits are limits on all crawls that share a [Hosts], taken together.
type HostsLimits struct {
	Rate        float64 // requests per second. 0: no limit
	Concurrency int     // requests in flight. 0: no limit
	RobotsBytes int64   // bytes of memory for robots.txt files; the least recently used are forgotten. 0: 64 MiB
}

// NewHosts makes a Hosts.
func NewHosts(l HostsLimits) *Hosts {
	return &Hosts{
		limits: l, clocks: make(map[clockKey]*sharedclock.Clock), sweep: hostsSweepMin, out: make(map[*Turn]turnClocks),
		files: sharedFiles{limit: or(l.RobotsBytes, defaultRobotsBytes)},
	}
}

// clockKey identifies a clock: that of a host by name and port, of a domain by its name, or of an address. The zero
// key is that of all requests.
type clockKey struct {
	name, port string
	addr       netip.Addr
}

// hostsSweepMin is the minimum number of clocks at which idle clocks are removed.
const hostsSweepMin = 1 << 12

// Take implements [Sharing]. It does not block, so that a Gate may call it under its lock.
func (s *Hosts) Take(t *Turn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, me := time.Now(), sharedclock.Party{Gate: t.Gate, Crawl: t.Crawl}
	clocks := s.of(now, t)
	if !t.Quiet.IsZero() {
		clocks[0].Close(me, t.Delay, t.Quiet)
		return notYet(ledger.Clause{Name: ledger.ClauseQuiet, Until: t.Quiet})
	}
	late, until, by := sharedclock.Latest(now, clocks[:], me, t.Delay)
	if late != nil {
		until = late.Wait(me, t.Delay, until, by)
		return notYet(ledger.Clause{Name: t.Clause(), Until: until, Delay: ledger.Duration(late.Delay), By: by.Crawl})
	}
	if at := s.total(now); at.After(now) && !t.Total {
		return notYet(ledger.Clause{Name: ledger.ClauseRate, Until: at})
	}
	if c, w := sharedclock.Take(now, clocks[:], me, t.Delay); c != nil {
		t.Waited = ledger.Clause{Name: t.Clause(), Until: c.NotBefore, Delay: ledger.Duration(c.Delay), By: w.By.Crawl}
	}
	s.out[t] = clocks
	return nil
}

// Done implements [Sharing].
func (s *Hosts) Done(t *Turn, owed Owed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done(t, owed)
}

func (s *Hosts) done(t *Turn, owed Owed) {
	now, me := time.Now(), sharedclock.Party{Gate: t.Gate, Crawl: t.Crawl}
	clocks, taken := s.out[t] // the clocks of a granted turn are still in the map: forget keeps them
	delete(s.out, t)
	if !taken {
		clocks = s.of(now, t)
	}
	for i, until := range [...]time.Time{owed.Host, owed.Addr, owed.Domain, owed.Total} {
		c := clocks[i]
		if c == nil {
			continue
		}
		if taken {
			c.Release()
		}
		c.Hold(now, me, owed.Ended, until)
	}
}

// Leave implements [Sharing].
func (s *Hosts) Leave(gate string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for t := range s.out {
		if t.Gate == gate {
			rested := now.Add(t.Delay)
			s.done(t, Owed{now, rested, rested, rested, rested})
		}
	}
	for _, c := range s.clocks {
		c.Leave(gate)
	}
}

// turnClocks are the clocks of a Turn: of its host, its address, its domain and of all requests, each nil if the Turn does not need it.
type turnClocks [4]*sharedclock.Clock

func (s *Hosts) of(now time.Time, t *Turn) (c turnClocks) {
	if t.Host != "" {
		c[0] = s.clock(now, clockKey{name: t.Host, port: t.Port})
	}
	if t.Addr.IsValid() {
		c[1] = s.clock(now, clockKey{addr: t.Addr})
	}
	if t.Domain != "" {
		c[2] = s.clock(now, clockKey{name: t.Domain})
	}
	if t.Total {
		c[3] = s.clock(now, clockKey{})
	}
	return c
}

// clock returns the clock with a key, creating it if needed.
func (s *Hosts) clock(now time.Time, k clockKey) *sharedclock.Clock {
	c := s.clocks[k]
	if c == nil {
		s.forget(now)
		c = new(sharedclock.Clock)
		k.name, k.port = strings.Clone(k.name), strings.Clone(k.port) // cloned, to release the URL that they are parts of
		s.clocks[k] = c
	}
	return c
}

// forget removes clocks that nobody uses or waits for, when the number of clocks has doubled.
func (s *Hosts) forget(now time.Time) {
	if len(s.clocks) < s.sweep {
		return
	}
	for k, c := range s.clocks {
		if c.Idle(now) {
			delete(s.clocks, k)
		}
	}
	s.sweep = max(hostsSweepMin, 2*len(s.clocks))
}

// total returns the time from which the limits on all crawls together allow a request. If that is now, the request is
// counted.
func (s *Hosts) total(now time.Time) time.Time {
	if s.limits.Concurrency > 0 && len(s.out) >= s.limits.Concurrency {
		return now.Add(recheck)
	}
	if s.limits.Rate <= 0 {
		return now
	}
	gap := time.Duration(float64(time.Second) / s.limits.Rate)
	if !s.token.After(now) {
		s.token = now.Add(gap)
		return now
	}
	at := s.token
	if s.due.After(now) {
		at = later(at, s.due.Add(gap))
	}
	s.due = at
	return at
}

// turn returns the Turn that an admitted request needs.
func (g *Gate) turn(q Request, a admission) Turn {
	h := a.clocks.host
	t := Turn{Gate: g.journal.run, Crawl: g.cfg.Name, URL: a.step.url}
	if h.own {
		return t
	}
	t.Host, t.Port = a.step.url.Hostname(), a.step.url.Port()
	t.Delay, _ = g.cfg.delayFor(h.stateBy(&g.cfg, h.entryAt(&g.cfg, q.Addr), q.Addr.IsLoopback()))
	if t.Addr = clockAddr(q.Addr); q.Addr.IsLoopback() {
		t.Addr, t.Loopback = netip.Addr{}, t.Addr
	}
	if g.cfg.PerDomain {
		t.Domain = a.step.url.Domain()
	}
	return t
}

// announce makes other crawls obey the pauses that a response requests or lengthens, before the ledger has the request's
// end. A process that resumes a killed one knows the pauses from that line on, so other crawls must know them, too. The turn
// continues.
func (g *Gate) announce(now time.Time, p *permit, r Reply, a answer) {
	if p.turn.Host == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	until, _ := retryAfter(r, now)
	if d, _ := usedUp(r.Header); d > 0 {
		until = later(until, now.Add(d))
	}
	h := p.clocks.host
	s := h.stateBy(&g.cfg, h.entryAt(&g.cfg, p.addr), p.addr.IsLoopback())
	if p.started.Load() {
		s.Latency = max(s.Latency, orTime(r.Ended, now).Sub(p.began))
	}
	if failed(r) {
		s.Backoff = min(max(firstBackoff, 2*s.Backoff), g.cfg.MaxBackoff)
	}
	if d, _ := requestedDelay(a.rules.bound()); p.wantedHost == h { // this robots.txt may set a delay for the host h
		s.Requested = max(s.Requested, d)
	}
	d, _ := g.cfg.delayFor(s)
	rest := now.Add(d)
	if d <= p.turn.Delay && !until.After(rest) {
		return // no announcement needed: if this process is killed now, the turn holds the clock at least as long
	}
	t := p.turn
	g.cfg.Shared.Done(&t, Owed{Host: later(until, rest), Addr: rest, Domain: rest})
}

// interval returns the time between the starts of two requests under Config.Rate; 0 without it.
func (c *Config) interval() time.Duration {
	if c.Rate <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / c.Rate)
}

// endTurn ends p's turn at shared clocks, with the pauses that are due.
func (g *Gate) endTurn(now time.Time, p *permit) {
	if p.turn.Gate == "" {
		return
	}
	owed := Owed{Ended: now, Host: p.clocks.slot.notBefore}
	if p.clocks.addr != nil {
		owed.Addr = p.clocks.addr.notBefore
	}
	if p.clocks.domain != nil {
		owed.Domain = p.clocks.domain.notBefore
	}
	g.cfg.Shared.Done(&p.turn, owed)
}

// shareHold makes other crawls wait for a host, too.
func (g *Gate) shareHold(host string, until time.Time) {
	if g.cfg.Shared == nil {
		return
	}
	if u, err := weburl.Parse("https://" + host); err == nil {
		g.cfg.Shared.Done(&Turn{Gate: g.journal.run, Crawl: g.cfg.Name, Host: u.Hostname(), Port: u.Port()}, Owed{Host: until})
	}
}

// sharePauses makes other crawls obey the pauses restored from an earlier process.
func (g *Gate) sharePauses(now time.Time) {
	if g.cfg.Shared == nil {
		return
	}
	for _, r := range g.resting(now) {
		switch {
		case r.Host != "" && !g.hosts[r.Host].own:
			g.shareHold(r.Host, r.Until)
		case r.Addr.IsValid() && !r.Addr.IsLoopback():
			g.cfg.Shared.Done(&Turn{Gate: g.journal.run, Crawl: g.cfg.Name, Addr: r.Addr}, Owed{Addr: r.Until})
		case r.Domain != "":
			g.cfg.Shared.Done(&Turn{Gate: g.journal.run, Crawl: g.cfg.Name, Domain: r.Domain}, Owed{Domain: r.Until})
		}
	}
}

// Leave ends the turns and waits of the Gate at everything that it shares with other crawls, at the end of a crawl. Permits
// without a report count as reported.
func (g *Gate) Leave() {
	if g.cfg.Shared != nil {
		g.cfg.Shared.Leave(g.journal.run)
	}
}
