package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/amble-crawler/amble/politeness"
)

// kept is a clock that a gate has not given back after its request, since nobody else is known to want it. If the gate comes again
// within a second after it has told the engine of its turn, it asks nobody; later, it gives the clock back and takes it in one
// step. To others it has the clock meanwhile: they wait in the line, and are served when the engine is told next.
type kept struct {
	*turn
	done func(*clock)
	late *time.Timer // gives it back when the gate does not come again
}

// keepMore is how long a clock is kept after the gate could have come again.
const keepMore = 500 * time.Millisecond

// keep keeps the clocks of a turn whose request has ended, and reports whether it does. What this process knows must be no more than
// what the engine knows if it dies now: that the clocks are held, for longer than they have to rest.
func (k *Clocks) keep(x *turn, owed politeness.Owed) bool {
	until := owed.Ended
	for _, key := range x.keys {
		if at := owedAt(key, owed); at.After(until) {
			until = at
		}
	}
	until = until.Add(keepMore)
	if !x.alone || owed.Ended.IsZero() || until.Sub(owed.Ended) > x.delay+keepMore || until.After(x.stored.Add(k.hold/2)) ||
		errors.Is(context.Cause(x.held), errClock) || k.ctx.Err() != nil {
		return false
	}
	ended := k.remote(owed.Ended)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range x.keys {
		rests := k.remote(owedAt(key, owed))
		c := &kept{turn: x, done: func(c *clock) { c.done(x.id, x.party, ended, rests) }}
		c.late = time.AfterFunc(time.Until(until), func() { k.giveBack(key, c) })
		k.kept[key] = c
	}
	return true
}

// again grants t its clocks if its gate has kept them and has told the engine of them lately, by both clocks of the machine.
func (k *Clocks) again(t *politeness.Turn, x *turn) bool {
	k.mu.Lock()
	old := k.kept[x.keys[0]]
	ok := t.Quiet.IsZero() && old != nil && old.Gate == x.Gate && old.delay == x.delay && slices.Equal(old.keys, x.keys) &&
		time.Since(old.stored) < min(lookEvery, k.hold/6) && !stepped(old.stored)
	for _, key := range x.keys {
		ok = ok && k.kept[key] != nil && k.kept[key].turn == old.turn
	}
	if ok {
		for _, key := range x.keys {
			k.kept[key].late.Stop()
			delete(k.kept, key)
		}
		x.id, x.stored, x.alone = old.id, old.stored, true
	}
	k.mu.Unlock()
	if ok {
		k.granted(t, x)
	}
	return ok
}

// giveBack gives back a clock that is kept still.
func (k *Clocks) giveBack(key string, c *kept) {
	k.mu.Lock()
	still := k.kept[key] == c
	if still {
		delete(k.kept, key)
	}
	k.mu.Unlock()
	if still {
		c.late.Stop()
		k.push(key, c.done)
	}
}

// giveBackAll gives back the clocks that f chooses.
func (k *Clocks) giveBackAll(f func(c *kept) bool) {
	k.mu.Lock()
	all := maps.Clone(k.kept)
	k.mu.Unlock()
	for key, c := range all {
		if f(c) {
			k.giveBack(key, c)
		}
	}
}
