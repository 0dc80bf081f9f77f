package plan

import (
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Outlook estimates how long a crawl that runs will take at least, from what is left of each host and the delay in force
// there, by the arithmetic of a plan. Trace is called before the crawler is made, Watch before it runs; the other methods
// may be called at any time.
type Outlook struct {
	rate  float64 // requests per second in all; 0: no limit
	queue Queue
	gate  *politeness.Gate

	mu       sync.Mutex
	hosts    map[string]hostMet // of those that something may be queued of
	answers  int
	answered time.Duration // of all answers together
}

// Queue knows how many URLs of a host are left.
type Queue interface {
	HostPending(host string) int
}

// hostMet is what is known of a host besides what the gate knows.
type hostMet struct {
	addr  string
	cause string // of its last failure; "" once it has answered
}

// mostLooked is the number of hosts of which what is left is counted.
const mostLooked = 5000

// NewOutlook returns the Outlook of a crawl with this rate of requests per second in all; 0 is no limit.
func NewOutlook(rate float64) *Outlook {
	return &Outlook{rate: max(0, rate), hosts: map[string]hostMet{}}
}

// Watch tells an Outlook the queue and the gate of its crawl.
func (o *Outlook) Watch(q Queue, g *politeness.Gate) { o.queue, o.gate = q, g }

// Trace adds what an Outlook has to hear of to t.
func (o *Outlook) Trace(t *crawler.Trace) {
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
func (o *Outlook) meet(host, addr string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	old, ok := o.hosts[host]
	if (!ok || addr != "" && old != hostMet{addr: addr}) && len(o.hosts) <= mostLooked {
		o.hosts[host] = hostMet{addr: addr}
	}
}

// failed notes why a host is to be requested again.
func (o *Outlook) failed(host, cause string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if h, ok := o.hosts[host]; ok {
		h.cause = cause
		o.hosts[host] = h
	}
}

func (o *Outlook) answer(took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answers++
	o.answered += took
}

// View is how things stand.
type View struct {
	// Least is the least time that all that is left takes; negative before the first answer.
	Least time.Duration
	First Left // the host that is due first
}

// Left is what is left of a host.
type Left struct {
	Host  string
	Addr  string
	URLs  int
	Delay time.Duration
	Due   time.Time // of its next request
	Waits string    // the clause that sets Due
	Cause string    // of the host's last failure; "" once it has answered
}

// Look is how things stand now. ok is false when what is left cannot be told of all hosts.
func (o *Outlook) Look() (v View, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.queue == nil || len(o.hosts) > mostLooked {
		return v, false
	}
	var left []Left
	for host, met := range o.hosts {
		n := o.queue.HostPending(host)
		if n == 0 {
			delete(o.hosts, host)
			continue
		}
		h := o.gate.Host(host)
		left = append(left, Left{host, met.addr, n, h.Delay, h.NotBefore, h.Waits, met.cause})
	}
	if o.answers == 0 {
		_, v.First = leastLeft(left, 0, o.rate)
		v.Least = -1
		return v, true
	}
	v.Least, v.First = leastLeft(left, o.answered/time.Duration(o.answers), o.rate)
	return v, true
}

// leastLeft is the least time that all of it takes, and the host that is due first.
func leastLeft(left []Left, service time.Duration, rate float64) (least time.Duration, first Left) {
	loads := make([]Load, len(left))
	for i, h := range left {
		loads[i] = Load{Host: h.Host, Addr: h.Addr, Requests: h.URLs, Delay: h.Delay, Wait: h.Delay}
		if i == 0 || h.Due.Before(first.Due) {
			first = h
		}
	}
	least, _ = Least(loads, service, rate)
	return least, first
}
