package crawler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// UnreachableError is Run's error if the crawl has ended with [FinishUnreachable]: no host has ever responded, and each host with queued
// URLs was tried several times within seconds, or failed for a cause that is not temporary. A mistake in a seed, the network or a proxy
// is more likely than that all hosts are down. The URLs stay queued. A crawl that waits for robots.txt for ever
// (politeness.Config.RobotsGiveUp) keeps waiting instead, and returns no such error.
type UnreachableError struct {
	Tried []Tried // sorted by URL; Unwrap does not return their errors, because these ended a request, not Run
}

// Tried describes the attempts at one host.
type Tried struct {
	URL      weburl.URL // the URL of the last request, made or planned
	Attempts int
	Err      error // the error of the last attempt
}

func (t *Tried) String() string {
	n := "1 attempt"
	if t.Attempts != 1 {
		n = fmt.Sprintf("%d attempts", t.Attempts)
	}
	return fmt.Sprintf("%s: %v (%s)", t.URL, t.Err, n)
}

// maxTriedTold limits the hosts that the text of an UnreachableError lists.
const maxTriedTold = 5

func (e *UnreachableError) Error() string {
	var b strings.Builder
	b.WriteString("crawler: no host answered")
	sep := ": "
	for i := range e.Tried[:min(len(e.Tried), maxTriedTold)] {
		b.WriteString(sep + e.Tried[i].String())
		sep = "; "
	}
	if n := len(e.Tried) - maxTriedTold; n > 0 {
		fmt.Fprintf(&b, "; and %d more hosts", n)
	}
	return b.String()
}

// unanswered records failed attempts until a host responds for the first time.
type unanswered struct {
	had    *atomic.Bool // a host has responded, in any Run of the Crawler
	off    bool         // the crawl never gives up
	gate   *politeness.Gate
	queue  frontier.Frontier
	giveUp func(*UnreachableError) // ends the crawl

	mu    sync.Mutex
	hosts map[string]*Tried // keyed by weburl.URL.Host; at most maxUnanswered
	spent int               // number of hosts whose attempts are enough
}

const (
	enoughAttempts = 3      // requests for robots.txt: at once, 1 s later, and another 5 s later
	maxUnanswered  = 10_000 // with more hosts than this, failures within a few seconds prove nothing
)

// hear records that a host has responded. Nothing is recorded from then on.
func (v *unanswered) hear() {
	if v.had.Swap(true) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hosts = nil
}

// note records that a request for u, which a URL of host needed, has failed. times is a minimum for the number of failures so far,
// including attempts of earlier processes. note returns the number of hosts with enough attempts.
func (v *unanswered) note(host string, u weburl.URL, err error, times int) (spent int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	t := v.hosts[host]
	switch {
	case t == nil && len(v.hosts) >= maxUnanswered:
		return v.spent
	case t == nil && v.hosts == nil:
		v.hosts = map[string]*Tried{}
		fallthrough
	case t == nil:
		t = &Tried{}
		v.hosts[host] = t
	}
	before := t.enough()
	t.URL, t.Err = u, err
	t.Attempts = max(t.Attempts+1, times)
	if !before && t.enough() {
		v.spent++
	}
	return v.spent
}

// enough reports whether further attempts are unlikely to succeed soon.
func (t *Tried) enough() bool { return t.Attempts >= enoughAttempts || lasting(t.Err) }

// lasting reports whether an error has a permanent cause, such as an invalid certificate.
func lasting(err error) bool {
	switch fetcher.ReasonOf(err) {
	case fetcher.ReasonTLSAuthority, fetcher.ReasonTLSExpired, fetcher.ReasonTLSHostname, fetcher.ReasonTLSCertificate,
		fetcher.ReasonProxyUnusable:
		return true
	}
	return false
}

// of returns the attempts at the hosts for which keep returns true, and how many of these hosts have had enough attempts.
func (v *unanswered) of(keep func(host string) bool) (all []Tried, enough int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for host, t := range v.hosts {
		if keep(host) {
			all = append(all, *t)
			if t.enough() {
				enough++
			}
		}
	}
	slices.SortFunc(all, func(a, b Tried) int { return cmp.Compare(a.URL.String(), b.URL.String()) })
	return all, enough
}

// tried records a request that got no response, for u, which c's page needed. It ends the crawl if every host with queued URLs has had
// enough attempts. The gate has already recorded the request.
func (v *unanswered) tried(c frontier.Claim, u weburl.URL, err error) {
	if v.had.Load() || v.off {
		return
	}
	spent := v.note(c.URL.Host(), u, err, v.gate.Origin(c.URL).Failures)
	everyHost := fetcher.ReasonOf(err) == fetcher.ReasonProxyUnusable // behind a proxy that cannot be used, no host can be reached
	if pending := v.queue.Stats().Hosts; everyHost || spent >= pending {
		all, enough := v.of(func(host string) bool { return v.queue.HostPending(host) > 0 })
		if everyHost || enough >= pending {
			v.giveUp(&UnreachableError{all})
		}
	}
}
