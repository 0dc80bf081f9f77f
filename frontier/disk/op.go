package disk

import (
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/sched"
	"github.com/amble-crawler/amble/weburl"
)

// op is one call that writes, on its way through the writer. Its steps are taken in their order.
type op struct {
	steps      []step
	checkpoint frontier.Checkpoint
	links      int  // of all steps
	bytes      int  // of what may be large
	revive     bool // queue what is done

	// The writer's answer.
	added    int
	done     int // URLs finished
	rejected int // URLs rejected, less those that are no longer
	fresh    []fresh
	kept     int // bytes of fresh
	err      error
	over     chan struct{} // closed when the answer is there
}

// step is the end of a claim, links to add, or both in this order.
type step struct {
	end   *ending // nil: none
	links []link
}

// link is a Request with what its caller computed for the writer.
type link struct {
	*frontier.Request
	id  weburl.Key
	key urlKey
}

// ending is how a claim ends.
type ending struct {
	*lease
	fate    sched.Fate
	freed   bool  // its place was given back before
	ready   int64 // the host's, on the clock
	until   int64 // the URL's, if its fate is Later
	attempt int
	anew    bool  // it arrives anew
	to      place // where it is put back; the writer's, if anew
}

// fresh is an entry that the op has added.
type fresh struct {
	host *host
	entry
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
