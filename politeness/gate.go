package politeness

import (
	"bytes"
	"crypto/rand"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// Gate admits requests. It is the only maker of Permits and holds, for every host, its rules and its
// clock. All methods are safe for concurrent use; none blocks on anything but a short lock and, in
// [Grant.Begin] and Report, the ledger's writer.
type Gate struct {
	cfg       Config
	userAgent string
	run       string // names this Gate in the ledger
	ledger    *ledger.Writer
	overrides map[string]*override // by origin; never changes

	// recording is held shared while an event goes into the ledger and takes effect, and by Snapshot
	// alone: so no event is in the one and not in the other. It is taken before mu.
	recording sync.RWMutex
	restored  *restored // what Replay goes on from; nil when it is done
	skew      skew      // of what NewGate and Replay have read; then it stays

	mu      sync.Mutex
	hosts   map[string]*host
	addrs   map[netip.Addr]*shared
	domains map[string]*shared
	total   *rate.Limiter // nil without Config.Rate
	bucket  rate.Limiter  // of whichever clock is being asked
	due     time.Time     // the last instant promised to a waiter of total
	taken   time.Time     // when the last token was
	lastID  uint64
	unlined int       // Permits without a line in the ledger
	opening time.Time // nothing is admitted before

	sweepAt   int // number of clocks at which idle ones are forgotten
	sweepMin  int
	rulesSize int64 // octets that robots.txt files take, as far as known
	evictAt   int64
}

// NewGate makes a Gate. The error joins everything wrong with c.
func NewGate(c Config) (*Gate, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	g := &Gate{
		cfg:       c,
		userAgent: c.Identity.UserAgent(),
		run:       strings.ToLower(rand.Text()[:10]),
		ledger:    ledger.NewWriter(c.Ledger, c.LedgerSize),
		overrides: c.overrides(),
		hosts:     make(map[string]*host),
		addrs:     make(map[netip.Addr]*shared),
		domains:   make(map[string]*shared),
		sweepAt:   sweepMin,
		sweepMin:  sweepMin,
		evictAt:   c.MaxRulesBytes,
	}
	if c.Rate > 0 {
		g.total = rate.NewLimiter(rate.Limit(c.Rate), 1)
	}
	g.restored = &restored{out: map[uint64]*permit{}}
	if err := g.restore(ledger.Ceil(time.Now()), c.Snapshot); err != nil {
		return nil, err
	}
	return g, nil
}

// UserAgent is the header every request carries.
func (g *Gate) UserAgent() string { return g.userAgent }

// Next is what has to be asked for before u may be: u itself when the rules of its origin are known
// and fresh, else the origin's robots.txt or the next hop of its redirects. It may be on another
// host than u; its address is the one [Request.Addr] wants.
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
	g.takeBack(now, o.asking)
	if isRobots(u) || g.override(now, u) != nil || o.usable(now) || o.gone || o.retryAt().after(now) {
		return u
	}
	return o.next(u)
}

// isRobots reports whether u is a robots.txt itself, which rules never forbid (RFC 9309 section 2.2.2).
func isRobots(u weburl.URL) bool { return u.PathQuery() == "/robots.txt" }

// host is the state of u's host, made when new.
func (g *Gate) host(u weburl.URL) *host {
	h := g.find(u)
	if h == nil {
		key := u.Host()
		h = g.newHost(key)
		g.hosts[key] = h
	}
	return h
}

// find is the state of u's host, nil when there is none. It looks up u.Host() without making it.
func (g *Gate) find(u weburl.URL) *host {
	var buf [128]byte
	key := append(buf[:0], u.Authority()...)
	if colon := bytes.LastIndexByte(key, ':'); colon < 0 || colon < bytes.LastIndexByte(key, ']') {
		key = append(append(key, ':'), u.Port()...)
	}
	return g.hosts[string(key)]
}

// clockOf is the clock under key, made when new.
func clockOf[K comparable](m map[K]*shared, key K) *shared {
	p := m[key]
	if p == nil {
		p = new(shared)
		m[key] = p
	}
	return p
}

// OriginInfo is what the Gate knows of one origin's robots.txt.
type OriginInfo struct {
	Known       bool // rules, or their absence, are known
	Unreachable bool // the last attempt failed
	Failures    int  // attempts in a row that failed
	Source      robots.Source
	Rules       *robots.Rules // nil when everything is allowed for lack of a file
	Group       *robots.Group // of Rules, for our product token; nil with them
	Override    string        // the reason of the Override in force, "" without one
	Expires     time.Time
	Statuses    robots.StatusPolicy // how the status of an answer is read
}

// Origin tells what is known of the robots.txt of u's origin.
func (g *Gate) Origin(u weburl.URL) OriginInfo {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if v := g.override(now, u); v != nil {
		return OriginInfo{Known: true, Source: v.source(), Rules: v.rules, Group: v.group, Override: v.Reason, Expires: v.Until}
	}
	h := g.find(u)
	if u.IsZero() || h == nil || h.origins[originIndex(u)] == nil {
		return OriginInfo{}
	}
	o := h.origin(u)
	info := OriginInfo{
		Known: o.known, Unreachable: o.failures() > 0, Failures: o.failures(), Source: o.source(now, u), Group: o.group(), Expires: o.expires.time(),
		Statuses: robots.StatusPolicy{ForbiddenDenies: g.cfg.ForbiddenDenies},
	}
	if o.rules != nil {
		info.Rules = o.rules.rules
	}
	return info
}

// HostInfo is what the Gate knows of one host's pace.
type HostInfo struct {
	HostState               // what Delay depends on
	Delay     time.Duration // in force now, from the end of a request to the start of the next: [Config.DelayFor] of HostState
	Clause    string        // what sets it
	NotBefore time.Time     // when a URL of the host may be requested at the earliest, as far as is known
	Waits     string        // the clause that sets NotBefore, "" without one
	Failures  int           // that count for Config.MaxFailures so far, a page's for half of one
	GivenUp   string        // the reason the host was given up, "" when it was not
}

// Host tells what is known of the host with this key (weburl.URL.Host).
func (g *Gate) Host(key string) HostInfo {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.hosts[key]
	if h == nil {
		h = g.newHost(key)
	}
	info := HostInfo{HostState: h.state(h.local), Failures: (int(h.failures) + 1) / int(wholeFault)}
	info.Delay, info.Clause = g.cfg.delayFor(info.HostState)
	info.NotBefore, info.Waits = h.waits(time.Now())
	if h.gone != nil {
		info.GivenUp = h.gone.reason
	}
	return info
}
