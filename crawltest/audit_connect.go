package crawltest

import (
	"slices"
	"strings"
	"time"
)

// connects checks failed attempts to connect against P4, if their host is known.
func (a *auditor) connects(dials []Dial) {
	failed := make(map[string]Dial)
	for _, d := range dials {
		if a.e.Contactless && !d.Addr.Addr().IsLoopback() {
			a.report(Violation{Rule: "P11", Host: d.Addr.String(), Detail: "connected to without a contact"})
		}
		host := a.soleHost(d)
		if host == "" {
			continue
		}
		delay, per, _ := a.e.at(host)
		if before, ok := failed[host]; ok && per == 1 && d.Start.Sub(before.End) < delay {
			a.report(Violation{
				Rule: "P4", Host: host, Gap: d.Start.Sub(before.End), Required: delay,
				Detail: "connected again too shortly after an attempt that came to nothing",
			})
		}
		delete(failed, host)
		if d.Requests == 0 && !d.End.IsZero() {
			failed[host] = d
		}
	}
}

// soleHost returns the host for which an attempt to connect was made. It returns "" if several sites, or none, are at the address and
// port.
func (a *auditor) soleHost(d Dial) string {
	a.web.mu.Lock()
	defer a.web.mu.Unlock()
	host := ""
	for _, s := range a.web.sites {
		if s.port != d.Addr.Port() || !s.name.has(d.Addr.Addr()) {
			continue
		}
		if host != "" {
			return ""
		}
		host = s.key
	}
	return host
}

// connectTurn is the time for which a crawler must not send other requests to an address while it tries to connect there.
const connectTurn = 5 * time.Second

// event is a use of an address: an attempt to connect, or a request on a connection that had one before.
type event struct {
	at      time.Time
	request *Request // nil for an attempt to connect
	dial    *Dial
}

// connectsAtAddresses checks all uses of an address against P6 if an attempt to connect to it has failed. The attempt counts as a request
// until it ends. If it takes longer than connectTurn, other requests are allowed from then on until it ends; the delay after it is still
// required.
func (a *auditor) connectsAtAddresses(dials []Dial) {
	if !a.e.PerAddress {
		return
	}
	uses := a.uses(dials)
	for i := range dials {
		d := &dials[i]
		if d.Requests > 0 || d.End.IsZero() || a.ownAt(d) {
			continue
		}
		for _, u := range uses[d.Addr.Addr().String()] {
			flying := u.at.After(d.Start) && u.at.Before(d.End) && u.at.Sub(d.Start) < connectTurn
			tooSoon := !u.at.Before(d.End) && u.at.Sub(d.End) < a.e.Delay && u.dial != d
			if !flying && !tooSoon {
				continue
			}
			v := Violation{
				Rule: "P6", Host: d.Addr.String(), Gap: u.at.Sub(d.End), Required: a.e.Delay,
				Detail: "used too shortly after an attempt to connect that came to nothing",
			}
			if u.request != nil {
				v.Second = *u.request
			}
			a.report(v)
		}
	}
}

// uses returns the uses of each address, in order.
func (a *auditor) uses(dials []Dial) map[string][]event {
	uses := make(map[string][]event)
	for i := range dials {
		key := dials[i].Addr.Addr().String()
		uses[key] = append(uses[key], event{at: dials[i].Start, dial: &dials[i]})
	}
	conns := make(map[int]bool)
	for i := range a.log {
		r := &a.log[i]
		if conns[r.Conn] {
			key := r.Addr.Addr().String()
			uses[key] = append(uses[key], event{at: r.Start, request: r})
		}
		conns[r.Conn] = true
	}
	for _, us := range uses {
		slices.SortStableFunc(us, func(x, y event) int { return x.at.Compare(y.at) })
	}
	return uses
}

// ownAt reports whether a host in Expect.Hosts is at the address of a dial.
func (a *auditor) ownAt(d *Dial) bool {
	a.web.mu.Lock()
	defer a.web.mu.Unlock()
	return slices.ContainsFunc(a.web.sites, func(s *Site) bool {
		_, _, own := a.e.at(s.key)
		return own && s.name.has(d.Addr.Addr())
	})
}

// attempt is a failed attempt to reach a site: a look-up that failed temporarily, or an attempt to connect, whether it was refused or
// not.
type attempt struct {
	at     time.Time
	end    time.Time
	lookup bool
	failed bool
}

// unreached checks attempts to reach sites that never answered a request against the pauses of Expect.RobotsRetry: their robots.txt is
// unreachable (P8). It skips sites that share a name, or an address and port, and sites whose robots.txt is overridden. When the
// robots.txt of another site redirects to a site, the check of that site ends, because later connections may have been made for the other
// site, which has its own pauses.
func (a *auditor) unreached(dials []Dial, lookups []Lookup) {
	if len(a.e.RobotsRetry) == 0 {
		return
	}
	for _, s := range a.web.sites {
		if _, overridden := a.e.Overrides[s.origin]; overridden || len(s.name.sites) > 1 || len(s.name.addrs) != 1 {
			continue
		}
		first := time.Time{}
		if i := slices.IndexFunc(a.log, func(r Request) bool { return r.site == s }); i >= 0 {
			first = a.log[i].Start
			if pathOfURL(a.log[i].URL) != robotsPath {
				continue // this site serves the robots.txt of another site, for which its own failures do not matter
			}
		}
		if to := a.redirectedTo(s); first.IsZero() || !to.IsZero() && to.Before(first) {
			first = to
		}
		a.patient(s, a.attempts(s, dials, lookups), first)
	}
}

// redirectedTo returns the time at which the robots.txt of another site first redirected to s, or the zero Time if none did.
func (a *auditor) redirectedTo(s *Site) time.Time {
	for i := range a.log {
		r := &a.log[i]
		if r.site == s || !a.hops[r.ID] && pathOfURL(r.URL) != robotsPath {
			continue
		}
		if to, ok := redirectTarget(r); ok && strings.HasPrefix(to, s.origin+"/") {
			return r.End
		}
	}
	return time.Time{}
}

// attempts returns the attempts to reach a site, in order.
func (a *auditor) attempts(s *Site, dials []Dial, lookups []Lookup) (all []attempt) {
	for _, d := range dials {
		if a.soleHost(d) == s.key {
			all = append(all, attempt{at: d.Start, end: d.End, failed: strings.Contains(d.Err, "refused")})
		}
	}
	for _, l := range lookups {
		if l.Name == s.host && l.Err != "" && !strings.Contains(l.Err, "canceled") && !strings.Contains(l.Err, "no such host") {
			all = append(all, attempt{at: l.Time, end: l.Time, lookup: true, failed: true})
		}
	}
	slices.SortStableFunc(all, func(x, y attempt) int { return x.at.Compare(y.at) })
	return all
}

// patient reports attempts to connect that come too early. It ends at the time to. A repeated look-up of the address is not an attempt.
func (a *auditor) patient(s *Site, all []attempt, to time.Time) {
	n, until := 0, time.Time{}
	for _, t := range all {
		if !to.IsZero() && t.at.After(to) {
			return
		}
		early := t.at.Before(until)
		if early && !t.lookup {
			a.report(Violation{
				Rule: "P8", Host: s.key, Gap: -until.Sub(t.at), Required: 0,
				Detail: "connected again too early after a failure to reach it",
			})
		}
		if t.failed && !early {
			until = t.end.Add(a.e.RobotsRetry[min(n, len(a.e.RobotsRetry)-1)])
			n++
		}
	}
}
