package disk

import (
	"context"
	"slices"

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

// answer lets the caller of o go, unless it has gone. The Store is locked.
func (s *Store) answer(o *op, err error) {
	if _, waiting := s.unanswered[o]; waiting {
		delete(s.unanswered, o)
		o.err = err
		close(o.over)
	}
}

// commit hands o to the writer and waits for it. The Store is locked and the call has entered;
// when commit returns it has left, and the Store is unlocked.
func (s *Store) commit(o *op) error {
	o.over = make(chan struct{})
	s.unanswered[o] = struct{}{}
	s.inbox = append(s.inbox, o)
	s.tellWriter()
	s.mu.Unlock()
	<-o.over
	s.leave()
	return o.err
}

func (s *Store) tellWriter() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Add implements frontier.Frontier. The requests are on disk when it returns, however its context
// ends meanwhile.
func (s *Store) Add(ctx context.Context, rs ...frontier.Request) (int, error) {
	o := &op{steps: make([]step, 1)}
	if err := s.enqueue(ctx, o, rs); err != nil {
		return 0, err
	}
	return o.added, nil
}

// enqueue has o, of one step, queue rs, and waits until they are on disk.
func (s *Store) enqueue(ctx context.Context, o *op, rs []frontier.Request) error {
	if err := s.linksOf(o, 0, rs); err != nil {
		return err
	}
	s.mu.Lock()
	if err := s.enter(ctx); err != nil {
		s.mu.Unlock()
		return err
	}
	return s.commit(o)
}

// Settle implements frontier.Frontier. What it did is on disk when it returns, however its context
// ends meanwhile. The error is frontier.ErrLost also if the claim was released: then Commit ends it.
func (s *Store) Settle(ctx context.Context, c frontier.Claim, t frontier.Settlement) error {
	o := &op{steps: make([]step, 1)}
	if err := s.linksOf(o, 0, t.Links); err != nil {
		return err
	}
	s.mu.Lock()
	if err := s.enter(ctx); err != nil {
		s.mu.Unlock()
		return err
	}
	now := s.clock.Now()
	s.advance(now)
	l, ok := s.leases.End(c.ID)
	if !ok {
		s.leave()
		s.mu.Unlock()
		return frontier.ErrLost
	}
	o.steps[0].end = s.ending(l, false, t, now)
	return s.commit(o)
}

// ending is how t ends l at now.
func (s *Store) ending(l *lease, freed bool, t frontier.Settlement, now int64) *ending {
	e := &ending{lease: l, fate: sched.Gone, freed: freed, ready: s.clock.At(t.ReadyAt), attempt: l.attempt, to: l.place}
	if t.Again != nil {
		e.again(t.Again, s.clock.At(t.Again.NotBefore), now)
	}
	return e
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

// take is the ops to write next, as many as go into one group. It waits for them, and loads what
// waits. It is none when the writer is to end.
func (s *Store) take() []*op {
	for {
		s.mu.Lock()
		if s.waiting.low() && s.err == nil {
			s.mu.Unlock()
			s.loadWaiting()
			continue
		}
		ops, stop := s.takeInbox(), s.stop
		s.mu.Unlock()
		if len(ops) > 0 || stop {
			return ops
		}
		<-s.wake
	}
}

func (s *Store) takeInbox() []*op {
	n, links, bytes := 0, 0, 0
	for n < len(s.inbox) && n < s.t.ops {
		links += s.inbox[n].links
		bytes += s.inbox[n].bytes
		if n > 0 && (links > s.t.links || bytes > groupBytes) {
			break
		}
		n++
	}
	ops := slices.Clone(s.inbox[:n])
	s.inbox = slices.Delete(s.inbox, 0, n)
	return ops
}
