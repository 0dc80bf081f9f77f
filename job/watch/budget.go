package watch

import (
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
)

const day = 24 * time.Hour

// budget delays every request until its host has had fewer than most requests in the last 24 hours: pages, robots.txt, redirects and
// further attempts all count. A request counts from its start until 24 hours after its end, so that a server never sees more, however
// long requests take. It wraps the Sharing of the crawl. It is safe for concurrent use.
type budget struct {
	politeness.Sharing
	most int

	mu    sync.Mutex
	hosts map[string]*spent
	turns map[*politeness.Turn]bool
}

// spent counts a host's requests in the current window.
type spent struct {
	ends []time.Time // ends of the requests of the last day, oldest first
	open int         // admitted requests that have not ended
}

func newBudget(most int) *budget {
	return &budget{most: most, hosts: map[string]*spent{}, turns: map[*politeness.Turn]bool{}}
}

// Take implements politeness.Sharing.
func (b *budget) Take(t *politeness.Turn) error {
	if t.Total || !t.Quiet.IsZero() { // the turn is not for a request
		return b.Sharing.Take(t)
	}
	if err := b.begin(t); err != nil {
		return err
	}
	err := b.Sharing.Take(t)
	if err != nil {
		b.end(t, time.Time{})
	}
	return err
}

// Unwrap returns the wrapped Sharing.
func (b *budget) Unwrap() politeness.Sharing { return b.Sharing }

// Done implements politeness.Sharing.
func (b *budget) Done(t *politeness.Turn, owed politeness.Owed) {
	b.end(t, owed.Ended)
	b.Sharing.Done(t, owed)
}

// begin counts an admitted request. The error is a *politeness.NotYet.
func (b *budget) begin(t *politeness.Turn) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, now := b.of(t.URL.Host()), time.Now()
	s.forget(now)
	if len(s.ends)+s.open >= b.most {
		until := now.Add(time.Second) // look again soon: a turn in progress may end without a request
		if len(s.ends) > 0 && s.open < b.most {
			until = s.ends[len(s.ends)+s.open-b.most].Add(day)
		}
		return &politeness.NotYet{Until: until, Clauses: []ledger.Clause{{Name: "budget", Until: until}}}
	}
	s.open++
	b.turns[t] = true
	return nil
}

// end ends a turn that begin has counted. at is the end of its request, zero if none was made.
func (b *budget) end(t *politeness.Turn, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.turns[t] {
		return
	}
	delete(b.turns, t)
	host := t.URL.Host()
	b.of(host).open--
	if !at.IsZero() {
		b.ended(host, at)
	}
}

func (b *budget) of(host string) *spent {
	s := b.hosts[host]
	if s == nil {
		s = &spent{}
		b.hosts[host] = s
	}
	return s
}

func (s *spent) forget(now time.Time) {
	n := 0
	for n < len(s.ends) && now.Sub(s.ends[n]) >= day {
		n++
	}
	s.ends = s.ends[n:]
}

// used returns the number of requests to a host in the last day.
func (b *budget) used(host string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.of(host)
	s.forget(time.Now())
	return len(s.ends) + s.open
}

// recall counts the requests in the ledger of a job. A request without an end, of a killed process, counts as ended when the next
// process began, or now.
func (b *budget) recall(r *job.Reader, now time.Time) error {
	run, open := "", map[uint64]string{}
	end := func(at time.Time) {
		for _, host := range open {
			b.ended(host, at)
		}
		clear(open)
	}
	for e, err := range r.Ledger() {
		if err != nil {
			return err
		}
		at := latest(e.Written, e.Ended, e.Reported)
		if e.Run != run && !at.IsZero() {
			end(at)
			run = e.Run
		}
		switch {
		case e.Event == ledger.Start && now.Sub(e.Written) < 2*day:
			open[e.ID] = e.Host
		case e.Event == ledger.End && e.Run == run:
			if host, ok := open[e.ID]; ok {
				b.ended(host, at)
			}
			delete(open, e.ID)
		}
	}
	end(now)
	for _, s := range b.hosts {
		slices.SortFunc(s.ends, time.Time.Compare)
	}
	return nil
}

// ended records the time at which a request to a host ended.
func (b *budget) ended(host string, at time.Time) {
	s := b.of(host)
	s.ends = append(s.ends, at)
}

func latest(all ...time.Time) time.Time { return slices.MaxFunc(all, time.Time.Compare) }
