package politeness_test

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// law is a model of what servers have requested so far, according to docs/politeness.md. It is simple, forgets nothing and knows
// nothing about the Gate. Its waits are minimums: a request before their end is wrong, and how much later a request comes is up to the
// Gate.
type law struct {
	config  politeness.Config // effective values, with defaults filled in
	hosts   map[string]*hostLaw
	origins map[string]*originLaw
	shared  map[string]time.Time // earliest time of the next request, by address or domain
	permit  time.Time            // time of the last Permit
	opening time.Time            // earliest time of a request after a restart
	lost    map[*robotsFile]bool // bodies that the process has lost
}

func newLaw(c politeness.Config) *law {
	return &law{config: c, hosts: map[string]*hostLaw{}, origins: map[string]*originLaw{}, shared: map[string]time.Time{}}
}

// hostLaw holds what is known about one host:port.
type hostLaw struct {
	pauses   []pause // pauses after ended requests; an own host may have several
	over     time.Time
	hold     time.Time // end of a wait for a Retry-After, or for a name without an address
	latency  time.Duration
	backoff  time.Duration
	failures int
	walls    int // number of consecutive challenges, without those for robots.txt
	failing  time.Time
	gone     string
	origins  []*originLaw
}

type pause struct{ over, until time.Time }

// originLaw holds what is known about the robots.txt of one origin.
type originLaw struct {
	known       bool
	file        *robotsFile // the file in force; nil: no rules
	at, expires time.Time
	wish        time.Duration
	attempts    int // number of consecutive failed attempts, at least
	since       time.Time
	retryAt     time.Time // earliest time of the next attempt
	stale       time.Time // latest time at which an old copy may still be used
	doubtful    bool      // the number of attempts is not certain
	gone        bool
	hop         string // target of the last redirect of robots.txt
	hops        int
	served      bool // since attempts began to fail, an old copy was used for a page
}

var closed = &robotsFile{no: []string{"/"}}

// maxStale and maxHops are values of RFC 9309, sections 2.3.1.4 and 2.3.1.2.
const (
	maxStale = 30 * 24 * time.Hour
	maxHops  = 5
)

func (l *law) host(u weburl.URL) *hostLaw {
	h := l.hosts[u.Host()]
	if h == nil {
		h = &hostLaw{}
		l.hosts[u.Host()] = h
	}
	return h
}

func (l *law) origin(u weburl.URL) *originLaw {
	o := l.origins[u.Origin()]
	if o == nil {
		o = &originLaw{}
		l.origins[u.Origin()] = o
		h := l.host(u)
		h.origins = append(h.origins, o)
	}
	return o
}

// delay returns the delay that applies to a host (P5). The parameter operator is the operator's delay for the host.
func (l *law) delay(h *hostLaw, operator time.Duration) time.Duration {
	slow := min(time.Duration(l.config.DelayFactor*float64(h.latency)), l.config.MaxDelay)
	return max(operator, slow, h.backoff, h.wish())
}

// operator returns the configured delay of a host at an address: that of the first matching entry of HostDelays, or otherwise the general
// delay. Only entries of own hosts may shorten the delay. addr may be the zero Addr.
func (l *law) operator(host string, addr netip.Addr) time.Duration {
	own := l.config.OwnHosts(host) > 0
	for _, e := range l.config.HostDelays {
		name, _, _ := strings.Cut(host, ":")
		p, err := netip.ParsePrefix(e.Match)
		switch {
		case err == nil && !(addr.IsValid() && p.Contains(addr.Unmap())):
			continue
		case err != nil && e.Match != name && e.Match != host && !(e.Match[0] == '*' && strings.HasSuffix(name, e.Match[1:])):
			continue
		case own && e.Delay != 0:
			return max(0, e.Delay)
		}
		return max(l.config.Delay, e.Delay)
	}
	return l.config.Delay
}

func (h *hostLaw) wish() (d time.Duration) {
	for _, o := range h.origins {
		d = max(d, o.wish)
	}
	return d
}

// pause returns the pause that must follow a use: the delay that applies, but at least the minimum, except for hosts that have agreed to a
// shorter one.
func (l *law) pause(u *use) time.Duration {
	d := l.delay(l.host(u.target), l.operator(u.target.Host(), u.addr))
	if u.own == 0 && !u.addr.IsLoopback() {
		d = max(d, politeness.MinDelay)
	}
	return d
}

// rest begins the pause after a use (P4, P6).
func (l *law) rest(u *use, at time.Time) {
	h, until := l.host(u.target), at.Add(l.pause(u))
	h.pauses = slices.DeleteFunc(h.pauses, func(p pause) bool { return !p.until.After(at) })
	h.pauses = append(h.pauses, pause{at, until})
	h.over = at
	for _, key := range u.shared {
		l.shared[key] = later(l.shared[key], until)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// notBefore returns the earliest time for a use of a host with busy requests under way, and the invariant that requires
// it.
func (l *law) notBefore(u *use, now time.Time, busy int) (at time.Time, why string) {
	raise := func(t time.Time, by string) {
		if t.After(at) {
			at, why = t, by
		}
	}
	h := l.host(u.target)
	raise(l.opening, "P9: right after a restart")
	if usual := max(l.config.Delay, politeness.MinDelay); !l.opening.IsZero() {
		raise(l.opening.Add(l.operator(u.target.Host(), u.addr)-usual), "P9: right after a restart, at a host with a delay of its own")
	}
	raise(h.hold, "P7: while the host asks to be left alone, or its name has no address")
	var untils []time.Time
	for _, p := range h.pauses {
		if p.until.After(now) {
			untils = append(untils, p.until)
		}
	}
	slices.SortFunc(untils, time.Time.Compare)
	if i := len(untils) - (max(1, u.own) - busy); i >= 0 && i < len(untils) {
		raise(untils[i], "P4, P5: in the pause after a request to the host")
	}
	if wish := h.wish(); u.own <= 1 && wish > 0 && !h.over.IsZero() {
		raise(h.over.Add(wish), "P5: in the pause that robots.txt asks for")
	}
	for _, key := range u.shared {
		raise(l.shared[key], "P6: in the pause of "+key)
	}
	if l.config.Rate > 0 && !l.permit.IsZero() {
		raise(l.permit.Add(time.Duration(float64(time.Second)/l.config.Rate)-2*time.Microsecond), "the rate in all")
	}
	if u.robots {
		raise(l.origin(u.wanted).retryAt, "P8: while robots.txt has to wait")
	}
	return at, why
}

// over applies the outcome of a use. It relaxes a limit only if the ledger has the outcome.
func (l *law) over(u *use, at, began time.Time, r politeness.Reply, a *answer, recorded bool) {
	l.permit = later(l.permit, u.allowed)
	h := l.host(u.target)
	if !began.IsZero() && r.Err == nil && r.Status != 0 {
		h.latency = r.Ended.Sub(began)
	}
	switch {
	case r.Aborted, began.IsZero() && r.Err == nil:
	case r.Err != nil, r.Wall != "", r.Status >= 500, r.Status == 429, r.Truncated == politeness.CutShort, r.Truncated == politeness.CutIdle:
		if !u.robots {
			l.fail(h, at, fault(u, began, r))
			if r.Wall != "" {
				h.walls++
			}
			if h.walls >= 5 {
				h.gone = politeness.ReasonChallenge
			}
		}
	case recorded: // without a ledger line, no wait gets shorter
		if !u.robots {
			h.walls = 0
		}
		h.failures, h.failing = 0, time.Time{}
		if h.backoff /= 2; h.backoff < time.Second {
			h.backoff = 0
		}
	}
	if a != nil && a.asks {
		from := at
		if a.dated {
			from = r.Ended
		}
		h.hold = later(h.hold, from.Add(a.wait))
		if a.wait > l.config.MaxRetryAfter {
			h.gone = politeness.ReasonRetryAfter
		} else if a.to != "" && !r.Aborted && a.wait+a.ahead <= l.config.MaxRetryAfter { // the redirect's target waits, too
			target := l.host(mustParse(a.to))
			target.hold = later(target.hold, from.Add(a.wait))
		}
	}
	if a != nil && a.used > 0 {
		h.hold = later(h.hold, at.Add(a.used))
		if a.used > l.config.MaxRetryAfter {
			h.gone = politeness.ReasonRetryAfter
		}
	}
	if u.robots && !r.Aborted {
		tried := began
		if tried.IsZero() {
			tried = ledger.Ceil(u.allowed)
		}
		l.answered(u, at, tried, r, a)
	}
	if o := l.origin(u.wanted); u.robots && !recorded { // neither this response nor an earlier copy counts
		o.known, o.served = false, false
	}
	l.rest(u, at)
}

// late handles the end of a connection that was held for longer than its Permit lasted: the pause, and for a
// robots.txt the doubt about the number of failed attempts.
func (l *law) late(u *use, at time.Time) {
	if u.own <= 1 { // with several slots, it is unknown which one it used
		l.rest(u, at)
	}
	if u.robots {
		l.origin(u.wanted).unsure(at)
	}
}

// unsure notes that the number of failed attempts is uncertain: there may have been one more, or none may count. The
// model then allows an old copy for the maximum time.
func (o *originLaw) unsure(at time.Time) {
	o.doubtful = true
	o.stale = later(o.stale, at.Add(time.Hour))
}

// fault returns the weight of a failure, in halves. An unreachable or slow host, or status 429, counts 2; a page's
// first failure counts 1; further failures of the same page count 0.
func fault(u *use, began time.Time, r politeness.Reply) int {
	late, _ := r.Err.(interface{ Timeout() bool })
	switch {
	case began.IsZero(), r.Status == 429, r.Truncated == politeness.CutIdle, late != nil && late.Timeout():
		return 2
	case u.attempt == 0:
		return 1
	}
	return 0
}

// fail records a host failure. It doubles the back-off, and gives the host up after too many failures.
func (l *law) fail(h *hostLaw, at time.Time, fault int) {
	h.backoff = min(max(time.Second, 2*h.backoff), l.config.MaxBackoff)
	if fault == 2 && h.failing.IsZero() {
		h.failing = at
	}
	h.failures += fault
	if fault > 0 && h.failures/2 >= int(l.config.MaxFailures) || fault == 2 && h.failures >= 2*5 && at.Sub(h.failing) >= l.config.MaxSilence {
		h.gone = politeness.ReasonHostFailed
	}
}

// nameless records that the name of the next URL had no address.
func (l *law) nameless(at time.Time, u, next weburl.URL, asking bool) {
	h, o := l.host(u), l.origin(u)
	switch {
	case next == u:
		l.fail(h, at, 2)
		h.hold = later(h.hold, at.Add(l.delay(h, l.operator(u.Host(), netip.Addr{}))))
	case !asking && !o.retryAt.After(at):
		l.unreachable(o, at, at, nil)
	}
}

// answered implements the table "Answers to robots.txt".
func (l *law) answered(u *use, at, tried time.Time, r politeness.Reply, a *answer) {
	o := l.origin(u.wanted)
	o.hop = ""
	ended := ledger.Ceil(r.Ended) // times in ledger lines are whole microseconds
	switch s := r.Status; {
	case r.Err != nil, r.Wall != "", s < 200, s == 202, s >= 500, s == 429, r.Truncated == politeness.CutShort, r.Truncated == politeness.CutIdle:
		l.unreachable(o, at, tried, a)
	case s < 300:
		l.know(u, ended, a.life, a.file)
	case s < 400 && a.to != "" && u.hops < maxHops:
		o.hop, o.hops = a.to, u.hops+1
	case (s == 401 || s == 403) && l.config.ForbiddenDenies:
		l.know(u, ended, a.life, closed)
	default:
		l.know(u, ended, a.life, nil)
	}
}

// know adopts a robots.txt, or the fact that there is none. If its body is lost, it counts as never requested, and only
// the smaller of the old and the new Crawl-delay is certain.
func (l *law) know(u *use, ended time.Time, life time.Duration, f *robotsFile) {
	o := l.origin(u.wanted)
	wish := time.Duration(0)
	if f != nil {
		wish = f.delay
	}
	if l.lost[f] {
		*o = originLaw{wish: min(o.wish, wish)}
		return
	}
	*o = originLaw{known: true, file: f, at: ended, expires: ended.Add(life), wish: wish}
	if wish > l.config.MaxCrawlDelay {
		l.host(u.wanted).gone = politeness.ReasonCrawlDelay
	}
}

// unreachable schedules the next attempt: after 1 s, 5 s, 30 s, then 1 min, doubled up to 1 h. Lateness of an attempt
// does not count towards giving up.
func (l *law) unreachable(o *originLaw, at, tried time.Time, a *answer) {
	if o.attempts == 0 {
		o.since = at
	} else if tried.After(o.retryAt) {
		o.since = o.since.Add(tried.Sub(o.retryAt))
	}
	o.attempts++
	next := []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}
	if o.attempts <= len(next) {
		o.retryAt = at.Add(next[o.attempts-1])
	} else {
		o.retryAt = at.Add(min(time.Hour, time.Minute<<min(10, o.attempts-len(next)-1)))
	}
	if a != nil && a.asks {
		o.retryAt = later(o.retryAt, at.Add(a.wait))
	}
	if o.stale = later(o.stale, o.retryAt); o.doubtful {
		o.unsure(at)
	}
	if (!o.known || at.Sub(o.at) >= maxStale) && at.Sub(o.since) >= l.config.RobotsGiveUp {
		o.gone = true
	}
}

// forgive applies an operator's decision to try hosts again that were given up.
func (l *law) forgive() {
	for _, h := range l.hosts {
		h.gone, h.failures, h.failing, h.walls = "", 0, time.Time{}, 0
	}
	for _, o := range l.origins {
		if o.attempts > 0 { // perhaps given up: a copy may exist, and other processes do not know about these attempts
			o.gone, o.doubtful, o.attempts, o.retryAt = false, true, 0, time.Time{}
		}
	}
}

// mayAsk returns "" if the origin allows the page, otherwise the reason.
func (o *originLaw) mayAsk(path string, now time.Time) string {
	old := !now.After(o.stale) && !now.After(o.at.Add(maxStale))
	switch {
	case !o.known && o.attempts > 0:
		return "P8: while robots.txt is unreachable"
	case !o.known:
		return "P1: before robots.txt is known"
	case now.After(o.expires) && !old:
		return "P1: after robots.txt has run out"
	case o.file.forbids(path):
		return "P2: although robots.txt forbids it"
	}
	return ""
}

func canonical(a netip.Addr) string { return "address " + a.Unmap().String() }
