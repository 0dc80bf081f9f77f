package crawler_test

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// careless sends a crawl's requests but mishandles Permits: it uses them late or repeatedly, reports them late, or also
// reports another response.
type careless struct {
	*fetcher.Fetcher
	*process

	mu       sync.Mutex
	n        int // number of calls so far
	requests int
	at       time.Time // time of the last address look-up
	asked    int       // number of look-ups at that time
}

// tooMany is more requests than any of these crawls needs, and more look-ups than happen at one instant.
const tooMany = 20_000

// spins aborts a crawl that repeats look-ups without ever waiting.
func (f *careless) spins() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Equal(f.at) {
		f.asked++
	} else {
		f.at, f.asked = now, 0
	}
	if f.asked == tooMany {
		f.t.Errorf("looked up in vain, %d times at one instant", f.asked)
		f.left = 0
		f.crawler.Drain()
	}
}

// count aborts a crawl that does not end by itself.
func (f *careless) count() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.requests++; f.requests == tooMany {
		f.crawler.Drain()
	}
}

// dice returns the source of randomness for one call.
func (f *careless) dice(u weburl.URL) *rand.Rand {
	f.mu.Lock()
	f.n++
	n := f.n
	f.mu.Unlock()
	h := fnv.New64a()
	h.Write([]byte(u.String() + " " + strconv.Itoa(n)))
	return rand.New(rand.NewPCG(f.seed, h.Sum64()))
}

// Resolve writes some addresses as IPv4 in IPv6.
func (f *careless) Resolve(ctx context.Context, u weburl.URL) (netip.Addr, error) {
	f.spins()
	a, err := f.Fetcher.Resolve(ctx, u)
	if err == nil && f.Mapped && a.Is4() && f.dice(u).IntN(2) == 0 {
		a = netip.AddrFrom16(a.As16())
	}
	return a, err
}

func (f *careless) Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error) {
	f.count()
	if !f.Careless {
		return f.Fetcher.Fetch(ctx, p)
	}
	rng := f.dice(p.URL())
	switch rng.IntN(12) {
	case 0:
		rest(ctx, f.ttl()+time.Duration(rng.IntN(9000))*time.Millisecond)
		defer f.process.wg.Go(func() {
			rest(f.ctx, time.Millisecond) // after the Gate has the report
			f.killSoon(whenLate, p.URL().Host())
		})
	case 1:
		d := time.Duration(rng.IntN(2500)) * time.Millisecond
		rest(ctx, d)
		f.process.saveSoon()
		rest(ctx, d)
		f.killSoon(whenRest, "")
	}
	page, err := f.Fetcher.Fetch(ctx, p)
	if rng.IntN(8) == 0 {
		if again, err := f.Fetcher.Fetch(ctx, p); err == nil {
			again.Release()
		}
	}
	if err == nil && rng.IntN(4) == 0 && p.Purpose() == politeness.Page && f.mayDawdle(page) {
		rest(ctx, time.Duration(rng.IntN(3000))*time.Millisecond)
	}
	if rng.IntN(8) == 0 {
		d := time.Millisecond + time.Duration(rng.IntN(5000))*time.Millisecond
		f.process.wg.Go(func() {
			rest(f.ctx, d)
			if f.ctx.Err() == nil {
				f.crawler.Gate().Report(p, politeness.Reply{Status: 200})
			}
		})
	}
	return page, err
}

// mayDawdle reports whether a process may end before it reports a page's response, because the servers cannot notice that:
// the response requires no pause, and no other requests to its host are under way.
func (f *careless) mayDawdle(p *fetcher.Page) bool {
	return p.Status < 400 && !f.Own && f.expect.LatencyFactor == 0
}

// rest sleeps until d has passed or the context ends.
func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// forgetful is a frontier that forgets the hosts' waits when a Run ends, to test that the Gate enforces them by itself. Sometimes it
// gives a claim a short deadline.
type forgetful struct {
	*sim
	*frontier.Memory

	mu     sync.Mutex
	until  time.Time // end of all waits; zero: no limit
	claims map[string][]claimed
}

// claimed is a claim given to a worker.
type claimed struct{ at, deadline time.Time }

// forget limits all waits to end at until. The zero time removes the limit.
func (f *forgetful) forget(until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = until
}

func (f *forgetful) Settle(ctx context.Context, c frontier.Claim, s frontier.Settlement) error {
	f.mu.Lock()
	until := f.until
	f.mu.Unlock()
	if time.Now().Before(until) {
		s.ReadyAt = earlier(s.ReadyAt, until)
		if s.Again != nil {
			again := *s.Again
			again.NotBefore = earlier(again.NotBefore, until)
			s.Again = &again
		}
	}
	return f.Memory.Settle(ctx, c, s)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (f *forgetful) Claim(ctx context.Context) (frontier.Claim, error) {
	c, err := f.Memory.Claim(ctx)
	if err != nil || !f.Hasty {
		return c, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	u := c.URL.String()
	rng := rand.New(rand.NewPCG(f.seed, uint64(len(u)+100*len(f.claims[u]))))
	d := time.Hour
	if rng.IntN(3) == 0 {
		d = time.Duration(1+rng.IntN(5000)) * time.Millisecond
	}
	c.Deadline = time.Now().Add(d)
	if f.claims == nil {
		f.claims = map[string][]claimed{}
	}
	f.claims[u] = append(f.claims[u], claimed{time.Now(), c.Deadline})
	return c, nil
}

// deadline returns the deadline of the claim under which a URL's request was allowed, or zero.
func (f *forgetful) deadline(u string, allowed time.Time) (t time.Time) {
	for _, c := range f.claims[u] {
		if !c.at.After(allowed) {
			t = c.deadline
		}
	}
	return t
}
