package watch

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

const day = 24 * time.Hour

// budget holds every request until its host has had fewer than most of them in the last 24 hours: pages, robots.txt,
// redirects and further attempts alike. A request counts from its beginning until 24 hours after its end, so that no
// server sees more, however long requests take. It is safe for concurrent use.
type budget struct {
	most int

	mu    sync.Mutex
	hosts map[string]*spent
}

// spent counts a host's requests in the current window.
type spent struct {
	ends     []time.Time // of requests of the last day, oldest first
	open     int         // that may be made, or are under way
	admitted int         // of those, that are
}

func newBudget(most int) *budget { return &budget{most: most, hosts: map[string]*spent{}} }

// clock is crawler.Config.Clocks.
func (b *budget) clock(ctx context.Context, u weburl.URL, _ netip.Addr) (*fetcher.Clock, error) {
	host := u.Host()
	b.mu.Lock()
	defer b.mu.Unlock()
	s, now := b.of(host), time.Now()
	s.forget(now)
	if len(s.ends)+s.open >= b.most {
		until := now.Add(time.Second) // one that is under way may turn out not to be made
		if len(s.ends) > 0 && s.open < b.most {
			until = s.ends[len(s.ends)+s.open-b.most].Add(day)
		}
		return nil, &politeness.NotYet{Until: until, Clauses: []ledger.Clause{{Name: "budget", Until: until}}}
	}
	s.open++
	return &fetcher.Clock{Context: ctx, Done: func(time.Duration) { b.done(host) }}, nil
}

func (b *budget) of(host string) *spent {
	s := b.hosts[host]
	if s == nil {
		s = &spent{}
		b.hosts[host] = s
	}
	return s
}

// admit notes that a request is made. It is called between clock and done.
func (b *budget) admit(_ weburl.URL, p politeness.Permit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(p.URL().Host()).admitted++
}

// done ends what clock began.
func (b *budget) done(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.of(host)
	s.open--
	if s.admitted > 0 { // if two are open, it does not matter which of them was made
		s.admitted--
		b.ended(host, time.Now())
	}
}

func (s *spent) forget(now time.Time) {
	n := 0
	for n < len(s.ends) && now.Sub(s.ends[n]) >= day {
		n++
	}
	s.ends = s.ends[n:]
}

// used returns how many requests a host has had in the last day.
func (b *budget) used(host string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.of(host)
	s.forget(time.Now())
	return len(s.ends) + s.admitted
}

// recall counts the requests in the ledger of a job. One without an end, of a process that was killed, was over when the next
// process began, or is now.
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

// ended notes that a request to a host was over at a time.
func (b *budget) ended(host string, at time.Time) {
	s := b.of(host)
	s.ends = append(s.ends, at)
}

func latest(all ...time.Time) time.Time { return slices.MaxFunc(all, time.Time.Compare) }
