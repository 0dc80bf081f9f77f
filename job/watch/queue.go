package watch

import (
	"context"
	"errors"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// queue is the frontier of the job. Pages return to it when they are due. It is never drained.
type queue struct {
	frontier.Durable
	w    *Watch
	turn chan struct{} // lets one worker at a time claim, while the others wait here
}

var _ frontier.Durable = (*queue)(nil)

// Claim implements frontier.Frontier. It queues the pages that are due, and waits for the next one if nothing is queued.
func (q *queue) Claim(ctx context.Context) (frontier.Claim, error) {
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
		return frontier.Claim{}, ctx.Err()
	}
	if err := q.w.load(); err != nil {
		return frontier.Claim{}, err
	}
	for {
		until, changed, err := q.w.feed(ctx)
		if err != nil {
			return frontier.Claim{}, err
		}
		if until.IsZero() { // the watch is over
			q.w.Crawler().Drain()
			<-ctx.Done()
			return frontier.Claim{}, ctx.Err()
		}
		some, cancel := context.WithDeadline(ctx, until)
		c, err := q.Durable.Claim(some)
		if errors.Is(err, frontier.ErrDrained) {
			select {
			case <-changed:
			case <-some.Done():
			}
		}
		ended := some.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil && err != nil:
			return frontier.Claim{}, ctx.Err()
		case err == nil:
			wait := q.w.postpone(c, time.Now())
			if wait.IsZero() {
				return c, nil
			}
			if err := q.Settle(context.WithoutCancel(ctx), c, frontier.Settlement{Again: &frontier.Again{NotBefore: wait}}); err != nil {
				return frontier.Claim{}, err
			}
		case !ended && !errors.Is(err, frontier.ErrDrained):
			return frontier.Claim{}, err
		}
	}
}

// Settle implements frontier.Frontier.
func (q *queue) Settle(ctx context.Context, c frontier.Claim, s frontier.Settlement) error {
	defer q.queued()
	return q.Durable.Settle(ctx, c, s)
}

// Commit implements frontier.Durable.
func (q *queue) Commit(ctx context.Context, ends []frontier.End, c frontier.Checkpoint) error {
	defer q.queued()
	return q.Durable.Commit(ctx, ends, c)
}

// Add implements frontier.Frontier.
func (q *queue) Add(ctx context.Context, rs ...frontier.Request) (int, error) {
	defer q.queued()
	return q.Durable.Add(ctx, rs...)
}

func (q *queue) queued() {
	q.w.mu.Lock()
	defer q.w.mu.Unlock()
	q.w.wake()
}

// feed queues the pages and sitemaps that are due, and returns the time by which to call again, zero if the watch is over.
func (w *Watch) feed(ctx context.Context) (until time.Time, changed <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if !now.Before(w.end) {
		return time.Time{}, nil, nil
	}
	if err := w.forgive(now); err != nil {
		return time.Time{}, nil, err
	}
	until = earlier(w.end, now.Add(time.Hour))
	var due []frontier.Request
	for _, h := range w.order {
		if h.next.After(now) {
			until = earlier(until, h.next)
			continue
		}
		for {
			i, wait := h.sched.Next(now)
			if i < 0 {
				h.next = wait
				break
			}
			r := h.pages[i]
			due = append(due, frontier.Request{URL: r.url, Depth: r.depth, Priority: 1})
		}
		until = earlier(until, h.next)
	}
	due, until = w.dueMaps(due, now, until)
	if len(due) > 0 {
		if _, err := w.store.Revive(context.WithoutCancel(ctx), due...); err != nil {
			return until, nil, err
		}
		w.wake()
	}
	return until, w.changed, nil
}

// dueMaps adds the sitemaps that are due.
func (w *Watch) dueMaps(due []frontier.Request, now, until time.Time) ([]frontier.Request, time.Time) {
	for _, m := range w.maps {
		if m.out || m.moved {
			continue
		}
		at := m.last.Add(w.hostOf(m.url).mapsEvery(len(w.maps)))
		if at.After(now) {
			until = earlier(until, at)
			continue
		}
		m.out = true
		due = append(due, frontier.Request{URL: m.url, Kind: frontier.KindSitemap, Priority: 1})
	}
	return due, until
}

// maxGranted limits the URLs of unknown pages whose turn is remembered. Others may have to wait a second time.
const maxGranted = 100_000

// postpone returns when to claim again if it is not the claim's turn, and zero if it is. Known pages never wait; unknown ones get turns
// according to their part of the budget.
func (w *Watch) postpone(c frontier.Claim, now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := w.profile.Key(c.URL)
	if w.pages[key] != nil || w.maps[key] != nil {
		return time.Time{}
	}
	if c.Kind != frontier.KindSitemap && w.full(c.URL) {
		return now.Add(max(w.cfg.For, day)) // try again then: pages that are gone may have made room
	}
	if w.granted[key] {
		return time.Time{}
	}
	h := w.hostOf(c.URL)
	turn := h.turn
	if turn.Before(now) {
		turn = now
	}
	h.turn = turn.Add(h.step)
	if len(w.granted) < maxGranted {
		w.granted[key] = true
	}
	if turn.Equal(now) {
		return time.Time{}
	}
	return turn
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
