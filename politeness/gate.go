// Package politeness decides when a request may be made, and records enough to check these decisions afterwards.
//
// For every host, the [Gate] knows what its robots.txt allows and when it may be requested again. It makes no requests and
// starts no goroutine. A worker of a crawler uses it in this order for every request, including those for robots.txt and for
// the targets of redirects:
//
//	Visit   = { Step NotYet } Step ( Denied | Request ) .
//	Step    = Next resolve ( Admit | Failed ) .        // Failed: the name has no address for now
//	Request = Permit [ Redeem [ Begin wire ] ] Report .
//
// That is: Step is repeated, each time no earlier than the last result says, until Admit returns a *[Denied], which is final
// for the URL, or a [Permit]. A Permit for robots.txt, or for a hop of its redirects, is used like any other Permit; then the Visit
// begins again. Nobody sleeps on a [NotYet]: the URL is queued again with its time.
//
// [Gate.Next] returns the URL to be requested first: the URL itself, the robots.txt of its origin, or a hop of that file's
// redirects. A [Permit] is for one request to one URL at one address, can be redeemed once, and expires. The transport calls
// [Grant.Begin] immediately before it writes the first byte, so that a process that was suspended sends nothing late.
// [Gate.Report] must follow every Permit, whatever its outcome: the host is held until then or, if nothing was begun, until
// the Permit has expired.
//
// The Gate's memory is bounded: clocks that would change nothing are forgotten, and robots.txt files are dropped and fetched
// again. [Gate.Snapshot] carries its state to another process. Every request leaves two lines, [ledger.Entry], in the ledger,
// from which [Gate.Replay] restores what happened after a snapshot, and which package politeness/audit checks.
package politeness

import (
	"crypto/rand"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// Gate admits requests. It is the only maker of Permits and knows, for every host, its rules and its clocks. All methods are safe
// for concurrent use. Without Config.Shared none blocks, except on a short lock and, in [Grant.Begin] and Report, on the ledger's writer.
type Gate struct {
	cfg     Config
	journal journal

	// recording is read-locked while an event is written to the ledger and takes effect, and write-locked by Snapshot, so that
	// each event is in both the ledger and the snapshot's mark, or in neither. It is locked before mu.
	recording sync.RWMutex
	naming    sync.Mutex // held by Failed, so that of two pages with the same unresolvable robots.txt only one counts the attempt; locked after recording
	copying   sync.Mutex // held while another crawl's robots.txt is adopted; locked after recording, before mu
	restored  *restored  // the state that Replay continues from; nil afterwards
	skew      skew       // found by NewGate and Replay; constant afterwards

	mu    sync.Mutex // guards the fields below
	hosts hosts
	rules rulebook
	pacer *pacer
	idle  idle

	touched *touched  // since the last Changes; nil if Changes is not used
	changes time.Time // time of the last Changes
}

// NewGate makes a Gate. The error joins all errors in c.
func NewGate(c Config) (*Gate, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	g := &Gate{cfg: c.withDefaults(), hosts: make(hosts), restored: &restored{out: map[uint64]*permit{}}, idle: idle{sweepMin, sweepMin}}
	g.rules, g.pacer = newRulebook(&g.cfg, g.hosts, g.touchFiles), newPacer(&g.cfg)
	g.journal = journal{
		cfg: &g.cfg, run: strings.ToLower(rand.Text()[:10]), agent: c.Identity.UserAgent(), ledger: ledger.NewWriter(c.Ledger, c.LedgerSize),
	}
	now := ledger.Ceil(time.Now())
	if err := g.restore(now, c.Snapshot); err != nil {
		return nil, err
	}
	g.sharePauses(now)
	return g, nil
}

// UserAgent returns the User-Agent header of every request.
func (g *Gate) UserAgent() string { return g.journal.agent }

// Next returns the URL that has to be requested before u may be: u itself if the rules of its origin are known and fresh, otherwise
// the origin's robots.txt or the next hop of its redirects. It may be on another host than u. [Request.Addr] must be the address of
// that host.
func (g *Gate) Next(u weburl.URL) weburl.URL {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.next(now, u)
}

func (g *Gate) next(now time.Time, u weburl.URL) weburl.URL {
	if u.IsZero() {
		return u
	}
	g.sweep(now)
	o := g.host(u).origin(u)
	g.takeBack(now, o.fetching)
	if isRobots(u) || g.rules.override(now, u) != nil || o.usable(now) || o.givenUp || o.retryAt().after(now) {
		return u
	}
	return o.next(u)
}

// isRobots reports whether u is a robots.txt itself, which rules never forbid (RFC 9309 section 2.2.2).
func isRobots(u weburl.URL) bool { return u.PathQuery() == "/robots.txt" }

// host returns the state of u's host, creating it if needed.
func (g *Gate) host(u weburl.URL) *host { return g.hosts.of(&g.cfg, u) }

// OriginInfo holds the Gate's state of one origin's robots.txt.
type OriginInfo struct {
	Known       bool // rules, or their absence, are known
	Unreachable bool // the last attempt failed
	Failures    int  // consecutive attempts that failed
	Source      robots.Source
	Rules       *robots.Rules // nil if everything is allowed because there is no file
	Group       *robots.Group // the group of Rules for our product token; nil without Rules
	Override    string        // the reason of the Override in force, "" without one
	Expires     time.Time
	Statuses    robots.StatusPolicy // how the status of the response was interpreted
}

// Origin returns the state of the robots.txt of u's origin.
func (g *Gate) Origin(u weburl.URL) OriginInfo {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if v := g.rules.override(now, u); v != nil {
		return OriginInfo{Known: true, Source: v.source(), Rules: v.rules, Group: v.group, Override: v.Reason, Expires: v.Until}
	}
	h := g.hosts.find(u)
	if u.IsZero() || h == nil || h.origins[originIndex(u)] == nil {
		return OriginInfo{}
	}
	o := h.origin(u)
	info := OriginInfo{
		Known: o.known, Unreachable: o.failures() > 0, Failures: o.failures(), Source: o.source(now, u), Group: o.group(), Expires: o.expires.time(),
		Statuses: robots.StatusPolicy{ForbiddenDenies: g.cfg.ForbiddenDenies},
	}
	if o.rules != nil {
		info.Rules = o.rules.parsed().rules
	}
	return info
}

// Group returns the crawler's group in the robots.txt of u's origin, nil if it has none. known reports whether it is known that
// the file exists, or that it does not. Unlike [Gate.Origin], Group allocates nothing.
func (g *Gate) Group(u weburl.URL) (group *robots.Group, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if v := g.rules.override(time.Now(), u); v != nil {
		return v.group, true
	}
	h := g.hosts.find(u)
	if u.IsZero() || h == nil || h.origins[originIndex(u)] == nil {
		return nil, false
	}
	o := h.origin(u)
	return o.group(), o.known
}

// HostInfo holds the Gate's state of one host's pace.
type HostInfo struct {
	HostState               // the facts on which Delay depends
	Delay     time.Duration // current delay from the end of a request to the start of the next: [Config.DelayFor] of HostState
	Clause    string        // the clause that sets the delay
	NotBefore time.Time     // earliest time at which a URL of the host may be requested, as far as is known
	Waits     string        // the clause that determines NotBefore, "" if there is none
	Failures  int           // failures counted towards Config.MaxFailures; a page's failure counts half
	GivenUp   string        // the reason the host was given up, "" when it was not
	OptedOut  bool          // Config.OptOut lists the host: nothing more is requested
}

// Host returns the state of the host with this key (weburl.URL.Host).
func (g *Gate) Host(key string) HostInfo {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.hosts[key]
	if h == nil {
		h = newHost(&g.cfg, key)
	}
	info := HostInfo{HostState: h.state(&g.cfg, h.local), Failures: (int(h.failures) + 1) / int(wholeFault)}
	info.Delay, info.Clause = g.cfg.delayFor(info.HostState)
	info.NotBefore, info.Waits = h.waits(time.Now())
	if h.givenUp != nil {
		info.GivenUp = h.givenUp.reason
	}
	if name, _, err := net.SplitHostPort(key); err == nil {
		info.OptedOut = g.cfg.optedOut(name)
	}
	return info
}

// SignHead adds a signed head to the ledger, if [Config.SignHead] signs heads and there was a request since the last one. It
// is for the end of a run. The error is that of the signature or of the ledger.
func (g *Gate) SignHead() error {
	g.recording.RLock()
	defer g.recording.RUnlock()
	return g.journal.signHead(ledger.Ceil(time.Now()))
}

// Forgive lets the hosts and origins that were given up be requested again, as in a crawl that is resumed later for another try.
// All waits stay in force: clocks, delays, back-off, Retry-After, and the pause before a failed robots.txt is fetched again.
func (g *Gate) Forgive() {
	now := at(time.Now())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.touched.everything()
	for _, h := range g.hosts {
		h.givenUp, h.failures, h.failing, h.walls = nil, 0, 0, 0
	}
	for o := range g.hosts.origins {
		if o.givenUp {
			o.givenUp = false
			if o.outage != nil {
				o.outage.since = now
			}
		}
	}
}
