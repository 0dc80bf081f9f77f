package frontiertest

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// stored is an owner's data in a naive store, other than URLs.
type stored struct {
	offsets map[string]map[string]int64
	values  map[string]map[string][]byte
	revived []*entry
}

// of returns the name under which a naive store saves an owner's checkpoint.
func (n *naive) of(owner string) string {
	if n.is("owners share names") {
		return ""
	}
	return owner
}

var _ frontier.Durable = (*naive)(nil)

func (n *naive) Release(ctx context.Context, c frontier.Claim, readyAt time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.usable(ctx); err != nil && (ctx.Err() == nil || !n.is("release with an ended context")) && (!n.closed || !n.is("release after close")) {
		return err
	}
	now := n.now()
	if n.is("release ignores ReadyAt") {
		readyAt = time.Time{}
	}
	e := n.m.holding(c)
	if e != nil && e.freed && n.is("released twice") {
		e.freed = false
	}
	if !n.m.release(now, c, readyAt) {
		if e := n.m.urls[c.URL.Key()]; e != nil && n.is("a lost release delays") {
			e.host.ready = readyAt
		}
		return frontier.ErrLost
	}
	switch n.bug {
	case "release keeps the place":
		e.freed = false
		e.host.update(now)
		e.freed = true
	case "release ends the claim":
		e.state = stateDone
	case "release queues":
		e.state = stateQueued
		e.host.update(now)
	}
	if !n.is("release wakes nobody") {
		n.change()
	}
	return nil
}

func (n *naive) Hold(ctx context.Context, c frontier.Claim) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.usable(ctx); err != nil && (ctx.Err() == nil || !n.is("hold with an ended context")) && (!n.closed || !n.is("hold after close")) {
		return err
	}
	now := n.now()
	if e := n.m.holding(c); e != nil && e.kept && n.is("held twice") {
		return nil
	}
	if !n.m.hold(c) {
		return frontier.ErrLost
	}
	e := n.m.holding(c)
	switch n.bug {
	case "hold frees the host":
		e.freed = true
		e.host.update(now)
		n.change()
	case "hold ends the claim":
		e.state = stateDone
		e.host.update(now)
	case "hold does nothing":
		e.kept = false
	}
	return nil
}

func (n *naive) Commit(ctx context.Context, ends []frontier.End, c frontier.Checkpoint) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.usable(ctx); err != nil && (ctx.Err() == nil || !n.is("commit with an ended context")) {
		return err
	}
	if n.is("failed commit stores") {
		n.store(c)
	}
	now := n.now()
	for _, x := range ends {
		if err := n.validate(x.Settlement.Links); err != nil {
			return err
		}
	}
	if n.is("commit of the held") {
		for _, x := range ends {
			n.m.release(now, x.Claim, time.Time{})
		}
	}
	ends = n.spoilEnds(now, slices.Clone(ends))
	if n.is("commit up to the bad one") || n.is("commit in two steps") && n.m.released(ends) {
		for len(ends) > 0 && n.m.commit(now, ends[:1]) {
			ends = ends[1:]
			if n.is("commit in two steps") {
				n.change()
				n.mu.Unlock()
				time.Sleep(time.Microsecond)
				n.mu.Lock()
			}
		}
	}
	if !n.m.commit(now, ends) {
		return frontier.ErrLost
	}
	n.store(c)
	if !n.is("commit wakes nobody") {
		n.change()
	}
	return nil
}

func (n *naive) spoilEnds(now time.Time, ends []frontier.End) []frontier.End {
	if n.is("commit in reverse order") {
		slices.Reverse(ends)
	}
	if n.is("commit ends a claim twice") {
		seen := map[uint64]bool{}
		ends = slices.DeleteFunc(ends, func(x frontier.End) bool {
			again := seen[x.Claim.ID]
			seen[x.Claim.ID] = true
			return again
		})
	}
	for i := range ends {
		s := &ends[i].Settlement
		e := n.m.holding(ends[i].Claim)
		switch {
		case e == nil:
		case n.is("commit drops links"):
			s.Links = nil
		case n.is("commit ignores ReadyAt"):
			s.ReadyAt = time.Time{}
		case n.is("commit shortens ReadyAt") && !s.ReadyAt.IsZero():
			e.host.ready = s.ReadyAt
		case n.is("commit ignores Again"):
			s.Again = nil
		case n.is("commit frees the host again"):
			for _, o := range e.host.entries {
				o.freed = o.freed || o.state == stateClaimed
			}
		}
	}
	return ends
}

func (n *naive) store(c frontier.Checkpoint) {
	owner := n.of(c.Owner)
	if n.offsets == nil {
		n.offsets = map[string]map[string]int64{}
	}
	if n.values == nil {
		n.values = map[string]map[string][]byte{}
	}
	if n.offsets[owner] == nil {
		n.offsets[owner] = map[string]int64{}
	}
	if n.values[owner] == nil {
		n.values[owner] = map[string][]byte{}
	}
	if !n.is("commit drops offsets") {
		maps.Copy(n.offsets[owner], c.Offsets)
	}
	kept := n.values[owner]
	for name, v := range c.Values {
		if n.is("large values are cut") {
			v = v[:min(len(v), 5<<20)]
		}
		switch {
		case n.is("commit drops values"):
		case v == nil && !n.is("nil is a value"), len(v) == 0 && n.is("empty is nil"):
			delete(kept, name)
		case n.is("the first value stays") && kept[name] != nil:
		default:
			kept[name] = append([]byte{}, v...)
		}
	}
}

func (n *naive) Revive(ctx context.Context, rs ...frontier.Request) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.usable(ctx); err != nil && (ctx.Err() == nil || !n.is("revive with an ended context")) {
		return 0, err
	}
	if err := n.validate(rs); err != nil && !n.is("failed revive revives") {
		return 0, err
	}
	now, revived := n.now(), 0
	for _, r := range rs {
		if r.URL.IsZero() {
			return 0, frontier.ErrRequest
		}
		revived += n.reviveOne(now, r)
	}
	n.change()
	return revived, nil
}

func (n *naive) reviveOne(now time.Time, r frontier.Request) int {
	e := n.m.urls[r.URL.Key()]
	switch {
	case e == nil && n.is("revive adds nothing"), n.is("revive does nothing"):
		return 0
	case e == nil && n.is("revive counts the new"):
		n.m.add(now, r)
		return 1
	case e == nil || e.state != stateDone:
		if e != nil && e.state == stateClaimed && n.is("revive queues the held") {
			e.state, e.freed = stateQueued, false
			e.host.update(now)
		}
		return n.m.revive(now, []frontier.Request{r})
	}
	was := *e
	n.m.revive(now, []frontier.Request{r})
	switch n.bug {
	case "revive keeps the depth":
		e.req.Depth = was.req.Depth
	case "revive keeps the attempts":
		e.attempt = was.attempt
	case "revive keeps the arrival":
		e.arrival = was.arrival
	}
	n.revived = append(n.revived, e)
	return 1
}

func (n *naive) Take(ctx context.Context, rs []frontier.Request, c frontier.Checkpoint) (added int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.usable(ctx); err != nil && (ctx.Err() == nil || !n.is("take with an ended context")) {
		return 0, err
	}
	if n.is("failed take stores") {
		n.store(c)
	}
	if err := n.validate(rs); err != nil {
		return 0, err
	}
	if n.is("take in two steps") {
		n.store(c)
		n.mu.Unlock()
		time.Sleep(time.Microsecond)
		n.mu.Lock()
		if n.closed { // the process is dead, and its data belongs to the next process
			return 0, frontier.ErrClosed
		}
	}
	for _, r := range rs {
		if n.is("take adds nothing") {
			break
		}
		if n.add(n.now(), r) || n.is("take counts the known") {
			added++
		}
		if n.is("take adds one") {
			break
		}
	}
	if !n.is("take stores nothing") {
		n.store(c)
	}
	if !n.is("take wakes nobody") {
		n.change()
	}
	return added, nil
}

func (n *naive) Offsets(owner string) map[string]int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.is("offsets are shared") {
		return n.offsets[n.of(owner)]
	}
	return maps.Clone(n.offsets[n.of(owner)])
}

func (n *naive) Value(ctx context.Context, owner, name string) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.usable(ctx); err != nil {
		return nil, err
	}
	return bytes.Clone(n.values[n.of(owner)][name]), nil
}

func (n *naive) Values(ctx context.Context, owner, prefix string, f func(string, []byte) error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.usable(ctx); err != nil {
		return err
	}
	values := n.values[n.of(owner)]
	names := slices.Sorted(maps.Keys(values))
	if n.is("values in any order") {
		slices.Reverse(names)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) && !n.is("values ignore the prefix") {
			continue
		}
		if err := f(name, values[name]); err != nil && !n.is("values continue after an error") {
			return err
		}
	}
	return nil
}

// spoilCrashed loses something that only a durable frontier must keep.
func (n *naive) spoilCrashed(e *entry) {
	switch {
	case n.is("crash loses offsets"):
		n.offsets = nil
	case n.is("crash loses values"):
		n.values = nil
	case n.is("crash loses other owners"):
		maps.DeleteFunc(n.offsets, func(owner string, _ map[string]int64) bool { return owner != "" })
	case n.is("crash forgets what was revived") && slices.Contains(n.revived, e):
		e.state = stateDone
	case n.is("crash ends the released") && e.state == stateClaimed && e.freed:
		e.state = stateDone
	case n.is("crash loses the ReadyAt of releases") && e.state == stateClaimed && e.freed:
		e.host.ready, e.host.rested = time.Time{}, false
	}
}
