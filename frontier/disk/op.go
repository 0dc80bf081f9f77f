package disk

import (
	"errors"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/sched"
	"github.com/amble-crawler/amble/weburl"
)

// errTooLarge is the error for a call with more than 1 GiB of values, URLs or Meta, which the engine could not write in one step.
// The call had no effect.
var errTooLarge = errors.New("disk: more than 1 GiB in one call")

const (
	callBytes  = 1 << 30 // maximum bytes of values, URLs and Meta in one call
	groupBytes = 4 << 20 // maximum of the same in one batch, unless a single call has more
)

// op is one call that writes, on its way through the writer. Its steps are processed in order.
type op struct {
	steps      []step
	checkpoint frontier.Checkpoint
	links      int  // of all steps
	bytes      int  // of URLs, Meta and values
	revive     bool // queue URLs that are done, too
	rescore    bool // links are queued entries with their new scores

	// The results, set by the writer.
	added    int
	done     int // URLs settled for good, less those revived
	rejected int // URLs rejected, less rejected ones that were queued
	fresh    []fresh
	raises   []raise
	rescored int
	kept     int // bytes of fresh that stay in memory
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
	from place // place of the entry that a rescore replaces
}

// lease is a claimed URL.
type lease struct {
	entry
	host    *host
	key     urlKey
	depth   int
	attempt int
	held    bool  // it keeps its place at its host until a Commit
	due     int64 // Unix nanoseconds: in the record on disk the URL still waits until then. 0: it does not wait
}

// ending returns the end of a claim that is settled by t at now.
func (l *lease) ending(freed bool, t frontier.Settlement, c clock, now int64) *ending {
	e := &ending{lease: l, fate: sched.Gone, freed: freed, ready: c.At(t.ReadyAt), attempt: l.attempt, to: l.place}
	if t.Again != nil {
		e.again(t.Again, c.At(t.Again.NotBefore), now)
	}
	return e
}

// ending describes the end of a claim.
type ending struct {
	*lease
	fate    sched.Fate
	freed   bool  // its claim was released before
	ready   int64 // the host's ready time, by lanes.clock
	until   int64 // the time until which the URL waits, if its fate is Later
	attempt int
	anew    bool  // it arrives anew (F5)
	to      place // place to which it returns; set by the writer if that is the end of the queue
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

// fresh is an entry that the op has added.
type fresh struct {
	host *host
	entry
	first bool // its host had nothing pending before
}
