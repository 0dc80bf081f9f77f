package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// seeds returns the range of seeds of the runs.
func (o Options) seeds() (from, to uint64) {
	from = max(1, o.Seed)
	if o.Runs == 0 {
		return from, from + 30
	}
	return from, from + uint64(o.Runs)
}

// random makes runs of random operations. Each run begins with the store of the last run, without pending URLs, and uses new hosts,
// because hosts of the last run may not be ready yet.
func (k *kit) random(from, to uint64) {
	turn := false
	for seed := from; seed < to; seed++ {
		r := &run{kit: k, seed: seed, rand: rand.New(rand.NewPCG(seed, 0)), m: newModel()}
		r.m.bestFirst = k.opts.BestFirst
		r.m.turn = turn
		r.beginDurable()
		r.base = k.f.Stats().Done
		r.hosts, r.paths, r.links = 1+r.rand.IntN(6), 2+r.rand.IntN(60), r.rand.IntN(6)
		for range 250 {
			r.operation()
			r.compareStats()
		}
		r.finish()
		turn = r.m.turn
	}
}

// run is one sequence of random operations on the store and on the model.
type run struct {
	*kit
	seed    uint64
	rand    *rand.Rand
	m       *model
	hosts   int // number of hosts
	paths   int // number of paths of each host
	links   int // maximum number of links at once
	base    int // number of URLs that earlier runs have finished
	held    []frontier.Claim
	history []string

	durableRand *rand.Rand       // nil: the store is not Durable
	freed       []frontier.Claim // claims that are released or on hold
	written     bool             // something durable was written since the last release
	offsets     map[string]int64
	values      map[string][]byte
}

func (r *run) operation() {
	if r.durableOperation() {
		return
	}
	switch n := r.rand.IntN(100); {
	case n < 22:
		r.addSome()
	case n < 55:
		r.claimOne()
	case n < 82:
		r.settleOne()
	case n < 92:
		r.letTimePass()
	case n < 95:
		r.lookUp()
	case n < 98:
		r.rescoreSome()
	default:
		r.crashNow()
	}
}

// finish settles all URLs, so that the order of the remaining ones is compared, too.
func (r *run) finish() {
	for {
		for len(r.held) > 0 {
			r.settleAs(0, frontier.Settlement{})
		}
		r.commitAll()
		if errors.Is(r.claimWithin(r.limit), frontier.ErrDrained) {
			return
		}
	}
}

func (r *run) note(format string, args ...any) {
	r.history = append(r.history, fmt.Sprintf(format, args...))
}

// fail ends the test with the operations that led to the failure.
func (r *run) fail(format string, args ...any) {
	r.Helper()
	last := r.history[max(0, len(r.history)-40):]
	r.Fatalf("%s\nOptions{Seed: %d, Runs: 1} repeats it. Its last operations:\n%s",
		fmt.Sprintf(format, args...), r.seed, strings.Join(last, "\n"))
}

// request returns a Request for one of a few URLs, so that many are known.
func (r *run) request() frontier.Request {
	q := frontier.Request{
		URL:      r.page(fmt.Sprintf("h%d-%d/%d", r.rand.IntN(r.hosts), r.seed, r.rand.IntN(r.paths))),
		Depth:    r.rand.IntN(6),
		Priority: int8(max(-1, r.rand.IntN(6)-4)),
		Kind:     frontier.Kind(r.rand.IntN(3)),
		Beyond:   uint8(r.rand.IntN(frontier.MaxBeyond + 1)),
	}
	if r.rand.IntN(2) == 0 {
		q.Via = r.page(fmt.Sprintf("via/%d", r.rand.IntN(3)))
	}
	if r.rand.IntN(4) == 0 {
		q.Meta = fmt.Appendf(nil, "meta %d", r.rand.IntN(100))
		q.Hops = []string{"http://hop.test/"}
	}
	if r.rand.IntN(2) == 0 { // so that some requests raise others
		q.Meta, q.Hops, q.Beyond, q.Kind = nil, nil, 0, frontier.KindAnchor
	}
	if r.rand.IntN(3) == 0 {
		q.Score = float64(r.rand.IntN(5)-2) / 4
	}
	if e := r.m.urls[q.URL.Key()]; e != nil && (e.back || e.state == stateClaimed) && levels(&q, &e.req) > 0 {
		q.Priority, q.Score = e.req.Priority, e.req.Score // F20 leaves open whether a URL that was put back is raised
	}
	return q
}

func (r *run) requests(most int) []frontier.Request {
	rs := make([]frontier.Request, r.rand.IntN(most+1))
	for i := range rs {
		rs[i] = r.request()
	}
	return rs
}

// later returns a future time in whole milliseconds, the precision that a store may have on disk, or no time. If times cannot be compared
// exactly, it returns no time.
func (r *run) later(most int) time.Time {
	if !r.opts.Virtual || r.rand.IntN(4) == 0 {
		return time.Time{}
	}
	if r.rand.IntN(10) == 0 {
		most *= 50
	}
	return time.Now().Truncate(time.Millisecond).Add(time.Duration(r.rand.IntN(most)) * time.Millisecond)
}

func (r *run) addSome() {
	rs, now := r.requests(1+r.links), r.now()
	r.compareKnown(rs)
	r.note("%s Add %s", clock(now), names(rs))
	n, err := r.f.Add(r.ctx, rs...)
	r.written = r.written || n > 0
	want := 0
	for _, q := range rs {
		if r.m.add(now, q) {
			want++
		}
	}
	if n != want || err != nil {
		r.fail("Add: %d, %v; want %d", n, err, want)
	}
}

// now advances the model to the present time and returns that.
func (r *run) now() time.Time {
	now := time.Now()
	r.m.advance(now)
	return now
}

func (r *run) claimOne() {
	// The half millisecond makes end differ from all times that the store was given.
	end := time.Now().Truncate(time.Millisecond).Add(time.Duration(1+r.rand.IntN(40))*time.Millisecond + 500*time.Microsecond)
	limit := time.Until(end)
	s := r.m.stats()
	if !r.opts.Virtual && (len(r.m.claimable(time.Now())) > 0 || s.Queued+s.Waiting+s.Claimed == 0) {
		limit = r.limit // long enough for a busy machine
	}
	_ = r.claimWithin(limit)
}

// claimWithin makes one Claim, compares its result with the model, and returns its error.
func (r *run) claimWithin(limit time.Duration) error {
	now := r.now()
	want, at, wantErr := r.expect(now, now.Add(limit))
	o := r.try(limit)
	r.note("%s Claim: %s, %v", clock(time.Now()), name(o.c.Request), o.err)
	if wantErr != nil || o.err != nil {
		if !errors.Is(o.err, wantErr) {
			r.fail("Claim: %s, %v; want %s, %v", name(o.c.Request), o.err, entryNames(want), wantErr)
		}
	} else {
		r.take(o.c, want)
	}
	if got := time.Now(); r.opts.Virtual && !got.Equal(at) {
		r.fail("Claim returned at %s, want %s", clock(got), clock(at))
	}
	return wantErr
}

// expect returns the result that a Claim between now and limit must have, and its time. In real time, all hosts must always be ready, and
// their order depends on times that are not known exactly.
func (r *run) expect(now, limit time.Time) (want []*entry, at time.Time, err error) {
	for {
		r.m.advance(now)
		want = r.m.claimable(now)
		s := r.m.stats()
		next, ok := r.m.next(now)
		switch {
		case len(want) > 0:
			return r.choices(want), now, nil
		case s.Queued+s.Waiting+s.Claimed == 0:
			return nil, now, frontier.ErrDrained
		case !ok || next.After(limit):
			r.m.advance(limit)
			return nil, limit, context.DeadlineExceeded
		}
		now = next
	}
}

func (r *run) choices(want []*entry) []*entry {
	if r.opts.Virtual {
		return want
	}
	want = nil
	for _, h := range r.m.hosts {
		if h.free {
			want = append(want, h.best())
		}
	}
	return want
}

func (r *run) take(c frontier.Claim, want []*entry) {
	r.Helper()
	e := r.m.urls[c.URL.Key()]
	if e == nil || !slices.Contains(want, e) {
		r.fail("claimed %s, want %s", name(c.Request), entryNames(want))
	}
	if c.Attempt != e.attempt {
		r.fail("attempt %d, want %d", c.Attempt, e.attempt)
	}
	if !r.opts.Virtual {
		e.req.Queued = c.Queued
	}
	if !equal(c.Request, e.req) {
		r.fail("claimed\n%+v, want\n%+v", c.Request, e.req)
	}
	if left := time.Until(c.Deadline); r.opts.Virtual && r.opts.ClaimTimeout > 0 && left != r.opts.ClaimTimeout {
		r.fail("the deadline is %v away, want %v", left, r.opts.ClaimTimeout)
	}
	r.m.claimed(time.Now(), e, c)
	r.held = append(r.held, c)
}

func (r *run) settleOne() {
	if len(r.held) == 0 {
		return
	}
	s := r.settlement()
	r.settleAs(r.rand.IntN(len(r.held)), s)
}

func (r *run) settlement() frontier.Settlement {
	s := frontier.Settlement{Links: r.requests(r.links), ReadyAt: r.later(60)}
	if r.rand.IntN(3) == 0 {
		s.Again = &frontier.Again{Retry: r.rand.IntN(2) == 0, NotBefore: r.later(90)}
	}
	return s
}

// settleAs settles the claim held at index i, and compares the result with the model.
func (r *run) settleAs(i int, s frontier.Settlement) {
	c, now := r.held[i], r.now()
	if r.rand.IntN(10) > 0 {
		r.held = slices.Delete(r.held, i, i+1)
	} // otherwise it is settled again later, which must return ErrLost
	r.note("%s Settle %s: again %s, ready %s, links %s", clock(now), name(c.Request), againText(s.Again), clock(s.ReadyAt), names(s.Links))
	err := r.f.Settle(r.ctx, c, s)
	switch held := r.m.settle(now, c, s); {
	case held && err != nil:
		r.fail("Settle: %v", err)
	case held:
		r.written = true
	case !held && !errors.Is(err, frontier.ErrLost):
		r.fail("Settle of a claim that is over: %v", err)
	}
}

func (r *run) letTimePass() {
	if r.opts.Virtual {
		d := time.Duration(r.rand.IntN(80)) * time.Millisecond
		if r.rand.IntN(10) == 0 {
			d = r.opts.ClaimTimeout + time.Duration(r.rand.IntN(100))*time.Millisecond
		}
		r.note("%s %v pass", clock(time.Now()), d)
		r.pause(d)
	}
}

// lookUp checks Known and HostPending for a URL that is not about to be added.
func (r *run) lookUp() {
	q := r.request()
	r.now()
	r.compareKnown([]frontier.Request{q})
}

func (r *run) crashNow() {
	again := r.crash
	if r.reopen != nil && (again == nil || r.rand.IntN(2) == 0) {
		again = r.reopen
	}
	if again == nil || r.rand.IntN(2) == 0 {
		return
	}
	r.writeReleases()
	r.pause(time.Until(time.Now().Truncate(time.Millisecond).Add(time.Millisecond))) // because delays must be in whole milliseconds
	r.now()
	r.note("%s crash", clock(time.Now()))
	r.f = again(r.f)
	r.m.crash(r.now(), r.opts.ReopenDelay)
	r.compareStored()
}

func (r *run) compareStats() {
	r.now()
	want := r.m.stats()
	want.Done += r.base
	if got := r.f.Stats(); got != want {
		r.fail("Stats %+v, want %+v", got, want)
	}
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format("15:04:05.000")
}

func againText(a *frontier.Again) string {
	if a == nil {
		return "no"
	}
	return fmt.Sprintf("at %s, retry %t", clock(a.NotBefore), a.Retry)
}

func name(q frontier.Request) string {
	return fmt.Sprintf("%s(priority %d, score %v, depth %d)", strings.TrimPrefix(q.URL.String(), "http://"), q.Priority, q.Score, q.Depth)
}

func names(rs []frontier.Request) string {
	var all []string
	for _, q := range rs {
		all = append(all, name(q))
	}
	return strings.Join(all, " ")
}

func entryNames(es []*entry) string {
	var all []string
	for _, e := range es {
		all = append(all, name(e.req))
	}
	return "one of [" + strings.Join(all, " ") + "]"
}
