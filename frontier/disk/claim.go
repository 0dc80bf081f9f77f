package disk

import (
	"context"
	"errors"
	"fmt"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/sched"
)

// lease is a claimed URL.
type lease struct {
	entry
	host    *host
	key     urlKey
	depth   int
	attempt int
	due     int64 // Unix nanoseconds; the record on disk still waits until then. 0: it does not wait
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
	var l *lease
	var r frontier.Request
	e, err := s.lanes.firstEntry(h)
	if err == nil {
		l, r, err = s.engine.lease(h, e)
	}
	switch {
	case err == nil:
		return s.lanes.grant(l, r), nil
	case l != nil: // only the URL cannot be read
		return frontier.Claim{}, s.retire(l, err)
	}
	return frontier.Claim{}, s.engine.failure.fail(err)
}

// retire makes a URL that can no longer be read done, and returns why.
func (s *Store) retire(l *lease, why error) error {
	if err := s.engine.failure.err(); err != nil {
		return err
	}
	end := &ending{lease: l, fate: sched.Gone, ready: sched.Always, attempt: l.attempt}
	return errors.Join(fmt.Errorf("disk: a queued URL is lost: %w", why), s.writer.write(&op{steps: []step{{end: end}}}))
}

// lease reads the record of an entry that was taken from the head of h. With an error it returns a lease only if
// nothing but the Request is unreadable.
func (e *engine) lease(h *host, taken entry) (l *lease, r frontier.Request, err error) {
	if taken.value == nil {
		taken.value, err = e.get(appendQueue(nil, h.Name, taken.place))
	}
	var url uint64
	if err == nil {
		url, err = urlHash(taken.value)
	}
	if err != nil {
		return nil, r, err
	}
	l = &lease{entry: taken, host: h, key: urlKey{h.Name, url}}
	st, err := e.seen(l.key)
	if err != nil {
		return nil, r, err
	}
	if st.state != Queued && st.state != Waiting {
		return nil, r, fmt.Errorf("%w: a queued URL is in state %d", errCorrupt, st.state)
	}
	l.depth, l.attempt, l.due = st.depth, st.attempt, st.due
	r, err = readRequest(h.Queue.name, taken.value)
	r.Depth, r.Priority = l.depth, l.priority()
	return l, r, err
}
