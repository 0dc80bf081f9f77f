package frontier

import (
	"context"
	"time"
)

// Durable is implemented by Frontiers that outlive the process, for crawlers whose outputs must agree with the Frontier: a visit is
// durable when its record is in every output and its claim's end is in the Frontier. The crawler releases a claim when its request
// has ended, so that its host can be served again. From time to time it syncs its outputs and commits all released claims at once,
// with the offsets of the outputs. Further clauses:
//
//	F15 A released claim's host may be claimed from again from the ReadyAt given, as if the claim were
//	    settled. The claim itself counts as Claimed until Commit ends it, never expires, and is lost
//	    to Settle. After a crash its URL is queued, and its host is not ready before that ReadyAt if
//	    anything durable was written since.
//	F16 Commit takes effect as a whole or not at all, after a crash at any byte too: the ends of its
//	    claims, each with its links, in their order as if they were settled one after the other, the
//	    offsets and the values. It is durable on return.
//	F17 Offsets and values belong to the owner that their Checkpoint names: whatever other owners
//	    commit under the same names, an owner reads what it has committed itself.
//	F18 Revive queues URLs that are done once more, as if they were new: they arrive anew, with the
//	    depth of their Request and no attempt. One for which there is no room stays done. URLs that
//	    are not done are treated as by Add. It is durable on return.
//	F19 Take is Add and Commit without ends in one step: the requests are queued and the checkpoint is
//	    stored, or neither is, after a crash at any byte too. What reads requests from elsewhere, and
//	    stores as an offset how far it has read, takes each of them exactly once. It is durable on
//	    return.
//	F21 A claim on hold is like a released one whose host is not free: no URL of the host is claimed
//	    until Commit ends the claim, and then the links of its page are already queued.
type Durable interface {
	Frontier
	// Release frees the place of c at its host; the host is ready from readyAt on. c must be ended by Commit afterwards; its
	// Settlement's ReadyAt still counts. The error is ErrLost if c has expired or was settled, released or put on hold before,
	// ErrClosed, the context's or the store's own.
	Release(ctx context.Context, c Claim, readyAt time.Time) error
	// Hold keeps the place of c at its host until Commit ends c, for a crawl in which the links of this page decide which URL of
	// the host comes next. It is called instead of Release and has the same errors.
	Hold(ctx context.Context, c Claim) error
	// Commit ends claims that were released or put on hold and stores a checkpoint, all in one step. ends may be empty. The error
	// is ErrLost if a claim in ends is neither, ErrRequest, ErrClosed, the context's or the store's own; then Commit has no effect.
	Commit(ctx context.Context, ends []End, c Checkpoint) error
	// Revive queues those of rs that are done once more and returns their number. Unknown ones are added, but not counted. The
	// errors are those of Add.
	Revive(ctx context.Context, rs ...Request) (revived int, err error)
	// Take queues those of rs that are not known yet and stores a checkpoint, all in one step. It returns the number of queued
	// requests. The errors are those of Add; then Take has no effect.
	Take(ctx context.Context, rs []Request, c Checkpoint) (added int, err error)
	// Offsets returns a new map of the offsets that an owner has committed, by name.
	Offsets(owner string) map[string]int64
	// Value returns a value that an owner has committed, nil if there is none of that name.
	Value(ctx context.Context, owner, name string) ([]byte, error)
	// Values calls f with each value of an owner whose name begins with prefix, in the order of names,
	// until f returns an error, which is returned. The value is valid until f returns.
	Values(ctx context.Context, owner, prefix string, f func(name string, value []byte) error) error
}

// Checkpoint holds values that a crawl stores in its Frontier together with the ends of claims, to resume from them after a crash.
// The names of different owners do not conflict.
type Checkpoint struct {
	Owner   string            // the crawl, or the part of a crawl, that stores it; "" where a store has one
	Offsets map[string]int64  // end of each output, by name; other names keep theirs
	Values  map[string][]byte // up to some megabytes each; nil removes the name, other names keep theirs
}

// End is the end of a claim that was released or put on hold.
type End struct {
	Claim      Claim
	Settlement Settlement
}
