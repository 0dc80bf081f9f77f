package main

import (
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/plan"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// outlook tells how long a crawl will go on at least: by the arithmetic of a plan, from what is queued
// of each host and the delay in force there.
type outlook struct {
	queue interface{ HostPending(host string) int } // set before the crawl runs, like gate
	gate  *politeness.Gate                          // set before the crawl runs
	rate  float64                                   // requests per second in all; 0: no limit

	mu       sync.Mutex
	hosts    map[string]hostMet // of those that something may be queued of
	answers  int
	answered time.Duration // of all answers together
}

// hostMet is what is known of a host besides what the gate knows.
type hostMet struct {
	addr  string
	cause string // of its last failure; "" once it has answered
}

// mostLooked is of how many hosts what is left is counted. Beyond it the outlook is that of pages per
// second.
const mostLooked = 5000

func newOutlook(cfg *crawler.Config) *outlook {
	o := &outlook{rate: max(0, cfg.Politeness.Rate), hosts: map[string]hostMet{}}
	return o
}

// trace adds what an outlook must hear of to t.
func (o *outlook) trace(t *crawler.Trace) {
	claimed, retrying, visited := t.Claimed, t.Retrying, t.Visited
	t.Claimed = func(c frontier.Claim) {
		o.meet(c.URL.Host(), "")
		if claimed != nil {
			claimed(c)
		}
	}
	t.Retrying = func(u weburl.URL, reason string, at time.Time) {
		o.failed(u.Host(), reason)
		if retrying != nil {
			retrying(u, reason, at)
		}
	}
	t.Visited = func(v *crawler.Visit) {
		if v.Page != nil {
			o.meet(v.URL.Host(), v.Page.Addr.String())
			o.answer(v.Page.Ended.Sub(v.Page.Started))
		}
		if visited != nil {
			visited(v)
		}
	}
}

// meet notes a host, and its address when it has answered.
func (o *outlook) meet(host, addr string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	old, ok := o.hosts[host]
	if (!ok || addr != "" && old != hostMet{addr: addr}) && len(o.hosts) <= mostLooked {
		o.hosts[host] = hostMet{addr: addr}
	}
}

// failed notes why a host is to be asked again.
func (o *outlook) failed(host, cause string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if h, ok := o.hosts[host]; ok {
		h.cause = cause
		o.hosts[host] = h
	}
}

func (o *outlook) answer(took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answers++
	o.answered += took
}

// look is what is left of each host now, and how long an answer takes on average, negative before the first one. ok is
// false when what is left cannot be told of all.
func (o *outlook) look() (left []hostLeft, service time.Duration, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.queue == nil || len(o.hosts) > mostLooked {
		return nil, 0, false
	}
	for host, met := range o.hosts {
		n := o.queue.HostPending(host)
		if n == 0 {
			delete(o.hosts, host)
			continue
		}
		h := o.gate.Host(host)
		left = append(left, hostLeft{
			host: host, addr: met.addr, urls: n, delay: h.Delay, due: h.NotBefore, waits: h.Waits, cause: met.cause,
		})
	}
	if o.answers == 0 {
		return left, -1, true
	}
	return left, o.answered / time.Duration(o.answers), true
}

// hostLeft is what is left of a host.
type hostLeft struct {
	host  string
	addr  string
	urls  int
	delay time.Duration
	due   time.Time // of its next request
	waits string    // the clause that sets it
	cause string    // of the host's last failure
}

// leastLeft is the least time that all of it takes, and the host that is due first.
func leastLeft(left []hostLeft, service time.Duration, rate float64) (least time.Duration, first hostLeft) {
	loads := make([]plan.Load, len(left))
	for i, h := range left {
		loads[i] = plan.Load{Host: h.host, Addr: h.addr, Requests: h.urls, Delay: h.delay, Wait: h.delay}
		if i == 0 || h.due.Before(first.due) {
			first = h
		}
	}
	least, _ = plan.Least(loads, service, rate)
	return least, first
}
