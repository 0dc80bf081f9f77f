package politeness_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// judge watches the requests on the wire and checks them against the law, a model of what is allowed. It sees connections as a server does:
// an open connection blocks its host like a request, as long as its Permit may be used.
type judge struct {
	*testing.T
	config    politeness.Config
	agent     string
	override  override
	web       *web
	law       *law
	past      []fact
	facts     int         // number of facts so far
	uses      []*use      // uses in progress, and ended ones without a ledger line
	forgetful bool        // old copies of robots.txt may have been dropped
	forgiven  []time.Time // times at which the operator forgave hosts
	trace     []string
	begin     time.Time
	found     int
}

// fact is an event that changes the law. If a process is killed, only those facts survive that the ledger has lines for. The law is then
// rebuilt from the surviving facts.
type fact struct {
	number  int
	durable bool
	lost    map[*robotsFile]bool // bodies of robots.txt that were missing when a restart read this fact from the ledger
	cut     *use                 // the use that a restart interrupted
	apply   func(*law)
}

// save returns a snapshot of this moment.
func (j *judge) save(b []byte) saved { return saved{b, j.facts, slices.Clip(j.past)} }

// includes reports whether the snapshot contains the end of u.
func (s saved) includes(u *use) bool {
	return u.over && slices.ContainsFunc(s.past, func(f fact) bool { return f.number == u.ended })
}

// use represents one attempt at a URL: a connection, and the request on the connection.
type use struct {
	target, wanted weburl.URL
	addr           netip.Addr
	shared         []string // clocks, other than that of the host, that the use occupies
	own            int
	robots         bool
	hops           int
	attempt        int

	allowed, deadline time.Time
	notBefore         time.Time
	why, never        string

	dialled  bool
	began    time.Time
	over     bool // the caller has reported the end
	ended    int  // number of the fact that ended the use
	recorded bool // the ledger has its end
}

func (j *judge) happened(durable bool, apply func(*law)) {
	apply(j.law)
	j.past = append(j.past, fact{number: j.facts, durable: durable, apply: apply})
	j.facts++
}

func (j *judge) note(format string, args ...any) {
	j.trace = append(j.trace, fmt.Sprintf("%14v ", time.Since(j.begin))+fmt.Sprintf(format, args...))
}

// wrong reports a violation. Before the first violation, it prints the trace of the history.
func (j *judge) wrong(format string, args ...any) {
	j.Helper()
	j.note("WRONG: "+format, args...)
	if j.found++; j.found == 1 {
		j.Errorf("%s", strings.Join(j.trace[max(0, len(j.trace)-*simTrace):], "\n"))
	}
}

// allow records a Permit for target, and any reason why it must not be used. What counts is the law at this moment: a Permit lasts for some
// seconds, and responses that arrive meanwhile affect only the next Permit.
func (j *judge) allow(a politeness.Request, target weburl.URL) *use {
	now := time.Now()
	u := &use{target: target, wanted: a.URL, addr: a.Addr, robots: target != a.URL, attempt: a.Attempt, allowed: now, deadline: now.Add(j.config.PermitTTL)}
	if u.own = j.config.OwnHosts(target.Host()); u.own == 0 {
		u.shared = append(u.shared, canonical(a.Addr))
		if j.config.PerDomain {
			u.shared = append(u.shared, "domain "+target.Domain())
		}
	}
	if !a.Deadline.IsZero() && a.Deadline.Before(u.deadline) {
		u.deadline = a.Deadline
	}
	u.notBefore, u.why = j.law.notBefore(u, now, j.busy(now, u, sameHost))
	u.never = j.never(u)
	j.uses = append(j.uses, u)
	j.happened(false, func(l *law) { l.permit = later(l.permit, u.allowed) })
	return u
}

// never returns the reason for which a URL must not be requested at all, or "".
func (j *judge) never(u *use) string {
	for _, at := range []weburl.URL{u.target, u.wanted} {
		if gone := j.law.host(at).gone; gone != "" {
			return "although " + at.Host() + " is given up: " + gone
		}
		if j.config.OptOut(at.Hostname()) {
			return "although " + at.Host() + " opted out"
		}
	}
	switch o := j.law.origin(u.wanted); {
	case u.robots && o.gone:
		return "P8: although robots.txt is given up"
	case j.config.Contactless && !u.addr.IsLoopback():
		return "P11: without a contact"
	case !j.web.has(u.target.Host(), u.addr):
		return "P6: at another host's address"
	}
	return ""
}

func sameHost(a, b *use) bool { return a.target.Host() == b.target.Host() }

func sameShared(a, b *use) bool {
	return slices.ContainsFunc(a.shared, func(key string) bool { return slices.Contains(b.shared, key) })
}

func sameOrigin(a, b *use) bool { return b.robots && a.wanted.Origin() == b.wanted.Origin() }

// busy counts the other uses in progress for which like is true, as far as a server can tell that they are in progress.
func (j *judge) busy(now time.Time, u *use, like func(a, b *use) bool) (n int) {
	for _, v := range j.uses {
		if v != u && v.dialled && !v.over && !v.lapsed(now, j.config.PermitTTL) && like(u, v) {
			n++
		}
	}
	return n
}

// lapsed reports whether u has outlasted its Permit without sending a request. It then cannot send one any more, and blocks no other
// use.
func (u *use) lapsed(now time.Time, ttl time.Duration) bool {
	return u.began.IsZero() && now.After(u.allowed.Add(ttl))
}

// dial checks against the law that a connection may begin.
func (j *judge) dial(u *use, g politeness.Grant) {
	j.Helper()
	now := time.Now()
	what := fmt.Sprintf("connection for %s at %s", g.URL(), g.Addr())
	j.note("%s", what)
	if g.URL() != u.target || g.Addr() != u.addr {
		j.wrong("%s, allowed was %s at %s", what, u.target, u.addr)
	}
	if now.Before(u.notBefore) {
		j.wrong("%s %v early, %s", what, u.notBefore.Sub(now), u.why)
	}
	if u.never != "" {
		j.wrong("%s %s", what, u.never)
	}
	u.dialled = true
	j.alone(now, u, what)
}

// alone checks that not too many uses are in progress at once (P3, P6).
func (j *judge) alone(now time.Time, u *use, what string) {
	j.Helper()
	if n := j.busy(now, u, sameHost); n >= max(1, u.own) {
		j.wrong("P3: %s, %d others under way at the host", what, n)
	}
	if n := j.busy(now, u, sameShared); n > 0 {
		j.wrong("P6: %s, another under way at its address or domain", what)
	}
	if n := j.busy(now, u, sameOrigin); u.robots && n > 0 {
		j.wrong("P8: %s, another asks for this robots.txt", what)
	}
}

// start checks against the law that the first byte of a request may be sent.
func (j *judge) start(u *use, g politeness.Grant) {
	j.Helper()
	now := time.Now()
	what := fmt.Sprintf("request for %s (for %s) at %s", g.URL(), u.wanted, g.Addr())
	j.note("%s", what)
	switch {
	case !u.began.IsZero() || u.over:
		j.wrong("P10: %s by a Permit that is used up", what)
		return
	case now.After(u.deadline):
		j.wrong("P12: %s %v after its Permit has run out", what, now.Sub(u.deadline))
	case g.UserAgent() != j.agent:
		j.wrong("P11: %s as %q", what, g.UserAgent())
	case !within(j.config.Hours, now):
		j.wrong("%s at %s, outside the hours", what, now.UTC().Format(time.TimeOnly))
	}
	j.alone(now, u, what)
	u.began = now
	if h := j.law.host(u.target); now.Before(h.hold) || h.gone != "" {
		j.wrong("P7: %s, the host said meanwhile that it wants to be left alone", what)
	}
	j.purpose(u, what)
	j.happened(true, func(l *law) { l.permit = later(l.permit, u.allowed) })
}

// purpose checks that a request is allowed by the rules of its origin: the operator's override, or robots.txt.
func (j *judge) purpose(u *use, what string) {
	j.Helper()
	now, o := time.Now(), j.law.origin(u.wanted)
	switch {
	case u.wanted.Origin() == j.override.Origin && !now.After(j.override.Until):
		if u.robots || j.override.file.forbids(u.target.Path()) {
			j.wrong("P2: %s although the operator's own rules forbid it", what)
		}
	case u.robots:
		j.chase(u, o, what)
	default:
		if why := o.mayAsk(u.target.Path(), now); why != "" {
			j.wrong("%s %s", what, why)
		}
		o.served = o.served || now.After(o.expires)
	}
}

// override represents the operator's replacement for the robots.txt of one origin.
type override struct {
	politeness.Override
	file *robotsFile
}

// chase checks that a request for robots.txt goes to the URL of robots.txt, or to the target of the last redirect from there.
func (j *judge) chase(u *use, o *originLaw, what string) {
	j.Helper()
	switch u.target.String() {
	case u.wanted.RobotsURL().String():
		u.hops = 0
	case o.hop:
		u.hops = o.hops
	default:
		j.wrong("P1: %s, its robots.txt is elsewhere", what)
	}
}

// within reports whether the local time is in one of the windows of the allowed hours.
func within(hours politeness.Hours, t time.Time) bool {
	return len(hours) == 0 || slices.ContainsFunc(hours, func(w politeness.Window) bool {
		shown := t.UTC().Format("15:04")
		if w.Zone != nil {
			shown = t.In(w.Zone).Format("15:04")
		}
		from, to := fmt.Sprintf("%02d:%02d", w.From/time.Hour, w.From%time.Hour/time.Minute), fmt.Sprintf("%02d:%02d", w.To/time.Hour, w.To%time.Hour/time.Minute)
		if from <= to {
			return from <= shown && shown <= to
		}
		return from <= shown || shown <= to
	})
}

// end records the caller's report of the end of a use, and whether the ledger has it. If a connection failed after it was held for longer
// than its Permit lasted, only the pause follows.
func (j *judge) end(u *use, r politeness.Reply, a *answer, recorded bool) {
	now := time.Now()
	j.note("end of %s: %v, err %v, aborted %v, recorded %v", u.target, a, r.Err, r.Aborted, recorded)
	if u.over {
		return
	}
	if u.over = true; !u.dialled {
		return
	}
	late := u.lapsed(now, j.config.PermitTTL)
	u.recorded = recorded
	j.forgetful = j.forgetful || !recorded
	began := u.began
	u.ended = j.facts
	j.happened(u.recorded, func(l *law) {
		switch {
		case !late:
			l.over(u, now, began, r, a, recorded)
		default:
			l.late(u, now)
		}
	})
	j.uses = slices.DeleteFunc(j.uses, func(v *use) bool { return v.over && (v.recorded || v.began.IsZero()) })
}

// nameless records that a name had no address.
func (j *judge) nameless(u, next weburl.URL, recorded bool) {
	now := time.Now()
	j.note("no address for %s (for %s), recorded %v", next, u, recorded)
	asking := slices.ContainsFunc(j.uses, func(v *use) bool {
		return sameOrigin(&use{wanted: u}, v) && !v.over && !v.lapsed(now, j.config.PermitTTL)
	})
	j.happened(recorded, func(l *law) { l.nameless(now, u, next, asking) })
}

func (j *judge) forgive() {
	j.note("forgiven")
	j.forgiven = append(j.forgiven, time.Now())
	j.happened(true, (*law).forgive)
}

// told checks a NotYet: it names a time in the future, and an old copy of robots.txt is used while the file is unavailable.
func (j *judge) told(u weburl.URL, e *politeness.NotYet) {
	j.Helper()
	now := time.Now()
	j.note("not yet %s: %v", u, e)
	if e.Until.Before(now) {
		j.wrong("come again at %v, it is %v", e.Until, now)
	}
	j.waits(u, e.Until)
	o := j.law.origin(u)
	if e.Clauses[0].Name == ledger.ClauseRobots && o.known && !now.After(o.at.Add(maxStale)) && (o.served || !j.forgetful) {
		j.wrong("%s has to wait for a robots.txt of which there is a copy", u)
	}
}

// waits checks that nobody waits for a host that was given up.
func (j *judge) waits(u weburl.URL, until time.Time) {
	j.Helper()
	if gone := j.law.host(u).gone; gone != "" && until.After(time.Now()) {
		j.wrong("%s has to wait until %v for a host that was given up: %s", u, until, gone)
	}
}

// restart continues in another process. It starts either from the last snapshot alone, or from an older snapshot, perhaps of an earlier
// process, and the ledger's facts since then, without the lost bodies.
func (j *judge) restart(replayed bool, s saved, lost map[*robotsFile]bool) {
	now := time.Now()
	j.note("restart, replayed %v, facts from %d of %d on, %d bodies lost", replayed, s.facts, j.facts, len(lost))
	if replayed {
		j.resume(s, lost)
	} else {
		for i := range j.past {
			j.past[i].durable = true
		}
	}
	for _, u := range j.uses { // these uses are interrupted, so it is unknown when the server ended them
		if began := u.began; replayed && !began.IsZero() && (!u.over || u.ended >= s.facts) || !replayed && u.dialled && !u.over && !u.lapsed(now, j.config.PermitTTL) {
			j.happened(true, func(l *law) { l.over(u, now, began, politeness.Reply{Aborted: true}, nil, true) })
			j.past[len(j.past)-1].cut = u
		}
	}
	j.uses, j.forgetful = nil, true
	if replayed {
		j.law.opening = now.Add(max(j.config.Delay, politeness.MinDelay))
	}
}

// resume rebuilds the law from the facts in a snapshot and from later facts that the ledger has.
func (j *judge) resume(s saved, lost map[*robotsFile]bool) {
	past := slices.Clone(s.past)
	for _, f := range j.past {
		if f.durable && f.number >= s.facts && (f.cut == nil || !s.includes(f.cut)) {
			f.lost = lost
			past = append(past, f)
		}
	}
	j.law, j.past = newLaw(j.config), past
	for _, f := range past {
		j.law.lost = f.lost
		f.apply(j.law)
	}
	j.law.lost = nil
}
