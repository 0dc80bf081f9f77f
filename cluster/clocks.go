package cluster

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// errClock breaks off a request whose clock is not known to be held any more.
var errClock = errors.New("cluster: the keeper of the address does not answer")

// Clocks is for crawler.Config.Clocks: it takes the clock of a request's address, which hosts of other shards share, from
// its keeper.
func (s *Shard) Clocks(ctx context.Context, u weburl.URL, addr netip.Addr) (*fetcher.Clock, error) {
	if s.node.Own != nil && s.node.Own(u.Host()) {
		return &fetcher.Clock{Context: ctx, Done: func(time.Duration) {}}, nil
	}
	id := newNonce()
	a := ask{what: askTake, who: binary.BigEndian.Uint64(id[:]) | 1, key: "a:" + addr.Unmap().WithZone("").String()}
	asked := time.Now()
	r, err := s.ask(ctx, a)
	if err != nil {
		r = reply{in: s.node.job.TTL / 6}
	}
	if !r.yes {
		until := time.Now().Add(max(r.in, 10*time.Millisecond))
		if err != nil {
			s.done(ctx, a, 0) // it may be granted
		}
		return nil, &politeness.NotYet{Until: until, Clauses: []ledger.Clause{{Name: ledger.ClauseAddress, Until: until}}}
	}
	held, lost := context.WithCancelCause(ctx)
	s.tasks.Go(func() { s.hold(held, a, lost) })
	return &fetcher.Clock{
		Context: held, Until: asked.Add(grantTime),
		Done: func(rest time.Duration) {
			lost(nil)
			s.done(ctx, a, rest)
		},
	}, nil
}

// hold tells the keeper that a request is under way, until ctx ends.
func (s *Shard) hold(ctx context.Context, a ask, lost context.CancelCauseFunc) {
	a.what = askHold
	heard := time.Now()
	for {
		wait(ctx, holdEvery)
		if ctx.Err() != nil {
			return
		}
		sent := time.Now()
		short, cancel := context.WithTimeout(ctx, holdLost-holdEvery)
		r, err := s.ask(short, a)
		cancel()
		switch {
		case err == nil && r.yes:
			heard = sent
		case err == nil, time.Since(heard) >= holdLost:
			lost(errClock)
			return
		}
	}
}

// done gives a clock back. A keeper that does not hear of it waits longer.
func (s *Shard) done(ctx context.Context, a ask, rest time.Duration) {
	a.what, a.rest = askDone, rest
	began := time.Now()
	s.tasks.Go(func() {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), holdTime)
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

// ask asks the keeper of a key.
func (s *Shard) ask(ctx context.Context, a ask) (reply, error) {
	shard := s.node.job.Shard(a.key)
	if k := s.node.shard(shard); k != nil {
		if err := k.Fence(); err != nil {
			return reply{}, err
		}
		return k.keeper.answer(time.Now(), a), nil
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

// serve answers questions to the keeper. Without its lease it says nothing.
func (s *Shard) serve(question []byte) []byte {
	a, ok := decodeAsk(question)
	if !ok || s.Fence() != nil {
		return nil
	}
	if a.what == askStatus {
		b, err := json.Marshal(s.status())
		if err != nil {
			return nil
		}
		return b
	}
	return s.keeper.answer(time.Now(), a).encode()
}
