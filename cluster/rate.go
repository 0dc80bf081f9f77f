package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// rateKey is the key of the register of the total rate.
const rateKey = "r:all"

// lastTokens is the register of the total rate. It describes the tokens that were reserved last.
type lastTokens struct {
	End int64         `json:"end"` // time after the reserved tokens, by the engine's clock
	Gap time.Duration `json:"gap"` // interval between the tokens
	By  claimant      `json:"by"`  // claimant that reserved the tokens
}

// tokenTime limits the lifetime of a rate token.
const tokenTime = time.Second

// tokens holds a process's tokens for the total rate, for crawls with the same interval. It reserves several tokens at a time, for
// successive times. If the last tokens had another interval, the longer interval separates these from the new tokens.
type tokens struct {
	gap time.Duration
	now chan struct{} // held by the goroutine that asks the engine for more

	mu   sync.Mutex
	next time.Time // time of the next reserved token
	left int
	told time.Time // last time that take returned to a waiting request
	by   claimant  // claimant that reserved the tokens before these
}

// tokens returns the tokens for an interval.
func (k *Clocks) tokens(gap time.Duration) *tokens {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.rates[gap]
	if r == nil {
		r = &tokens{gap: gap, now: make(chan struct{}, 1)}
		k.rates[gap] = r
	}
	return r
}

// tokensFor is the length of time for which tokens are reserved at once.
const tokensFor = 250 * time.Millisecond

// take takes a token for a request, which must begin before the token expires. The error is a *politeness.NotYet.
func (r *tokens) take(k *Clocks, t *politeness.Turn) error {
	ctx, cancel := context.WithTimeout(k.ctx, 2*patience)
	defer cancel()
	if err := k.look(ctx); err != nil {
		return err
	}
	select {
	case r.now <- struct{}{}:
		defer func() { <-r.now }()
	case <-ctx.Done():
		return k.failed(ctx.Err())
	}
	now, me := time.Now(), claimant{t.Gate, k.job, t.Crawl}
	r.mu.Lock()
	for r.left > 0 && now.Sub(r.next) >= tokenTime {
		r.next, r.left = r.next.Add(r.gap), r.left-1
	}
	have := r.left > 0
	r.mu.Unlock()
	if !have {
		if err := r.fetch(ctx, k, me); err != nil {
			return k.failed(err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := ledger.Clause{Name: ledger.ClauseRate, Until: r.next, Delay: ledger.Duration(r.gap)}
	if others(r.by, me) {
		c.By = r.by.Crawl
	}
	if now = time.Now(); r.next.After(now) { // waiting requests get successive times
		if next := r.told.Add(r.gap); r.told.After(now) && next.After(c.Until) {
			c.Until = next
		}
		r.told = c.Until
		return &politeness.NotYet{Until: c.Until, Clauses: []ledger.Clause{c}}
	}
	if c.By != "" && !r.told.Before(r.next) {
		t.Waited = c
	}
	t.Until = r.next.Add(tokenTime)
	r.next, r.left = r.next.Add(r.gap), r.left-1
	return nil
}

// fetch reserves tokens in the engine.
func (r *tokens) fetch(ctx context.Context, k *Clocks, me claimant) error {
	n := max(1, int(tokensFor/r.gap))
	for range tries {
		b, rev, err := k.store.LoadClock(ctx, rateKey)
		if err != nil {
			return err
		}
		var last lastTokens
		if len(b) > 0 {
			if err := json.Unmarshal(b, &last); err != nil {
				return err
			}
		}
		first := max(k.late(), last.End+int64(max(0, r.gap-last.Gap)))
		end := first + int64(n)*int64(r.gap)
		life := time.Duration(end-k.early()) + clockRemember
		b, _ = json.Marshal(lastTokens{end, r.gap, me}) // marshalling this cannot fail
		if _, err = k.store.StoreClock(ctx, rateKey, b, rev, life); err == nil {
			r.mu.Lock()
			r.next, r.left, r.by = k.local(first), n, last.By
			r.mu.Unlock()
			return nil
		}
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return ErrConflict
}
