package identity

import (
	"sync"
	"time"
)

// Nonces remembers which signatures were used, until they have expired. Its size is bounded: when it is
// full of signatures that are still valid, further ones are refused, not let through unseen. It is safe for
// concurrent use.
type Nonces struct {
	mu    sync.Mutex
	max   int
	used  map[nonceKey]time.Time // when it expires
	first time.Time              // no signature that is kept expires earlier
}

type nonceKey struct{ keyID, nonce string }

// NewNonces makes a memory of at most limit signatures, and at least one.
func NewNonces(limit int) *Nonces {
	return &Nonces{max: max(limit, 1), used: map[nonceKey]time.Time{}}
}

// use notes a signature, and reports false if it was used before or cannot be noted. Those that expired
// before that time are forgotten when there is no more room.
func (n *Nonces) use(g *Verified, expired time.Time) bool {
	if g.Nonce == "" || len(g.Nonce) > maxNonce {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	k := nonceKey{g.KeyID, g.Nonce}
	if _, ok := n.used[k]; ok {
		return false
	}
	if len(n.used) >= n.max && !n.first.After(expired) {
		n.forget(expired)
	}
	if len(n.used) >= n.max {
		return false
	}
	if len(n.used) == 0 || g.Expires.Before(n.first) {
		n.first = g.Expires
	}
	n.used[k] = g.Expires
	return true
}

// forget drops what expired before that time. It goes through all, and so is called only when that gains
// something.
func (n *Nonces) forget(expired time.Time) {
	first := time.Time{}
	for k, e := range n.used {
		if !e.After(expired) {
			delete(n.used, k)
		} else if first.IsZero() || e.Before(first) {
			first = e
		}
	}
	n.first = first
}
