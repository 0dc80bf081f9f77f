package frontiertest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/amble-crawler/amble/frontier"
)

// beginDurable reads the checkpoints that earlier runs have stored into the model.
func (r *run) beginDurable() {
	r.offsets, r.values = map[string]int64{}, map[string][]byte{}
	d, ok := r.f.(frontier.Durable)
	if !ok {
		return
	}
	r.durableRand = rand.New(rand.NewPCG(r.seed, 1))
	maps.Copy(r.offsets, d.Offsets(""))
	err := d.Values(r.ctx, "", "", func(name string, value []byte) error {
		r.values[name] = slices.Clone(value)
		return nil
	})
	if err != nil {
		r.fail("Values: %v", err)
	}
}

// durableOperation sometimes calls a method that only a Durable has. It draws from a separate source of random
// numbers, so that stores in memory see the same operations.
func (r *run) durableOperation() bool {
	if r.durableRand == nil {
		return false
	}
	switch n := r.durableRand.IntN(100); {
	case n < 14:
		r.releaseOne()
	case n < 22:
		r.commitSome()
	case n < 23:
		r.compareStored()
	case n < 26:
		r.reviveSome()
	case n < 29:
		r.takeSome()
	default:
		return false
	}
	return true
}

func (r *run) releaseOne() {
	if len(r.held) == 0 {
		return
	}
	i := r.durableRand.IntN(len(r.held))
	c := r.held[i]
	var held bool
	var err error
	if now := r.now(); r.durableRand.IntN(4) == 0 {
		r.note("%s Hold %s", clock(now), name(c.Request))
		err, held = r.f.(frontier.Durable).Hold(r.ctx, c), r.m.hold(c)
	} else {
		ready := r.later(60)
		r.note("%s Release %s: ready %s", clock(now), name(c.Request), clock(ready))
		err, held = r.f.(frontier.Durable).Release(r.ctx, c, ready), r.m.release(now, c, ready)
	}
	switch {
	case held && err != nil:
		r.fail("Release or Hold: %v", err)
	case !held && !errors.Is(err, frontier.ErrLost):
		r.fail("Release or Hold of a claim that is over: %v", err)
	case held:
		r.freed = append(r.freed, c)
		r.written = false
	}
	if r.durableRand.IntN(10) > 0 {
		r.held = slices.Delete(r.held, i, i+1)
	} // otherwise it is settled, released or put on hold again later, which must return ErrLost
}

// commitSome commits some of the claims released or on hold, in random order.
func (r *run) commitSome() {
	var ends []frontier.End
	for range r.durableRand.IntN(len(r.freed) + 1) {
		i := r.durableRand.IntN(len(r.freed))
		ends = append(ends, frontier.End{Claim: r.freed[i], Settlement: r.settlement()})
		if r.durableRand.IntN(20) > 0 {
			r.freed = slices.Delete(r.freed, i, i+1)
		} // otherwise it is committed again, which must return ErrLost
	}
	if len(r.held) > 0 && r.durableRand.IntN(20) == 0 {
		ends = append(ends, frontier.End{Claim: r.held[0]}) // a claim that is not released, or has ended
	}
	offsets, values := map[string]int64{}, map[string][]byte{}
	for range r.durableRand.IntN(3) {
		offsets[fmt.Sprintf("sink %d", r.durableRand.IntN(3))] = r.durableRand.Int64()
		n := r.durableRand.IntN(6)
		values[fmt.Sprintf("value %d", r.durableRand.IntN(4))] = slices.Repeat([]byte{byte(n)}, n*n*n*300)
		values[fmt.Sprintf("value %d", r.durableRand.IntN(4))] = nil
	}
	r.commitAs(ends, offsets, values)
}

func (r *run) commitAs(ends []frontier.End, offsets map[string]int64, values map[string][]byte) {
	now := r.now()
	for _, e := range ends {
		s := e.Settlement
		r.note("%s Commit %s: again %s, ready %s, links %s", clock(now), name(e.Claim.Request), againText(s.Again), clock(s.ReadyAt), names(s.Links))
	}
	err := r.f.(frontier.Durable).Commit(r.ctx, ends, frontier.Checkpoint{Offsets: offsets, Values: values})
	r.note("Commit of %d: %v", len(ends), err)
	if !r.m.commit(now, ends) {
		if !errors.Is(err, frontier.ErrLost) {
			r.fail("Commit of a claim that is not a released one: %v", err)
		}
		r.keepFreed(ends)
		return
	}
	if err != nil {
		r.fail("Commit: %v", err)
	}
	r.written = true
	for n, at := range offsets {
		r.offsets[n] = at
	}
	for n, v := range values {
		if r.values[n] = v; v == nil {
			delete(r.values, n)
		}
	}
}

// reviveSome revives several URLs, a few of which are done.
func (r *run) reviveSome() {
	rs, now := make([]frontier.Request, 1+r.durableRand.IntN(4)), r.now()
	for i := range rs {
		rs[i] = r.request()
	}
	r.note("%s Revive %s", clock(now), names(rs))
	n, err := r.f.(frontier.Durable).Revive(r.ctx, rs...)
	r.written = true
	if want := r.m.revive(now, rs); n != want || err != nil {
		r.fail("Revive: %d, %v; want %d", n, err, want)
	}
}

// takeSome takes several requests, some of which are known.
func (r *run) takeSome() {
	rs, now := make([]frontier.Request, r.durableRand.IntN(4)), r.now()
	for i := range rs {
		rs[i] = r.request()
	}
	at := r.offsets["taken"] + 1
	r.note("%s Take %s", clock(now), names(rs))
	n, err := r.f.(frontier.Durable).Take(r.ctx, rs, frontier.Checkpoint{Offsets: map[string]int64{"taken": at}})
	r.written = true
	want := 0
	for _, q := range rs {
		if r.m.add(now, q) {
			want++
		}
	}
	if n != want || err != nil {
		r.fail("Take: %d, %v; want %d", n, err, want)
	}
	r.offsets["taken"] = at
}

// keepFreed keeps the claims of a failed Commit that are still released, so that they can be ended later.
func (r *run) keepFreed(ends []frontier.End) {
	for _, e := range ends {
		again := func(c frontier.Claim) bool { return c.ID == e.Claim.ID }
		if x := r.m.holding(e.Claim); x != nil && (x.freed || x.kept) && !slices.ContainsFunc(r.freed, again) {
			r.freed = append(r.freed, e.Claim)
		}
	}
}

// commitAll ends all claims released or on hold.
func (r *run) commitAll() {
	var ends []frontier.End
	for _, c := range r.freed {
		named := func(e frontier.End) bool { return e.Claim.ID == c.ID }
		if e := r.m.holding(c); e != nil && (e.freed || e.kept) && !slices.ContainsFunc(ends, named) {
			ends = append(ends, frontier.End{Claim: c})
		}
	}
	r.freed = nil
	if len(ends) > 0 {
		r.commitAs(ends, nil, nil)
		r.compareStored()
	}
}

// writeReleases makes a durable write before a crash that could otherwise lose a host's ready time set by a release.
func (r *run) writeReleases() {
	if r.durableRand == nil || r.written {
		return
	}
	for _, h := range r.m.hosts {
		if h.rested {
			r.commitAs(nil, map[string]int64{"written": r.offsets["written"] + 1}, nil)
			return
		}
	}
}

func (r *run) compareStored() {
	if r.durableRand != nil {
		r.stored(r.offsets, r.values)
	}
}
