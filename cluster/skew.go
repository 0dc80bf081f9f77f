package cluster

import (
	"context"
	"fmt"
	"time"
)

// Offset is the offset of a node's clock from the engine's.
type Offset struct {
	At    time.Time     // when the offset was measured, by the node's clock; zero: not measured yet
	Ahead time.Duration // positive if the node's clock is ahead of the engine's
	Error time.Duration // maximum error of Ahead: half of the round-trip time
}

// String formats the offset, such as "1.2s ahead (± 3ms)".
func (o Offset) String() string {
	where, by := "ahead", o.Ahead
	if by < 0 {
		where, by = "behind", -by
	}
	return fmt.Sprintf("%v %s (± %v)", by.Round(time.Millisecond), where, o.Error.Round(time.Millisecond))
}

// exceeds reports whether the clock is certainly off by more than the duration most, even with the measurement error.
func (o Offset) exceeds(most time.Duration) bool { return max(o.Ahead, -o.Ahead)-o.Error > most }

// measure compares this machine's clock with the engine's.
func measure(ctx context.Context, e Clock) (Offset, error) {
	before := time.Now()
	theirs, err := e.Now(ctx)
	if err != nil {
		return Offset{}, err
	}
	half := time.Since(before) / 2
	return Offset{At: before.Add(half), Ahead: before.Add(half).Sub(theirs), Error: half}, nil
}

// skewEvery is the interval at which a node compares its clock with the engine's.
const skewEvery = time.Minute

// Offset returns the offset of the node's clock from the engine's, to be recorded in the ledger.
func (s *Shard) Offset() Offset {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	return s.node.offset
}
