package mem

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// Faults holds the probabilities, from 0 to 1, of the faults in the calls of a connection, and their times.
type Faults struct {
	Seed    uint64
	Latency time.Duration // maximum delay in each direction
	Lost    float64       // the call does not arrive
	Unheard float64       // the call takes effect, but its result is lost
	Stale   float64       // a read returns an earlier value
	Timeout time.Duration // time after which a call without an answer is given up; 0: 2 s
}

// ErrTimeout is returned by calls without an answer: it is unknown whether they took effect.
var ErrTimeout = errors.New("mem: no answer in time")

// faults is the state of a connection.
type faults struct {
	mu     sync.Mutex
	calls  int    // number of half calls before the half call that runs the function in then
	then   func() // may be nil
	is     Faults
	rng    *rand.Rand
	broken bool
	skew   time.Duration
}

func newFaults() *faults {
	f := &faults{}
	f.set(Faults{})
	return f
}

// Misbehave sets the faults of all later calls.
func (c *Conn) Misbehave(f Faults) { c.f.set(f) }

func (f *faults) set(to Faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if to.Timeout == 0 {
		to.Timeout = 2 * time.Second
	}
	f.is, f.rng = to, rand.New(rand.NewPCG(to.Seed, 99))
}

// Cut cuts the connection, or restores it. While it is cut, no call reaches the server, and questions to this node get no answer.
func (c *Conn) Cut(cut bool) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.broken = cut
}

// Skew sets the clock offset of this node relative to the engine, as the engine's Now shows it. A negative offset is behind.
func (c *Conn) Skew(d time.Duration) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.skew = d
}

func (f *faults) skewed() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.skew
}

// CutAt cuts the connection at a future call, counted from 0: before the call takes effect or, if after is set, after it did. Then it calls
// f. So a test can kill a process between any two steps.
func (c *Conn) CutAt(call int, after bool, f func()) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.calls = 2 * call
	if after {
		c.f.calls++
	}
	c.f.then = func() {
		c.Cut(true)
		f()
	}
}

// step counts one half of a call: its arrival, or its answer.
func (f *faults) step() {
	f.mu.Lock()
	then := f.then
	f.calls--
	if then == nil || f.calls >= 0 {
		f.mu.Unlock()
		return
	}
	f.then = nil
	f.mu.Unlock()
	then()
}

func (f *faults) isCut() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken
}

// fate holds the faults drawn for a call.
type fate struct {
	there, back   time.Duration
	lost, unheard bool
	timeout       time.Duration
	cut           bool
}

func (f *faults) fate() fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := fate{timeout: f.is.Timeout, cut: f.broken}
	if l := int64(f.is.Latency); l > 0 {
		x.there, x.back = time.Duration(f.rng.Int64N(l)), time.Duration(f.rng.Int64N(l))
	}
	x.lost, x.unheard = f.rng.Float64() < f.is.Lost, f.rng.Float64() < f.is.Unheard
	return x
}

// stale returns how old the value of a read is, as a number of writes.
func (f *faults) stale() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rng.Float64() < f.is.Stale {
		return 1 + f.rng.IntN(3)
	}
	return 0
}

// call runs do on the server, unless the call is lost.
func (f *faults) call(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	x := f.fate()
	if err := pause(ctx, x.there); err != nil {
		return err
	}
	f.step()
	if x.lost || x.cut || f.isCut() {
		return f.silence(ctx, x.timeout)
	}
	err := do()
	f.step()
	if x.unheard {
		return f.silence(ctx, x.timeout)
	}
	if err := pause(ctx, x.back); err != nil {
		return err
	}
	if f.isCut() {
		return f.silence(ctx, x.timeout)
	}
	return err
}

// silence waits until the caller gives up on a call that gets no answer.
func (f *faults) silence(ctx context.Context, d time.Duration) error {
	if err := pause(ctx, d); err != nil {
		return err
	}
	if f.isCut() {
		return errCut
	}
	return ErrTimeout
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
