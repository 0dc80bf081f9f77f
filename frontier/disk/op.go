package disk

import (
	"errors"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/sched"
	"github.com/amble-crawler/amble/weburl"
)

// errTooLarge says that one call carries more than 1 GiB of values, URLs or Meta, which the engine could
// not write in one step. The call had no effect.
var errTooLarge = errors.New("disk: more than 1 GiB in one call")

const (
	callBytes  = 1 << 30 // of values, URLs and Meta in one call
	groupBytes = 4 << 20 // the same in one batch, unless one call has more
)

// op is one call that writes, on its way through the writer. Its steps are taken in order.
type op struct {
	steps      []step
	checkpoint frontier.Checkpoint
	links      int  // of all steps
	bytes      int  // of URLs, Meta and values
	revive     bool // queue what is done
	rescore    bool // links are queued entries with their new scores

	// The writer's answer.
	added    int
	done     int // URLs settled for good, less those revived
	rejected int // URLs rejected, less rejected ones that were queued
	fresh    []fresh
	raises   []raise
	rescored int
	kept     int // bytes of fresh
	err      error
	over     chan struct{} // closed with the answer
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
	from place // of the entry that a rescore replaces
}

// lease is a claimed URL.
type lease struct {
	entry
	host    *host
	key     urlKey
	depth   int
	attempt int
	held    bool  // it keeps its place at its host until a Commit
	due     int64 // Unix nanoseconds; the record on disk still waits until then. 0: it does not wait
}

// ending returns how t ends a claim at now.
func (l *lease) ending(freed bool, t frontier.Settlement, c clock, now int64) *ending {
	e := &ending{lease: l, fate: sched.Gone, freed: freed, ready: c.At(t.ReadyAt), attempt: l.attempt, to: l.place}
	if t.Again != nil {
		e.again(t.Again, c.At(t.Again.NotBefore), now)
	}
	return e
}

// ending is how a claim ends.
type ending struct {
	*lease
	fate    sched.Fate
	freed   bool  // its claim was released before
	ready   int64 // the host's, on the clock
	until   int64 // the URL's, if its fate is Later
	attempt int
	anew    bool  // it arrives anew (F5)
	to      place // place where it is put back; set by the writer if it goes to the end of the queue
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
	first bool // its host had nothing pending
}
