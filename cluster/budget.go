package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/amble-crawler/amble/frontier"
)

// grants is the register of the page budget: the part of a job's Limits.Pages that is left, and the totals that each shard was
// granted and has returned. Left plus all grants minus all returns always equals the limit.
//
// A shard commits no more pages than it was granted minus those that it has returned. It uses a grant once the register has it. To
// return pages it first commits the return under its fence, so that any later owner can complete it.
type grants struct {
	Left     int64
	Granted  []int64 // total granted to each shard; never decreases
	Returned []int64 // total returned by each shard
	Starving []int   `json:",omitempty"` // shards that wait for pages, sorted
	Limit    int64   `json:",omitempty"` // the limit as raised by an order. 0: the job's limit
}

func loadGrants(ctx context.Context, e Registers, j *Job) (g grants, rev uint64, err error) {
	b, rev, err := e.Load(ctx, registerPages)
	if err != nil {
		return g, 0, err
	}
	if rev == 0 {
		return grants{Left: j.Limits.Pages, Granted: make([]int64, j.Shards), Returned: make([]int64, j.Shards)}, 0, nil
	}
	if err := json.Unmarshal(b, &g); err != nil {
		return g, 0, fmt.Errorf("cluster: the register of pages: %w", err)
	}
	if more := j.Shards - len(g.Granted); j.Doubled > 0 && more > 0 && len(g.Returned) == len(g.Granted) { // g was stored before the doubling
		g.Granted, g.Returned = append(g.Granted, make([]int64, more)...), append(g.Returned, make([]int64, more)...)
	}
	if len(g.Granted) != j.Shards || len(g.Returned) != j.Shards {
		return g, 0, fmt.Errorf("cluster: the register of pages has %d shards, the job has %d", len(g.Granted), j.Shards)
	}
	return g, rev, nil
}

// raise raises the limit of pages according to the job's orders, and reports whether it has changed.
func (g *grants) raise(from, to int64) (raised bool) {
	from = max(from, g.Limit)
	if to > from {
		g.Left, g.Limit, raised = g.Left+to-from, to, true
	}
	return raised
}

func (g *grants) starve(shard int, starves bool) (changed bool) {
	at, is := slices.BinarySearch(g.Starving, shard)
	switch {
	case starves && !is:
		g.Starving = slices.Insert(g.Starving, at, shard)
	case !starves && is:
		g.Starving = slices.Delete(g.Starving, at, at+1)
	}
	return starves != is
}

// pages is a shard's part of a job's Limits.Pages.
type pages struct {
	s    *Shard
	turn chan struct{} // held by the goroutine that changes the register

	mu       sync.Mutex
	has      int64         // total granted to the shard, as last read from the register
	returned int64         // total number of pages returned, including returns that are not committed yet
	spent    int64         // number of committed pages
	out      int64         // claims in progress; each may become a page
	changed  chan struct{} // closed and replaced when a page may have become free

	told atomic.Int64 // the register has counted at least this number of returned pages
}

// Offsets of a shard's pages in its store.
const (
	offsetPages    = "cluster/pages" // number of committed pages, committed with the visits
	offsetReturned = "returned"
)

func newPages(s *Shard) *pages {
	return &pages{
		s: s, turn: make(chan struct{}, 1), changed: make(chan struct{}),
		returned: s.store.Offsets(ownerName)[offsetReturned], spent: s.store.Offsets("")[offsetPages],
	}
}

// granted returns the number of pages that the shard may have in total, and the number that it has committed.
func (p *pages) granted() (all, spent int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.has - p.returned, p.spent
}

// free returns the number of additional claims that may become pages. The caller must hold the lock.
func (p *pages) free() int64 { return p.has - p.returned - p.spent - p.out }

// any reports whether begin may succeed.
func (p *pages) any() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free() > 0
}

// begin reserves a page for a claim. It returns false if no page is free.
func (p *pages) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free() <= 0 {
		return false
	}
	p.out++
	return true
}

// end ends claims, of which spent are committed pages.
func (p *pages) end(claims, spent int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out -= int64(claims)
	p.spent += int64(spent)
	p.wake()
}

func (p *pages) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// await waits until begin may succeed, at most for the poll interval of the node.
func (p *pages) await(ctx context.Context) {
	p.mu.Lock()
	changed, free := p.changed, p.free()
	p.mu.Unlock()
	if free > 0 {
		return
	}
	short, cancel := context.WithTimeout(ctx, p.s.node.Poll)
	defer cancel()
	defer context.AfterFunc(p.s.end, cancel)() //nolint:contextcheck // whichever ends first
	select {
	case p.turn <- struct{}{}:
		got := p.take(short)
		<-p.turn
		if got {
			return
		}
	default: // another claim is already taking pages: wait for the change
	}
	select {
	case <-changed:
	case <-short.Done():
	}
}

// take takes some pages from the register if the shard has URLs to request, and reports whether a page is free. The caller holds p.turn.
func (p *pages) take(ctx context.Context) bool {
	p.mu.Lock()
	free := p.free()
	p.mu.Unlock()
	if free > 0 {
		return true
	}
	n := p.s.store.Stats()
	wanted := n.Queued+n.Waiting > 0
	got := false
	_ = p.change(ctx, func(g *grants) bool { // the next call tries again
		got = p.learn(g)
		if got || !wanted {
			return false
		}
		block := min(g.Left, max(1, g.Left/int64(8*p.s.node.job.Shards)))
		g.Left -= block
		g.Granted[p.s.Number] += block
		changed := g.starve(p.s.Number, block == 0)
		return changed || block > 0
	})
	return got
}

// learn updates the number of granted pages from the register, and reports whether it has grown and a page is free.
func (p *pages) learn(g *grants) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	more := g.Granted[p.s.Number] > p.has
	if more {
		p.has = g.Granted[p.s.Number]
		p.wake()
	}
	return more && p.free() > 0
}

// change applies f to the register and stores the result. f reports whether it has changed something.
func (p *pages) change(ctx context.Context, f func(*grants) bool) error {
	for ctx.Err() == nil {
		g, rev, err := loadGrants(ctx, p.s.node.engine, &p.s.node.job)
		if err != nil || !f(&g) {
			return err
		}
		if err = storeJSON(ctx, p.s.node.engine, registerPages, g, rev); err == nil {
			p.learn(&g)
			return nil
		}
		if !errors.Is(err, ErrConflict) {
			return err // the change may have been stored: the next read shows it
		}
	}
	return ctx.Err()
}

// tidy commits the return of pages that the shard does not need, if other shards wait for pages. It writes the committed returns to the
// register, and removes the shard from Starving if it no longer waits.
func (p *pages) tidy(ctx context.Context, starving []int) {
	select {
	case p.turn <- struct{}{}:
	default:
		return
	}
	defer func() { <-p.turn }()
	_, me := slices.BinarySearch(starving, p.s.Number)
	if len(starving) > 0 && !me {
		p.giveBack(ctx)
	}
	returned := p.s.store.Offsets(ownerName)[offsetReturned] // only committed returns may be written to the register
	starves := p.starves()
	if p.told.Load() >= returned && (starves || !me) {
		return
	}
	short, cancel := context.WithTimeout(ctx, p.s.node.job.TTL/6)
	defer cancel()
	_ = p.change(short, func(g *grants) bool { // the next call tries again
		changed := !starves && g.starve(p.s.Number, false)
		if more := returned - g.Returned[p.s.Number]; more > 0 {
			g.Returned[p.s.Number] += more
			g.Left += more
			return true
		}
		p.told.Store(returned)
		return changed
	})
}

// starves reports whether the shard has queued URLs but no free page.
func (p *pages) starves() bool {
	n := p.s.store.Stats()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free() <= 0 && n.Queued+n.Waiting > 0
}

// giveBack commits the return of pages that no queued URL needs. tidy writes the return to the register, possibly in a later owner.
func (p *pages) giveBack(ctx context.Context) {
	n := p.s.store.Stats()
	p.mu.Lock()
	more := p.free() - int64(n.Queued+n.Waiting)
	if more > 0 {
		p.returned += more // from here on, these pages are not used, even if the commit fails
	}
	returned := p.returned
	p.mu.Unlock()
	if more > 0 {
		c := frontier.Checkpoint{Owner: ownerName, Offsets: map[string]int64{offsetReturned: returned}}
		_ = p.s.store.Commit(ctx, nil, c) // the store keeps the error
	}
}
