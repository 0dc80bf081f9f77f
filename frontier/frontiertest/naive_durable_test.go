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

// stored is what a naive store keeps beside URLs.
type stored struct {
	offsets map[string]int64
	values  map[string][]byte
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
		e.state = frontier.Done
	case "release queues":
		e.state = frontier.Queued
		e.host.update(now)
	}
	if !n.is("release wakes nobody") {
		n.change()
	}
	return nil
}

func (n *naive) Commit(ctx context.Context, ends []frontier.End, offsets map[string]int64, values map[string][]byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.usable(ctx); err != nil && (ctx.Err() == nil || !n.is("commit with an ended context")) {
		return err
	}
	if n.is("failed commit stores") {
		n.store(offsets, values)
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
	n.store(offsets, values)
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
				o.freed = o.freed || o.state == frontier.Claimed
			}
		}
	}
	return ends
}

func (n *naive) store(offsets map[string]int64, values map[string][]byte) {
	if n.offsets == nil {
		n.offsets = map[string]int64{}
	}
	if n.values == nil {
		n.values = map[string][]byte{}
	}
	if !n.is("commit drops offsets") {
		maps.Copy(n.offsets, offsets)
	}
	for name, v := range values {
		if n.is("large values are cut") {
			v = v[:min(len(v), 5<<20)]
		}
		switch {
		case n.is("commit drops values"):
		case v == nil && !n.is("nil is a value"), len(v) == 0 && n.is("empty is nil"):
			delete(n.values, name)
		case n.is("the first value stays") && n.values[name] != nil:
		default:
			n.values[name] = append([]byte{}, v...)
		}
	}
}

func (n *naive) Offsets() map[string]int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.is("offsets are shared") {
		return n.offsets
	}
	return maps.Clone(n.offsets)
}

func (n *naive) State(ctx context.Context, name string) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.usable(ctx); err != nil {
		return nil, err
	}
	return bytes.Clone(n.values[name]), nil
}

func (n *naive) States(ctx context.Context, prefix string, f func(string, []byte) error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.usable(ctx); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(n.values))
	if n.is("states in any order") {
		slices.Reverse(names)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) && !n.is("states ignore the prefix") {
			continue
		}
		if err := f(name, n.values[name]); err != nil && !n.is("states go on after an error") {
			return err
		}
	}
	return nil
}

// spoilCrashed loses something of what only a Durable has.
func (n *naive) spoilCrashed(e *entry) {
	switch {
	case n.is("crash loses offsets"):
		n.offsets = nil
	case n.is("crash loses values"):
		n.values = nil
	case n.is("crash ends the released") && e.state == frontier.Claimed && e.freed:
		e.state = frontier.Done
	case n.is("crash loses the ReadyAt of releases") && e.state == frontier.Claimed && e.freed:
		e.host.ready = time.Time{}
	}
}
