package cluster

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// Sharing is for politeness.Config.Shared of the shard's crawl: it takes the clocks of hosts, addresses and domains, which all
// crawls on the engine share, and keeps the rate of all requests of the job.
func (s *Shard) Sharing() politeness.Sharing { return turns{s.node.clocks, s} }

// turns are those of a shard's crawl.
type turns struct {
	*Clocks
	s *Shard
}

// Take implements politeness.Sharing.
func (t turns) Take(q *politeness.Turn) error {
	if err := t.s.heard(); err != nil {
		return err
	}
	if !t.s.node.enter() {
		return notYet(time.Now(), ledger.ClauseBusy)
	}
	if err := t.take(q); err != nil {
		t.s.node.exit()
		return err
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.inFlight[q] = true
	return nil
}

func (t turns) take(q *politeness.Turn) error {
	if err := t.Clocks.Take(q); err != nil || t.s.node.rate == nil {
		return err
	}
	until, err := t.s.node.rate.take(t.Clocks)
	if err != nil {
		t.Clocks.Done(q, politeness.Owed{})
		q.Waited, q.Until = ledger.Clause{}, time.Time{}
		return err
	}
	if q.Until.IsZero() || until.Before(q.Until) {
		q.Until = until
	}
	return nil
}

// Done implements politeness.Sharing. What the shard's gate begins with, the owner before has stored.
func (t turns) Done(q *politeness.Turn, owed politeness.Owed) {
	t.s.mu.Lock()
	had, crawls := t.s.inFlight[q], t.s.started
	delete(t.s.inFlight, q)
	t.s.mu.Unlock()
	if had {
		t.s.node.exit()
	}
	if had || crawls {
		t.Clocks.Done(q, owed)
	}
}

// Leave implements politeness.Sharing.
func (t turns) Leave(gate string) {
	t.s.mu.Lock()
	n := len(t.s.inFlight)
	clear(t.s.inFlight)
	t.s.mu.Unlock()
	for range n {
		t.s.node.exit()
	}
	t.Clocks.Leave(gate)
}

// enter waits until the node may have another request in flight, for a second at most.
func (n *Node) enter() bool {
	if n.flight == nil {
		return true
	}
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case n.flight <- struct{}{}:
		return true
	case <-t.C:
		return false
	}
}

func (n *Node) exit() {
	if n.flight != nil {
		<-n.flight
	}
}

// heard is a *politeness.NotYet while what was heard waits to be stored for longer than an engine takes that can be reached: an
// answer to a request that begins now, such as a Retry-After, might be known to no other owner.
func (s *Shard) heard() error {
	if s.owner.under.longest(time.Now()) < s.node.job.storeTime() {
		return nil
	}
	return notYet(time.Now().Add(retry), ledger.ClauseBusy)
}

// storeTime limits how long a commit or another append may take while requests begin.
func (j *Job) storeTime() time.Duration { return max(patience, j.TTL/10) }

// tokenTime limits the lifetime of a rate token.
const tokenTime = time.Second

// tokens holds the rate tokens of a process. It reserves several at once from the job, each for another time.
type tokens struct {
	key string
	gap time.Duration
	now chan struct{} // holds one while somebody asks the engine for more

	mu   sync.Mutex
	next time.Time // of the tokens at hand
	left int
	told time.Time // the last time that somebody was told
}

// newTokens returns nil for a job without a rate.
func newTokens(j *Job) *tokens {
	if j.Rate <= 0 {
		return nil
	}
	return &tokens{key: "r:" + hex.EncodeToString(j.Key[:8]), gap: time.Duration(float64(time.Second) / j.Rate), now: make(chan struct{}, 1)}
}

// tokensFor is the time for which tokens are taken at once.
const tokensFor = 250 * time.Millisecond

// take takes a token, and returns until when it may be used. The error is a *politeness.NotYet.
func (r *tokens) take(k *Clocks) (until time.Time, err error) {
	ctx, cancel := context.WithTimeout(k.ctx, 2*patience)
	defer cancel()
	if err := k.look(ctx); err != nil {
		return until, err
	}
	select {
	case r.now <- struct{}{}:
		defer func() { <-r.now }()
	case <-ctx.Done():
		return until, k.failed(ctx.Err())
	}
	now := time.Now()
	r.mu.Lock()
	for r.left > 0 && now.Sub(r.next) >= tokenTime {
		r.next, r.left = r.next.Add(r.gap), r.left-1
	}
	have := r.left > 0
	r.mu.Unlock()
	if !have {
		if err := r.fetch(ctx, k); err != nil {
			return until, k.failed(err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now = time.Now(); r.next.After(now) { // waiting requests get successive times
		at := r.next
		if next := r.told.Add(r.gap); r.told.After(now) && next.After(at) {
			at = next
		}
		r.told = at
		return until, notYet(at, ledger.ClauseRate)
	}
	until = r.next.Add(tokenTime)
	r.next, r.left = r.next.Add(r.gap), r.left-1
	return until, nil
}

// fetch takes tokens from the engine.
func (r *tokens) fetch(ctx context.Context, k *Clocks) error {
	n := max(1, int(tokensFor/r.gap))
	for range tries {
		b, rev, err := k.store.LoadClock(ctx, r.key)
		if err != nil {
			return err
		}
		first := k.late()
		if at, size := binary.Varint(b); size > 0 {
			first = max(first, at)
		}
		end := first + int64(n)*int64(r.gap)
		life := time.Duration(end-k.early()) + clockRemember
		if _, err = k.store.StoreClock(ctx, r.key, binary.AppendVarint(nil, end), rev, life); err == nil {
			r.mu.Lock()
			r.next, r.left = k.local(first), n
			r.mu.Unlock()
			return nil
		}
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return ErrConflict
}
