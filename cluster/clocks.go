package cluster

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// errClock breaks off a request whose clock is not known to be held any more.
var errClock = errors.New("cluster: the keeper of a clock does not answer")

// Clocks is for crawler.Config.Clocks: it takes the clocks that a request shares with hosts of other shards from their
// keepers, one after the other: that of its host, if that is another shard's, of its domain and its address, and the rate of
// all requests. If one is not free, all are given back.
func (s *Shard) Clocks(ctx context.Context, u weburl.URL, addr netip.Addr) (*fetcher.Clock, error) {
	if err := s.heard(); err != nil {
		return nil, err
	}
	t := &taken{s: s, host: u.Host()}
	id := newNonce()
	t.who = binary.BigEndian.Uint64(id[:]) | 1
	if err := t.take(ctx, u, addr); err != nil {
		t.giveBack(ctx, 0)
		return nil, err
	}
	held, lost := context.WithCancelCause(ctx)
	if len(t.keys) > 0 {
		s.tasks.Go(func() { s.hold(held, t, lost) })
	}
	return &fetcher.Clock{
		Context: held, Until: t.until,
		Done: func(rest time.Duration) {
			lost(nil)
			t.giveBack(ctx, rest)
		},
	}, nil
}

// heard is a *politeness.NotYet while what was heard waits to be stored for longer than an engine takes that can be reached: an
// answer to a request that begins now, such as a Retry-After, might be known to no other owner.
func (s *Shard) heard() error {
	if s.owner.under.longest(time.Now()) < s.node.job.storeTime() {
		return nil
	}
	return notYet(reply{in: retry}, ledger.ClauseBusy)
}

// storeTime limits how long a commit or another append may take while requests begin.
func (j *Job) storeTime() time.Duration { return max(patience, j.TTL/10) }

// taken are the clocks that one request has.
type taken struct {
	s     *Shard
	who   uint64
	host  string
	own   bool     // that of the host, which is this shard's
	keys  []string // those of keepers
	until time.Time
}

// take takes all clocks of a request. The error is a *politeness.NotYet.
func (t *taken) take(ctx context.Context, u weburl.URL, addr netip.Addr) error {
	j := &t.s.node.job
	if t.s.node.Own == nil || !t.s.node.Own(t.host) {
		if err := t.takeHost(ctx); err != nil {
			return err
		}
		if j.PerDomain {
			if err := t.takeKey(ctx, keyDomain+u.Domain(), ledger.ClauseDomain); err != nil {
				return err
			}
		}
		if err := t.takeKey(ctx, keyAddress+addr.Unmap().WithZone("").String(), ledger.ClauseAddress); err != nil {
			return err
		}
	}
	if j.Rate > 0 {
		return t.takeToken(ctx)
	}
	return nil
}

// takeHost takes the host's clock, from the shard that it belongs to.
func (t *taken) takeHost(ctx context.Context) error {
	if t.s.node.job.Shard(t.host) != t.s.Number {
		return t.takeKey(ctx, keyHost+t.host, ledger.ClauseBusy)
	}
	now := time.Now()
	r, last := t.s.keeper.takeOwn(now, keyHost+t.host, t.who, t.s.foreign.has(t.host))
	if !r.yes {
		return notYet(r, ledger.ClauseBusy)
	}
	t.own = true
	if h := t.s.known(t.host); !last.IsZero() && now.Before(last.Add(h.Delay)) { // the gate has not heard of it
		return notYet(reply{in: last.Add(h.Delay).Sub(now)}, h.Clause)
	}
	return nil
}

// takeKey takes a clock from its keeper.
func (t *taken) takeKey(ctx context.Context, key, clause string) error {
	asked, keeper := time.Now(), t.s.node.job.keeperOf(key)
	round := t.s.holds.round(keeper)
	r, err := t.s.ask(ctx, ask{what: askTake, who: t.who, key: key})
	if err == nil && r.yes && !t.s.holds.add(keeper, round, key, t.who) {
		err = errClock
	}
	if err != nil {
		r = reply{in: t.s.node.job.TTL / 6}
	}
	if r.yes || err != nil { // it may be granted
		t.keys = append(t.keys, key)
		t.within(asked.Add(t.s.node.job.holdEvery()))
	}
	if !r.yes {
		return notYet(r, clause)
	}
	return nil
}

// takeToken takes a token of the rate of all requests.
func (t *taken) takeToken(ctx context.Context) error {
	asked := time.Now()
	r, err := t.s.ask(ctx, ask{what: askTake, who: t.who, key: keyRate})
	if err != nil {
		r = reply{in: t.s.node.job.TTL / 6}
	}
	if !r.yes {
		return notYet(r, ledger.ClauseRate)
	}
	t.within(asked.Add(tokenTime))
	return nil
}

// within notes that the request has to begin by then.
func (t *taken) within(until time.Time) {
	if t.until.IsZero() || until.Before(t.until) {
		t.until = until
	}
}

func notYet(r reply, clause string) error {
	until := time.Now().Add(max(r.in, 10*time.Millisecond))
	return &politeness.NotYet{Until: until, Clauses: []ledger.Clause{{Name: clause, Until: until}}}
}

// giveBack gives the clocks back, to rest that long.
func (t *taken) giveBack(ctx context.Context, rest time.Duration) {
	if t.own {
		t.s.keeper.doneOwn(time.Now(), keyHost+t.host, t.who, rest)
	}
	for _, key := range t.keys {
		t.s.holds.remove(key, t.who)
		t.s.done(ctx, ask{who: t.who, key: key}, rest)
	}
}

// hold tells the keepers that a request is under way, until ctx ends.
func (s *Shard) hold(ctx context.Context, t *taken, lost context.CancelCauseFunc) {
	heard := make([]time.Time, len(t.keys))
	for i := range heard {
		heard[i] = time.Now()
	}
	every, most := s.node.job.holdEvery(), s.node.job.holdLost()
	for {
		wait(ctx, every)
		for i, key := range t.keys {
			if ctx.Err() != nil {
				return
			}
			sent := time.Now()
			short, cancel := context.WithTimeout(ctx, (most-every)/time.Duration(len(t.keys)))
			r, err := s.ask(short, ask{what: askHold, who: t.who, key: key})
			cancel()
			switch {
			case err == nil && r.yes:
				heard[i] = sent
			case err == nil, time.Since(heard[i]) >= most:
				lost(errClock)
				return
			}
		}
	}
}

// done gives a clock back. A keeper that does not hear of it waits longer.
func (s *Shard) done(ctx context.Context, a ask, rest time.Duration) {
	a.what, a.rest = askDone, rest
	began := time.Now()
	s.tasks.Go(func() {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.node.job.holdTime())
		defer cancel()
		for short.Err() == nil {
			a.rest = max(0, rest-time.Since(began))
			if _, err := s.ask(short, a); err == nil || s.end.Err() != nil {
				return
			}
			wait(short, retry)
		}
	})
}

// keeperOf returns the shard that keeps a clock.
func (j *Job) keeperOf(key string) int {
	if host, ok := strings.CutPrefix(key, keyHost); ok {
		return j.Shard(host)
	}
	return j.Shard(key)
}

// ask asks the keeper of a key.
func (s *Shard) ask(ctx context.Context, a ask) (reply, error) {
	shard := s.node.job.keeperOf(a.key)
	if k := s.node.shard(shard); k != nil {
		if err := k.answers(); err != nil {
			return reply{}, err
		}
		return k.answer(a), nil
	}
	b, err := s.node.engine.Ask(ctx, shard, a.encode())
	if err != nil {
		return reply{}, err
	}
	r, ok := decodeReply(b)
	if !ok {
		return r, errClock
	}
	return r, nil
}

// serve answers questions to the shard. Without its lease it says nothing.
func (s *Shard) serve(question []byte) []byte {
	a, ok := decodeAsk(question)
	if !ok || s.answers() != nil {
		return nil
	}
	var v any
	switch a.what {
	case askStatus:
		v = s.status()
	case askGranted:
		v = s.node.granted(int(a.who))
	default:
		return s.answer(a).encode()
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

// answers returns why the shard's keeper grants nothing any more: its lease has ended, or the shard is about to be given back, and
// the next owner's keeper must know of each grant.
func (s *Shard) answers() error {
	if s.silent.Load() {
		return ErrNoAnswer
	}
	return s.Fence()
}

// answer is the keeper's answer.
func (s *Shard) answer(a ask) reply {
	now := time.Now()
	host, ok := strings.CutPrefix(a.key, keyHost)
	if !ok {
		return s.keeper.answer(now, a)
	}
	h := s.known(host)
	switch {
	case a.what == askTake && !s.foreign.has(host): // which the next keeper has to know
		s.foreign.learn(host)
		return reply{in: time.Second}
	case a.what == askTake && now.Before(h.NotBefore):
		return reply{in: h.NotBefore.Sub(now)}
	case a.what == askDone && a.rest > 0:
		a.rest = max(a.rest, h.Delay)
	}
	return s.keeper.answer(now, a)
}

// Gate tells the shard the gate of its crawl (crawler.Crawler.Gate), so that requests of other shards, where the robots.txt of
// one of their hosts redirects to one of this shard's, keep the pauses that it knows of.
func (s *Shard) Gate(g *politeness.Gate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = g
}

// known is what the crawl's gate knows of a host.
func (s *Shard) known(host string) politeness.HostInfo {
	s.mu.Lock()
	g := s.gate
	s.mu.Unlock()
	if g == nil {
		return politeness.HostInfo{Delay: s.node.job.Delay}
	}
	return g.Host(host)
}
