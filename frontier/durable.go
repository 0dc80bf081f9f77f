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
//	F15 When a claim is released, other URLs of its host can be claimed from the given ReadyAt on, as if the
//	    claim were settled. The claim itself counts as Claimed until Commit ends it, never expires, and
//	    cannot be settled (ErrLost). After a crash its URL is queued; its host is not ready before that
//	    ReadyAt if anything durable was written since.
//	F16 Commit takes effect completely or not at all, even after a crash at any byte: the ends of its
//	    claims, each with its links, in order, as if they were settled one after the other, the
//	    offsets and the values. It is durable on return.
//	F17 Offsets and values belong to the owner that their Checkpoint names: whatever other owners
//	    commit under the same names, an owner reads what it has committed itself.
//	F18 Revive queues URLs that are done once more, as if they were new: they arrive anew, with the
//	    depth of their Request and no attempt. A URL for which there is no room stays done. URLs that
//	    are not done are treated as by Add. Revive is durable on return.
//	F19 Take is Add and Commit without ends in one step: the requests are queued and the checkpoint is
//	    stored, or neither is, even after a crash at any byte. So a program that reads requests from
//	    elsewhere, and stores the position of its reading as an offset, takes each of them exactly
//	    once. Take is durable on return.
//	F21 A claim on hold is like a released claim, but no URL of its host can be claimed until Commit ends
//	    it. By then the links of its page are queued.
type Durable interface {
	Frontier
	// Release lets other URLs of c's host be claimed from readyAt on. Commit must end c afterwards; the ReadyAt of its Settlement still
	// applies. Release returns ErrLost if c has expired or was settled, released or put on hold before, ErrClosed, or an error of the
	// context or the store.
	Release(ctx context.Context, c Claim, readyAt time.Time) error
	// Hold keeps c's host from being claimed until Commit ends c, for a crawl in which the links of c's page decide which URL of the host
	// comes next. It is called instead of Release and has the same errors.
	Hold(ctx context.Context, c Claim) error
	// Commit ends claims that were released or put on hold and stores a checkpoint, all in one step. ends may be empty. If it returns an
	// error, Commit has no effect: ErrLost if a claim in ends was neither released nor put on hold, ErrRequest, ErrClosed, or an error of
	// the context or the store.
	Commit(ctx context.Context, ends []End, c Checkpoint) error
	// Revive queues those of rs once more that are done, and returns their number. Unknown URLs are added, but not counted. The errors
	// are those of Add.
	Revive(ctx context.Context, rs ...Request) (revived int, err error)
	// Take queues those of rs that are not known yet and stores a checkpoint, all in one step. It returns the number of queued requests.
	// The errors are those of Add. If it returns one, Take has no effect.
	Take(ctx context.Context, rs []Request, c Checkpoint) (added int, err error)
	// Offsets returns a new map with the offsets that an owner has committed, keyed by name.
	Offsets(owner string) map[string]int64
	// Value returns a value that an owner has committed, or nil if there is none with this name.
	Value(ctx context.Context, owner, name string) ([]byte, error)
	// Values calls f with each value of an owner whose name begins with prefix, in the order of names. If f returns an error, Values
	// stops and returns it. The value is valid until f returns.
	Values(ctx context.Context, owner, prefix string, f func(name string, value []byte) error) error
}

// Checkpoint holds values that a crawl stores in its Frontier together with the ends of claims, to resume from them after a crash.
// The names of different owners do not conflict.
type Checkpoint struct {
	Owner   string            // the crawl, or part of a crawl, that owns the checkpoint; "" in a store with one owner
	Offsets map[string]int64  // end of each output, keyed by name; offsets of other names do not change
	Values  map[string][]byte // up to some megabytes each, keyed by name; nil removes a value; values of other names do not change
}

// End is the end of a claim that was released or put on hold.
type End struct {
	Claim      Claim
	Settlement Settlement
}
