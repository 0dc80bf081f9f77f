package plan

import (
	"fmt"
	"time"
)

// Load describes the requests to be made to a host.
type Load struct {
	Host     string
	Addr     string // of the host; "" if it is unknown
	Requests int
	Delay    time.Duration // from the end of a request to the start of the next
	Wait     time.Duration // before the first
}

// least returns the least time that the requests take in sequence.
func (l *Load) least(service time.Duration) time.Duration {
	if l.Requests == 0 {
		return 0
	}
	return l.Wait + time.Duration(l.Requests)*service + time.Duration(l.Requests-1)*l.Delay
}

// Least returns the least time that all requests take, and what decides it: a host or an address, whose requests are
// made in sequence with their pauses, or the total rate of requests per second; a rate of 0 is no limit. An answer
// takes the time service.
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
