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
	due     int64 // Unix nanoseconds until when it waited, which is still so on disk; 0: it did not
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
	l, r, err := s.lanes.first(h)
	switch {
	case err == nil:
		return s.lanes.grant(l, r), nil
	case l != nil: // readable but for the URL
		return frontier.Claim{}, s.retire(l, err)
	}
	return frontier.Claim{}, s.engine.failure.fail(err)
}

// retire makes a URL done that can no longer be read, and returns why.
func (s *Store) retire(l *lease, why error) error {
	if err := s.engine.failure.err(); err != nil {
		return err
	}
	end := &ending{lease: l, fate: sched.Gone, ready: sched.Always, attempt: l.attempt}
	return errors.Join(fmt.Errorf("disk: a queued URL is lost: %w", why), s.writer.write(&op{steps: []step{{end: end}}}))
}

// first takes the first URL of h. With an error there is a lease if its Request alone cannot be read.
func (l *lanes) first(h *host) (*lease, frontier.Request, error) {
	e, err := l.firstEntry(h)
	if err == nil && e.value == nil {
		e.value, err = l.disk.get(appendQueue(nil, h.Name, e.place))
	}
	var url uint64
	if err == nil {
		url, err = urlHash(e.value)
	}
	if err != nil {
		return nil, frontier.Request{}, err
	}
	taken := &lease{entry: e, host: h, key: urlKey{h.Name, url}}
	st, err := l.disk.seen(taken.key)
	if err != nil {
		return nil, frontier.Request{}, err
	}
	if st.state != Queued && st.state != Waiting {
		return nil, frontier.Request{}, fmt.Errorf("%w: a queued URL is in state %d", errCorrupt, st.state)
	}
	taken.depth, taken.attempt, taken.due = st.depth, st.attempt, st.due
	r, err := readRequest(h.Queue.name, e.value)
	r.Depth, r.Priority = taken.depth, e.priority()
	return taken, r, err
}
