package disk

import (
	"context"
	"errors"
	"fmt"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/sched"
)

// Add implements frontier.Frontier. The requests are on disk when it returns, however its context
// ends meanwhile.
func (s *Store) Add(ctx context.Context, rs ...frontier.Request) (int, error) {
	o := &op{steps: make([]step, 1)}
	err := s.enqueue(ctx, o, rs)
	if err != nil {
		return 0, err
	}
	return o.added, nil
}

// enqueue has o, of one step, queue rs, and waits until they are on disk.
func (s *Store) enqueue(ctx context.Context, o *op, rs []frontier.Request) error {
	if err := s.linksOf(o, 0, rs); err != nil {
		return err
	}
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	return s.writer.write(o)
}

// linksOf puts rs into a step of o, with what the writer needs to know of them; requests that are known to
// change nothing are left out.
func (s *Store) linksOf(o *op, step int, rs []frontier.Request) error {
	links := make([]link, 0, len(rs))
	for i := range rs {
		if err := rs[i].Validate(); err != nil {
			return err
		}
		links = append(links, link{Request: &rs[i], id: s.c.Key(rs[i].URL)})
	}
	if !o.revive {
		links = s.known.without(links)
	}
	var authority, scheme string
	var host uint64
	for i := range links {
		l := &links[i]
		if l.URL.Authority() != authority || l.URL.Scheme() != scheme { // most links of a page lead to one host
			authority, scheme = l.URL.Authority(), l.URL.Scheme()
			host = s.secret.hashHost(l.URL.Host())
		}
		l.key = urlKey{host, s.secret.hashURL(l.id)}
		o.bytes += len(l.URL.String()) + len(l.Via.String()) + len(l.Meta)
	}
	o.steps[step].links = links
	o.links += len(links)
	return o.checkSize()
}

// Claim implements frontier.Frontier.
func (s *Store) Claim(ctx context.Context) (frontier.Claim, error) {
	if err := s.calls.enter(ctx); err != nil {
		return frontier.Claim{}, err
	}
	defer s.calls.leave()
	h, err := s.lanes.await(ctx)
	if err != nil {
		return frontier.Claim{}, err
	}
	l, r, err := s.first(h)
	switch {
	case err == nil:
		return s.lanes.grant(l, r), nil
	case l != nil: // only the URL cannot be read
		return frontier.Claim{}, s.retire(l, err)
	}
	return frontier.Claim{}, s.engine.failure.fail(err)
}

// first takes the first URL of h, past entries in whose place others have come.
func (s *Store) first(h *host) (l *lease, r frontier.Request, err error) {
	for {
		e, err := s.lanes.firstEntry(h)
		if err != nil {
			return nil, r, err
		}
		if l, r, err = s.lease(h, e); !errors.As(err, new(*staleError)) {
			return l, r, err
		}
		s.lanes.discard(h, e.place)
	}
}

// retire makes a URL that can no longer be read done, and returns why.
func (s *Store) retire(l *lease, why error) error {
	if err := s.engine.failure.err(); err != nil {
		return err
	}
	end := &ending{lease: l, fate: sched.Gone, ready: sched.Always, attempt: l.attempt}
	return errors.Join(fmt.Errorf("disk: a queued URL is lost: %w", why), s.writer.write(&op{steps: []step{{end: end}}}))
}

// Settle implements frontier.Frontier. What it did is on disk when it returns, however its context
// ends meanwhile. The error is frontier.ErrLost also if the claim was released: then Commit ends it.
func (s *Store) Settle(ctx context.Context, c frontier.Claim, t frontier.Settlement) error {
	o := &op{steps: make([]step, 1)}
	err := s.linksOf(o, 0, t.Links)
	if err != nil {
		return err
	}
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	if o.steps[0].end, err = s.lanes.settle(c.ID, t); err != nil {
		return err
	}
	return s.writer.write(o)
}
