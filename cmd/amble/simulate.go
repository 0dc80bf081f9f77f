package main

import (
	"cmp"
	"container/heap"
	"time"
)

// simulate plays the plan through, request by request: as many at once as there may be, each host
// and each address one at a time with its pause, the earliest due first, ties to the host with most
// left. It returns the time at which the last request ends.
func (p *plan) simulate(service time.Duration, concurrency int) time.Duration {
	s := &simulation{plan: p, service: service, addrs: map[string]time.Duration{}, workers: make(times, max(1, concurrency))}
	for i := range p.Hosts {
		heap.Push(&s.queue, turn{host: i, left: p.Hosts[i].Pages + 1})
	}
	for s.queue.Len() > 0 {
		s.step()
	}
	return s.end
}

type simulation struct {
	*plan
	service time.Duration
	queue   turns
	addrs   map[string]time.Duration // free again
	workers times                    // free again
	gate    time.Duration            // of the global rate
	end     time.Duration
}

// turn is a host's next request.
type turn struct {
	at         time.Duration
	host, left int
}

func (s *simulation) step() {
	t := heap.Pop(&s.queue).(turn)
	h := &s.Hosts[t.host]
	if free := s.addrs[h.Addr]; free > t.at {
		t.at = free
		heap.Push(&s.queue, t)
		return
	}
	start := max(t.at, s.workers[0], s.gate)
	if s.Rate > 0 {
		s.gate = start + time.Duration(float64(time.Second)/s.Rate)
	}
	done := start + s.service
	s.workers[0] = done
	heap.Fix(&s.workers, 0)
	s.end = max(s.end, done)
	if h.Addr != "" {
		s.addrs[h.Addr] = done + h.Delay
	}
	if t.left--; t.left > 0 {
		t.at = done + h.Delay
		heap.Push(&s.queue, t)
	}
}

type turns []turn

func (q turns) Len() int      { return len(q) }
func (q turns) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q turns) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].at, q[j].at), cmp.Compare(q[j].left, q[i].left)) < 0
}
func (q *turns) Push(x any) { *q = append(*q, x.(turn)) }
func (q *turns) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	*q = (*q)[:last]
	return t
}

type times []time.Duration

func (q times) Len() int           { return len(q) }
func (q times) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q times) Less(i, j int) bool { return q[i] < q[j] }
func (q *times) Push(x any)        { *q = append(*q, x.(time.Duration)) }
func (q *times) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	*q = (*q)[:last]
	return t
}
