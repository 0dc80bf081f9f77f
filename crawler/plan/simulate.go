package plan

import (
	"container/heap"
	"fmt"
	"time"
)

// maxSimulated limits the pages of a simulated crawl. The simulation of this number of pages takes seconds.
const maxSimulated = 1_000_000

// Simulate simulates the crawl in virtual time, if it has at most a million pages. A response takes the time p.Service; concurrency
// is the total number of requests in flight.
func (p *Plan) Simulate(concurrency int) {
	pages := 0
	for _, h := range p.Hosts {
		pages += max(1, h.Pages)
	}
	if pages > maxSimulated {
		p.Notes = append(p.Notes, fmt.Sprintf("not played through: %d pages are more than the %d that are", pages, maxSimulated))
		return
	}
	p.Simulated, p.SimulatedRequests = newSimulation(p, concurrency).run()
}

// simulation simulates a crawl request by request, by the rules of the crawler: one request at a time to a host and to an address,
// robots.txt first, a delay after each request, and limits on the requests in flight and per second. Times count from the beginning of
// the crawl.
type simulation struct {
	service time.Duration
	gap     time.Duration // minimum time between the starts of requests, from the total rate
	next    time.Duration // the time from which the rate allows another request
	ready   readyHosts
	workers freeWorkers
}

// simHost is a host with remaining requests.
type simHost struct {
	at    time.Duration // time from which the host may be requested again
	left  int
	delay time.Duration
	addr  *time.Duration // time from which the host's address may be requested again
}

func newSimulation(p *Plan, concurrency int) *simulation {
	s := &simulation{service: p.Service, workers: make(freeWorkers, max(1, concurrency))}
	if p.Rate > 0 {
		s.gap = time.Duration(float64(time.Second) / p.Rate)
	}
	addrs := map[string]*time.Duration{}
	for i := range p.Hosts {
		h := &p.Hosts[i]
		addr := addrs[h.Addr]
		if addr == nil || h.Addr == "" {
			addr = new(time.Duration)
			addrs[h.Addr] = addr
		}
		s.ready = append(s.ready, &simHost{left: max(1, h.Pages) + 1, delay: h.Delay, addr: addr})
	}
	return s
}

// run simulates the crawl and returns the time of its end.
func (s *simulation) run() (took time.Duration, requests int) {
	for len(s.ready) > 0 {
		h := s.ready[0]
		if *h.addr > h.at { // another host at this address has been requested in the meantime
			h.at = *h.addr
			heap.Fix(&s.ready, 0)
			continue
		}
		took = max(took, s.request(h))
		requests++
		if h.left--; h.left == 0 {
			heap.Pop(&s.ready)
		} else {
			heap.Fix(&s.ready, 0)
		}
	}
	return took, requests
}

// request makes the next request to a host and returns the time of its end.
func (s *simulation) request(h *simHost) (end time.Duration) {
	start := max(h.at, s.workers[0], s.next)
	end = start + s.service
	s.next = start + s.gap
	s.workers[0] = end
	heap.Fix(&s.workers, 0)
	h.at = end + h.delay
	*h.addr = h.at
	return end
}

// readyHosts is a heap of hosts, ordered by the times from which they may be requested again.
type readyHosts []*simHost

func (r readyHosts) Len() int           { return len(r) }
func (r readyHosts) Less(i, j int) bool { return r[i].at < r[j].at }
func (r readyHosts) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *readyHosts) Push(x any)        { *r = append(*r, x.(*simHost)) }
func (r *readyHosts) Pop() any {
	last := len(*r) - 1
	h := (*r)[last]
	*r = (*r)[:last]
	return h
}

// freeWorkers is a heap of the times at which the workers are free. Their number does not change.
type freeWorkers []time.Duration

func (f freeWorkers) Len() int           { return len(f) }
func (f freeWorkers) Less(i, j int) bool { return f[i] < f[j] }
func (f freeWorkers) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f freeWorkers) Push(any)           {}
func (f freeWorkers) Pop() any           { return nil }

// Load describes the requests that a crawl makes to a host.
type Load struct {
	Host     string
	Addr     string // address of the host; "" if unknown
	Requests int
	Delay    time.Duration // time from the end of a request to the start of the next
	Wait     time.Duration // time before the first request
}

// least returns the minimum time of the requests, which are made one after the other.
func (l *Load) least(service time.Duration) time.Duration {
	if l.Requests == 0 {
		return 0
	}
	return l.Wait + time.Duration(l.Requests)*service + time.Duration(l.Requests-1)*l.Delay
}

// Least returns the minimum time for all requests, and what determines it: a host or an address, whose requests are made one after the
// other with delays between them, or the total rate of requests per second. A rate of 0 means no limit. A response takes the time
// service.
func Least(loads []Load, service time.Duration, rate float64) (least time.Duration, by string) {
	decide := func(d time.Duration, what string) {
		if d > least {
			least, by = d, what
		}
	}
	type address struct{ took, delay, wait time.Duration }
	addrs := map[string]address{}
	requests := 0
	for i := range loads {
		l := &loads[i]
		requests += l.Requests
		decide(l.least(service), "host "+l.Host)
		if a := addrs[l.Addr]; l.Addr != "" {
			addrs[l.Addr] = address{a.took + time.Duration(l.Requests)*(service+l.Delay), max(a.delay, l.Delay), max(a.wait, l.Wait)}
		}
	}
	for addr, a := range addrs {
		decide(a.took-a.delay+a.wait, "address "+addr)
	}
	if rate > 0 {
		decide(time.Duration(float64(requests)/rate*float64(time.Second)), fmt.Sprintf("rate %g", rate))
	}
	return least, by
}
