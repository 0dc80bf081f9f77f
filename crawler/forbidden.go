package crawler

import (
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// forbidden counts the queued URLs that the robots.txt of their hosts forbids, as far as that was known when they were queued.
// When a host has no others left, they end without a pause: nothing is requested for them. A count that is wrong costs a claim
// or a pause, and never a request: the gate decides. It is one pause while a store has yet to commit the end of an earlier one.
// It is safe for concurrent use.
type forbidden struct {
	mu sync.Mutex
	by map[string]int // by host; none with 0
}

// add notes n more URLs of a host, and returns how many there are.
func (f *forbidden) add(host string, n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > 0 {
		if f.by == nil {
			f.by = map[string]int{}
		}
		f.by[host] += n
	}
	return f.by[host]
}

// none reports whether no host has any.
func (f *forbidden) none() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.by) == 0
}

// ended notes that a URL of a host was refused.
func (f *forbidden) ended(host string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch n := f.by[host]; {
	case n > 1:
		f.by[host] = n - 1
	case n == 1:
		delete(f.by, host)
	}
}

// forbids reports whether a group of rules forbids a URL.
func forbids(g *robots.Group, u weburl.URL) bool { return g != nil && !g.Test(u.PathQuery()).Allowed }

// readyAt returns from when the next URL of the claim's host is to be claimed, given the links of its page: when the host may be
// requested again, or at once if all that the host has left is forbidden.
func (a *attempt) readyAt(links []frontier.Request) time.Time {
	u := a.claim.URL
	if !a.sent || a.counter == nil {
		return a.ready
	}
	own, more := 0, 0
	for i := range links {
		if links[i].URL.Origin() == u.Origin() {
			own++
			if forbids(a.group, links[i].URL) {
				more++
			}
		}
	}
	if more == 0 && a.forbidden.none() {
		return a.ready
	}
	host := u.Host()
	left := a.counter.HostPending(host) - 1 + own // without the claim
	if known := a.forbidden.add(host, more); left > 0 && known >= left {
		return time.Time{}
	}
	return a.ready
}
