package cluster

import (
	"errors"
	"sync"
	"time"
)

// ErrLease means that the lease has ended: nothing may be sent for the shard any more.
var ErrLease = errors.New("cluster: the lease of the shard has ended")

// lease controls until when a node may make requests for a shard. Each acknowledged record renews the lease. The time counts from the first
// sending of the record, because the time of its storage is unknown.
//
// A lease ends by the monotonic clock or the wall clock, whichever comes first: the first may stop in a machine's sleep, the second be set
// back.
type lease struct {
	life time.Duration

	mu   sync.Mutex
	from time.Time
	over bool // the lease was given up, or has not begun
}

// newLease returns a lease that has not begun. ttl is the time after the last record from which another node may take the shard. A tenth of
// it is reserved for clocks that run at different speeds, and for data on its way to a socket.
func newLease(ttl time.Duration) *lease { return &lease{life: ttl - ttl/10, over: true} }

// renew extends the lease, because a record that was first sent at the time sent has been stored.
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

// left returns the remaining time of the lease, 0 or less when it has ended.
func (l *lease) left(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return 0
	}
	return l.life - max(now.Sub(l.from), now.Round(0).Sub(l.from.Round(0)))
}

// check implements politeness.Config.Fence: it returns nil while the lease lasts.
func (l *lease) check() error {
	if l.left(time.Now()) <= 0 {
		return ErrLease
	}
	return nil
}
