package disk

import (
	"errors"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/sched"
	"github.com/amble-crawler/amble/weburl"
)

// errTooLarge is returned by a call with more than 1 GiB of values, URLs and Meta, which the engine could not write in one step. The call
// had no effect.
var errTooLarge = errors.New("disk: more than 1 GiB in one call")

const (
	callBytes  = 1 << 30 // maximum bytes of values, URLs and Meta in one call
	groupBytes = 4 << 20 // maximum bytes of values, URLs and Meta in one batch, unless a single call has more
)

// op is one call that writes, and its results. The writer processes its steps in order.
type op struct {
	steps      []step
	checkpoint frontier.Checkpoint
	links      int  // number of links of all steps
	bytes      int  // bytes of URLs, Meta and values
	revive     bool // also queue URLs that are done
	rescore    bool // links are queued entries that get new scores

	// The results of the op, set by the writer.
	added    int
	done     int // URLs settled for good, minus revived URLs
	rejected int // URLs rejected, minus rejected URLs that were queued
	fresh    []fresh
	raises   []raise
	rescored int
	kept     int // bytes of the entries in fresh that stay in memory
	err      error
	over     chan struct{} // closed when the results are set
}

// carry sets the checkpoint of o.
func (o *op) carry(c frontier.Checkpoint) error {
	o.checkpoint = c
	for _, v := range c.Values {
		o.bytes += len(v)
	}
	return o.checkSize()
}

func (o *op) checkSize() error {
	if o.bytes > callBytes {
		return errTooLarge
	}
	return nil
}

// step is the end of a claim, links to add, or both in this order.
type step struct {
	end   *ending // nil: none
	links []link
}

// link is a Request with its hashes.
type link struct {
	*frontier.Request
	id   weburl.Key
	key  urlKey
	from place // with rescore: place of the entry to replace
}

// lease is a URL that is claimed, or about to be.
type lease struct {
	entry
	host    *host
	key     urlKey
	depth   int
	attempt int
	held    bool  // a Hold keeps the host from being claimed until a Commit
	due     int64 // Unix nanoseconds until which the URL still waits on disk; 0 if the URL does not wait
}

// ending returns the end of the claim by the Settlement t at the time now.
func (l *lease) ending(freed bool, t frontier.Settlement, c clock, now int64) *ending {
	e := &ending{lease: l, fate: sched.Gone, freed: freed, ready: c.At(t.ReadyAt), attempt: l.attempt, to: l.place}
	if t.Again != nil {
		e.again(t.Again, c.At(t.Again.NotBefore), now)
	}
	return e
}

// ending describes how a claim ends.
type ending struct {
	*lease
	fate    sched.Fate
	freed   bool  // Release has already freed the host
	ready   int64 // the host's ready time, on lanes.clock
	until   int64 // time until which the URL waits if its fate is Later
	attempt int
	anew    bool  // the URL goes to the end of its queue (F5)
	to      place // place of the URL afterwards; set by the writer if the URL goes to the end of the queue
}

func (e *ending) again(a *frontier.Again, until, now int64) {
	e.fate = sched.Back
	if until > now {
		e.fate, e.until = sched.Later, until
	}
	if a.Retry {
		e.attempt++
		e.anew = true
	}
}

// fresh is an entry that the op has added to the queue of a host.
type fresh struct {
	host *host
	entry
	first bool // the host had no pending URLs before
}
