package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/amble-crawler/amble/politeness"
)

// keptClock is a clock that a gate keeps after its request, because no other gate is known to wait for it. If the gate takes the clock again
// within a second after the engine stored the hold, it need not ask the engine; later, it releases the clock and takes it again in one
// step. For other gates the clock is held: they wait in the queue, and get it after the next store.
type keptClock struct {
	*turn
	key  string
	done func(*clock)
	late *time.Timer // releases the clock if the gate does not take it again
}

// keepMore is the time for which a clock is kept after its pause has ended, if the gate does not take it again.
const keepMore = 500 * time.Millisecond

// keep keeps the clocks of a turn whose request has ended, if this is safe, and reports whether it does. It is safe if the process may die
// now: the engine has stored that the clocks are held, for longer than they have to pause.
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
		c := &keptClock{turn: x, key: key, done: func(c *clock) { c.done(x.id, x.claimant, ended, rests) }}
		c.late = time.AfterFunc(time.Until(until), func() { k.giveBack(c) })
		k.kept[key] = c
	}
	return true
}

// again grants t its clocks if its gate has kept all of them, and their hold was stored recently, by both the monotonic clock and the wall
// clock. Otherwise it releases the kept clocks.
func (k *Clocks) again(t *politeness.Turn, x *turn) bool {
	var all []*keptClock
	k.mu.Lock()
	for _, key := range x.keys {
		if c := k.kept[key]; c != nil {
			all = append(all, c)
			delete(k.kept, key)
		}
	}
	k.mu.Unlock()
	same := t.Quiet.IsZero() && len(all) == len(x.keys)
	for _, c := range all {
		c.late.Stop()
		same = same && c.turn == all[0].turn && c.Gate == x.Gate && c.delay == x.delay && slices.Equal(c.keys, x.keys)
	}
	if same && time.Since(all[0].stored) < min(lookEvery, k.hold/6) && !stepped(all[0].stored) {
		x.id, x.stored = all[0].id, all[0].stored
		k.granted(t, x)
		return true
	}
	for _, c := range all {
		k.push(c.key, c.done)
	}
	return false
}

// giveBack releases a clock that is still kept.
func (k *Clocks) giveBack(c *keptClock) {
	k.mu.Lock()
	still := k.kept[c.key] == c
	if still {
		delete(k.kept, c.key)
	}
	k.mu.Unlock()
	if still {
		c.late.Stop()
		k.push(c.key, c.done)
	}
}

// giveBackAll releases the clocks that f selects.
func (k *Clocks) giveBackAll(f func(c *keptClock) bool) {
	k.mu.Lock()
	all := slices.Collect(maps.Values(k.kept))
	k.mu.Unlock()
	for _, c := range all {
		if f(c) {
			k.giveBack(c)
		}
	}
}
