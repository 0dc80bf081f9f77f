package cluster

import (
	"errors"
	"sync"
	"time"
)

// ErrLease says that the lease has ended: nothing may be sent for the shard any more.
var ErrLease = errors.New("cluster: the lease of the shard has ended")

// lease is until when a node may make requests for a shard. It is renewed by each record that is acknowledged, from the
// time before that record was sent first: when it was stored is not known.
//
// It ends by the monotonic clock or by the wall clock, whichever is first: the one may stand still while a machine sleeps,
// the other may be set back.
type lease struct {
	life time.Duration

	mu   sync.Mutex
	from time.Time
	over bool // given up
}

// newLease makes a lease that has not begun. Another node may take the shard over ttl after the last record: a tenth of that
// is kept for clocks that run at different speeds, and for what is on its way to a socket.
func newLease(ttl time.Duration) *lease { return &lease{life: ttl - ttl/10, over: true} }

// renew prolongs the lease: a record that was sent first at that time is stored.
func (l *lease) renew(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from.IsZero() {
		l.over = false
	}
	if sent.After(l.from) {
		l.from = sent
	}
}

// giveUp ends the lease for good.
func (l *lease) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

// left returns how long the lease lasts from now on, 0 or less when it has ended.
func (l *lease) left(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return 0
	}
	return l.life - max(now.Sub(l.from), now.Round(0).Sub(l.from.Round(0)))
}

// check is for politeness.Config.Fence: nil while the lease lasts.
func (l *lease) check() error {
	if l.left(time.Now()) <= 0 {
		return ErrLease
	}
	return nil
}
