package frontier

import (
	"context"
	"time"
)

// Durable is implemented by Frontiers that outlive the process, for crawlers whose outputs must agree
// with them: a visit is durable when its record is in every output and its claim's end is in the
// Frontier. The crawler releases a claim when its request has ended, so that its host goes on, and
// now and then makes its outputs durable and commits all that was released at once, with how far the
// outputs reach. Further clauses:
//
//	F15 A released claim's host may be claimed from again from the ReadyAt given, as if the claim were
//	    settled. The claim itself counts as Claimed until Commit ends it, never expires, and is lost
//	    to Settle. After a crash its URL is queued, and its host is not ready before that ReadyAt if
//	    anything durable was written since.
//	F16 Commit takes effect as a whole or not at all, after a crash at any byte too: the ends of its
//	    claims, each with its links, in their order as if they were settled one after the other, the
//	    offsets and the values. It is durable on return.
type Durable interface {
	Frontier
	// Release frees the place of c at its host, from readyAt on. c must be ended by Commit afterwards;
	// its Settlement's ReadyAt still counts. The error is ErrLost if c has expired or was settled
	// or released before, ErrClosed, the context's or the store's own.
	Release(ctx context.Context, c Claim, readyAt time.Time) error
	// Commit ends released claims and stores offsets and values, all in one step. A nil value removes
	// its name; a value may be megabytes large. ends may be empty. The error is ErrLost if one of ends is not a released claim,
	// ErrRequest, ErrClosed, the context's or the store's own; there is no effect then.
	Commit(ctx context.Context, ends []End, offsets map[string]int64, values map[string][]byte) error
	// Offsets is what Commit and Settle have stored as offsets, by name.
	Offsets() map[string]int64
	// State is a value stored, nil if there is none of that name.
	State(ctx context.Context, name string) ([]byte, error)
	// States calls f with each stored value whose name begins so, in the order of names, until f
	// returns an error, which is returned. The value is valid until f returns.
	States(ctx context.Context, prefix string, f func(name string, value []byte) error) error
}

// End is how a released claim ends.
type End struct {
	Claim      Claim
	Settlement Settlement // its Offsets and State are not used: Commit has its own
}
