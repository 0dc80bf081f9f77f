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

// owner appends to the journal of a shard that this node owns, until another node does. It is the disk.Journal of the
// shard's store.
type owner struct {
	engine  Engine
	shard   int
	epoch   uint64
	node    string
	lease   *lease
	ctx     context.Context // ends when the process does
	opened  uint64          // the record that made the node the owner
	doubled bool            // the journal has been in a doubling of the shards

	turn chan struct{} // holds one while somebody appends: no lock is held meanwhile
	last uint64        // of the journal; used by whoever has the turn
	err  error         // why no more can be appended; likewise

	under stores // appends and commits that are under way

	mu     sync.Mutex
	mark   uint64    // of the last group
	latest time.Time // when the last record was sent
	bytes  int64     // of groups since the last snapshot
}

func newOwner(ctx context.Context, e Engine, shard int, node string, ttl time.Duration, last, epoch uint64) *owner {
	return &owner{
		engine: e, shard: shard, epoch: epoch, node: node, lease: newLease(ttl), ctx: ctx, turn: make(chan struct{}, 1), last: last,
	}
}

var _ disk.Journal = (*owner)(nil)

func newNonce() (n Nonce) {
	_, _ = rand.Read(n[:]) // it never fails
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

// beat appends that the owner lives, and whether the shard was idle when its last group was that one.
func (o *owner) beat(idle bool, probe, mark uint64) error {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	now := o.marked()
	x := beat{mark: now, idle: idle && now == mark, probe: probe}
	_, err := o.append(kindBeat, x.encode())
	return err
}

// marked returns the place of the last group.
func (o *owner) marked() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mark
}

// close appends that the shard may be taken over at once, and ends the lease.
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

// grown returns how many bytes the journal has since the last snapshot.
func (o *owner) grown() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

// shrunk notes that a snapshot has so many of these bytes.
func (o *owner) shrunk(by int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= by
}

// quiet returns for how long nothing was appended.
func (o *owner) quiet() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return time.Since(o.latest)
}

// append appends a record and waits until it is stored, or the lease ends. The caller has the turn.
func (o *owner) append(k kind, body []byte) (Nonce, error) {
	if o.err != nil {
		return Nonce{}, o.err
	}
	defer o.under.begin()()
	sent := time.Now()
	r := record{kind: k, epoch: o.epoch, node: o.node, at: sent, body: body, doubled: o.doubled}
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

// appended notes that a record is stored.
func (o *owner) appended(seq uint64, sent time.Time) {
	o.last = seq
	o.lease.renew(sent)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.latest = sent
}

// patience limits the time that the first attempt of an append waits for its answer. Each one after it waits twice as long: what was
// lost with a connection or a server is sent again in time, and a slow engine is not asked to do ever more.
const patience = time.Second

// insist repeats an append until its outcome is known or there is no time left.
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

// stores are calls that store something and wait for the engine. The zero value has none.
type stores struct {
	mu    sync.Mutex
	last  uint64
	began map[uint64]time.Time
}

// begin notes that a call begins, and returns what notes its end.
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

// longest returns for how long the oldest of the calls has waited, 0 if there is none.
func (w *stores) longest(now time.Time) (d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range w.began {
		d = max(d, now.Sub(at))
	}
	return d
}

// wait waits, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
