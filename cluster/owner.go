package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier/disk"
)

// retry is the pause before an append without an answer is repeated.
const retry = 200 * time.Millisecond

// owner appends to the journal of a shard that this node owns, until another node takes the shard over. It implements disk.Journal for the
// shard's store.
type owner struct {
	engine Engine
	shard  int
	epoch  uint64
	node   string
	lease  *lease
	ctx    context.Context // ends with the process
	opened uint64          // sequence of the record that made the node the owner

	turn chan struct{} // held by the goroutine that appends a record; no mutex is held meanwhile
	last uint64        // last sequence of the journal; guarded by turn
	err  error         // error that prevents further appends; guarded by turn

	under stores // appends and commits in progress, with their start

	mu     sync.Mutex
	mark   uint64    // sequence of the last kindGroup record
	latest time.Time // time at which the last acknowledged record was sent
	bytes  int64     // bytes of groups written since the last snapshot
}

func newOwner(ctx context.Context, e Engine, shard int, node string, ttl time.Duration, last, epoch uint64) *owner {
	return &owner{
		engine: e, shard: shard, epoch: epoch, node: node, lease: newLease(ttl), ctx: ctx, turn: make(chan struct{}, 1), last: last,
	}
}

var _ disk.Journal = (*owner)(nil)

func newNonce() (n Nonce) {
	_, _ = rand.Read(n[:]) // Read never fails
	return n
}

// Append implements disk.Journal.
func (o *owner) Append(group []byte) (disk.Mark, error) {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	bodies := split(group)
	for _, body := range bodies[:len(bodies)-1] {
		if _, err := o.append(kindPart, body); err != nil {
			return disk.Mark{}, err
		}
	}
	n, err := o.append(kindGroup, bodies[len(bodies)-1])
	if err != nil {
		return disk.Mark{}, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mark = o.last
	for _, b := range bodies {
		o.bytes += int64(len(b))
	}
	return disk.Mark{Seq: o.last, Nonce: n}, nil
}

// beat appends a sign of life. It records the shard as idle only if no group was appended after the sequence mark.
func (o *owner) beat(idle bool, probe, mark uint64) error {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	now := o.marked()
	x := beat{mark: now, idle: idle && now == mark, probe: probe}
	_, err := o.append(kindBeat, x.encode())
	return err
}

// marked returns the sequence of the last record with a group.
func (o *owner) marked() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mark
}

// close appends a record that allows other nodes to take the shard over at once, and ends the lease.
func (o *owner) close() error {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	_, err := o.append(kindClose, nil)
	o.lease.giveUp()
	if o.err == nil {
		o.err = ErrLease
	}
	return err
}

// grown returns the bytes of groups in the journal since the last snapshot.
func (o *owner) grown() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

// shrunk subtracts the bytes that a snapshot covers.
func (o *owner) shrunk(by int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= by
}

// quiet returns the time since the last append.
func (o *owner) quiet() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Since(o.latest)
}

// append appends a record and waits until it is stored, or the lease ends. The caller must hold o.turn.
func (o *owner) append(k kind, body []byte) (Nonce, error) {
	if o.err != nil {
		return Nonce{}, o.err
	}
	defer o.under.begin()()
	sent := time.Now()
	r := record{kind: k, epoch: o.epoch, node: o.node, at: sent, body: body}
	n := newNonce()
	seq, err := insist(o.ctx, o.engine, o.shard, n, r.encode(), o.last, o.lease.left)
	if err != nil {
		o.lease.giveUp()
		o.err = fmt.Errorf("cluster: shard %d: %w", o.shard, err)
		return Nonce{}, o.err
	}
	o.appended(seq, sent)
	return n, nil
}

// appended updates the state after a record was stored.
func (o *owner) appended(seq uint64, sent time.Time) {
	o.last = seq
	o.lease.renew(sent)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.latest = sent
}

// patience is the time after which the first attempt of an append is repeated. Each further attempt gets twice as long. So data lost with a
// connection or a server is resent in time, and a slow engine is not overloaded.
const patience = time.Second

// insist repeats an append until its outcome is known or the function left returns no more time.
func insist(ctx context.Context, e Engine, shard int, n Nonce, data []byte, last uint64, left func(now time.Time) time.Duration) (uint64, error) {
	for most := patience; ; most *= 2 {
		d := left(time.Now())
		if d <= 0 {
			return 0, ErrLease
		}
		short, cancel := context.WithTimeout(ctx, min(d, most))
		seq, err := e.Append(short, shard, n, data, last)
		cancel()
		switch {
		case err == nil:
			return seq, nil
		case errors.Is(err, ErrFenced):
			return 0, err
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case left(time.Now()) <= retry:
			return 0, fmt.Errorf("%w: %w", ErrLease, err)
		}
		wait(ctx, retry)
	}
}

// stores tracks the calls that store data and wait for the engine.
type stores struct {
	mu    sync.Mutex
	last  uint64
	began map[uint64]time.Time
}

// begin records the start of a call, and returns a function that records its end.
func (w *stores) begin() (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began == nil {
		w.began = map[uint64]time.Time{}
	}
	w.last++
	id := w.last
	w.began[id] = time.Now()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.began, id)
	}
}

// longest returns for how long the oldest call has waited, 0 if there is none.
func (w *stores) longest(now time.Time) (d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range w.began {
		d = max(d, now.Sub(at))
	}
	return d
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
