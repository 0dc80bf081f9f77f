package plan

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Outlook estimates the minimum time that a running crawl still takes, from the remaining URLs and the current delay of each host, with
// the arithmetic of a plan. Trace must be called before the crawler is made, and Watch before it runs. The other methods may be called at
// any time.
type Outlook struct {
	rate  float64 // requests per second in total; 0: no limit
	queue Queue
	gate  *politeness.Gate

	mu       sync.Mutex
	hosts    map[string]hostMet // hosts that may have queued URLs
	answers  int
	answered time.Duration // total duration of all requests
}

// Queue returns the number of remaining URLs of a host.
type Queue interface {
	HostPending(host string) int
}

// hostMet holds the data about a host that the gate does not have.
type hostMet struct {
	addr  string
	cause string // cause of the host's last failure; "" once the host has responded
}

// maxLooked is the maximum number of hosts whose remaining URLs are counted.
const maxLooked = 5000

// NewOutlook returns the Outlook of a crawl that may make rate requests per second in total; 0 means no limit.
func NewOutlook(rate float64) *Outlook {
	return &Outlook{rate: max(0, rate), hosts: map[string]hostMet{}}
}

// Watch sets the queue and the gate of the crawl.
func (o *Outlook) Watch(q Queue, g *politeness.Gate) { o.queue, o.gate = q, g }

// Trace adds the callbacks for an Outlook to t.
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

// meet records a host, and its address once it has responded.
func (o *Outlook) meet(host, addr string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	old, ok := o.hosts[host]
	if (!ok || addr != "" && old != hostMet{addr: addr}) && len(o.hosts) <= maxLooked {
		o.hosts[host] = hostMet{addr: addr}
	}
}

// failed records why a host must be requested again.
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

// View is the state of a crawl that Look reports.
type View struct {
	// Least is the minimum time for everything that remains to be requested. It is negative before the first response.
	Least time.Duration
	First Left // the host that may be requested first
}

// Left describes the remaining URLs of a host.
type Left struct {
	Host  string
	Addr  string
	URLs  int
	Delay time.Duration
	Due   time.Time // time of the host's next request
	Waits string    // the clause that sets Due
	Cause string    // cause of the host's last failure; "" once the host has responded
}

// Look returns the present state. ok is false if the remaining URLs cannot be determined for all hosts.
func (o *Outlook) Look() (v View, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	left, ok := o.left()
	if !ok {
		return v, false
	}
	if o.answers == 0 {
		_, v.First = minTimeLeft(left, 0, o.rate)
		v.Least = -1
		return v, true
	}
	v.Least, v.First = minTimeLeft(left, o.answered/time.Duration(o.answers), o.rate)
	return v, true
}

// left returns the hosts with remaining URLs. The caller holds the lock.
func (o *Outlook) left() (left []Left, ok bool) {
	if o.queue == nil || len(o.hosts) > maxLooked {
		return nil, false
	}
	for host, met := range o.hosts {
		n := o.queue.HostPending(host)
		if n == 0 {
			delete(o.hosts, host)
			continue
		}
		h := o.gate.Host(host)
		left = append(left, Left{host, met.addr, n, h.Delay, h.NotBefore, h.Waits, met.cause})
	}
	return left, true
}

// Site describes the remaining URLs of a host, and the minimum time for them.
type Site struct {
	Left
	Least time.Duration
}

// Sites returns the hosts with remaining URLs, the longest minimum time first. ok is false if the times cannot be estimated for all of
// them.
func (o *Outlook) Sites(now time.Time) (sites []Site, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	left, ok := o.left()
	if !ok {
		return nil, false
	}
	service := o.answered / time.Duration(max(1, o.answers))
	for _, h := range left {
		l := Load{Requests: h.URLs, Delay: h.Delay, Wait: max(0, h.Due.Sub(now))}
		sites = append(sites, Site{h, l.least(service)})
	}
	slices.SortFunc(sites, func(a, b Site) int { return cmp.Or(cmp.Compare(b.Least, a.Least), cmp.Compare(a.Host, b.Host)) })
	return sites, true
}

// minTimeLeft returns the minimum time for all remaining URLs, and the host that may be requested first.
func minTimeLeft(left []Left, service time.Duration, rate float64) (least time.Duration, first Left) {
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
