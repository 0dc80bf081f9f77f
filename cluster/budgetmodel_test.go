package cluster

import (
	"context"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/weburl"
)

// BudgetOwner is a process that owns a shard, or wrongly believes that it does. Its queue is real; a test serves the claimed URLs.
type BudgetOwner struct {
	s      *Shard
	q      *queue
	claims []frontier.Claim // claimed URLs whose pages are not committed yet
}

// OwnBudget takes over a shard.
func OwnBudget(ctx context.Context, e Engine, shard int, dir string) (*BudgetOwner, error) {
	j, err := LoadJob(ctx, e)
	if err != nil {
		return nil, err
	}
	n, err := NewNode(ctx, Config{
		Engine: e, Name: "n", Dir: dir, Poll: 50 * time.Millisecond, Crawl: func(context.Context, *Shard) error { return nil },
		Store: disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10, PrefetchSize: 1 << 16, HostSlots: func(string) int { return 100 }},
	})
	if err != nil {
		return nil, err
	}
	n.arise(ctx)
	last, err := e.Last(ctx, shard)
	if err != nil {
		return nil, err
	}
	o, err := takeOver(ctx, e, shard, n.Name, j.TTL, last)
	if err != nil {
		return nil, err
	}
	o.lease.life = 1 << 60 // the test never renews the lease
	s, err := n.openShard(o)
	if err != nil {
		return nil, err
	}
	return &BudgetOwner{s: s, q: s.Frontier().(*queue)}, nil
}

// Add queues new URLs of the shard's own hosts.
func (o *BudgetOwner) Add(from, n int) error {
	host := ""
	for i := 0; host == ""; i++ {
		if h := fmt.Sprintf("h%d.test", i); o.s.node.job.Shard(h+":80") == o.s.Number {
			host = h
		}
	}
	for i := range n {
		u, err := weburl.Parse(fmt.Sprintf("http://%s/%d", host, from+i))
		if err != nil {
			return err
		}
		if _, err := o.q.Add(context.Background(), frontier.Request{URL: u}); err != nil {
			return err
		}
	}
	return nil
}

// Alive reports whether the lease of the process still holds, so that the process can commit.
func (o *BudgetOwner) Alive() bool { return o.s.owner.lease.check() == nil }

// claim claims a URL, if possible.
func (o *BudgetOwner) claim() (frontier.Claim, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	c, err := o.q.Claim(ctx)
	return c, err == nil
}

// Page serves a claim that counts as a page.
func (o *BudgetOwner) Page() {
	if c, ok := o.claim(); ok && o.q.Release(context.Background(), c, time.Time{}) == nil {
		o.claims = append(o.claims, c)
	}
}

// None serves a claim that does not count as a page.
func (o *BudgetOwner) None() {
	if c, ok := o.claim(); ok {
		_ = o.q.Settle(context.Background(), c, frontier.Settlement{Again: &frontier.Again{}})
	}
}

// Commit commits the served claims.
func (o *BudgetOwner) Commit() {
	var ends []frontier.End
	for _, c := range o.claims {
		ends = append(ends, frontier.End{Claim: c, Settlement: frontier.Settlement{Page: true}})
	}
	if len(ends) > 0 && o.q.Commit(context.Background(), ends, frontier.Checkpoint{}) == nil {
		o.claims = nil
	}
}

// Tidy calls pages.tidy.
func (o *BudgetOwner) Tidy(starving []int) { o.s.pages.tidy(context.Background(), starving) }

// Committed returns the number of pages that the shard has committed, as far as this owner knows.
func (o *BudgetOwner) Committed() int64 { return o.s.store.Offsets("")[offsetPages] }

// Close ends the process.
func (o *BudgetOwner) Close() {
	o.s.drain()
	o.s.tasks.Wait()
	o.s.node.clocks.Close()
	_ = o.s.store.Close()
	synctest.Wait()
}

// ReadGrants reads the register of pages.
func ReadGrants(e Engine, j Job) (grants, error) {
	g, _, err := loadGrants(context.Background(), e, &j)
	return g, err
}

// CommitLink serves a claimed URL whose page has one link, and commits the page.
func (o *BudgetOwner) CommitLink(ctx context.Context, link weburl.URL) error {
	if len(o.claims) == 0 {
		o.Page()
	}
	s := frontier.Settlement{Page: true, Links: []frontier.Request{{URL: link, Depth: 1}}}
	return o.q.Commit(ctx, []frontier.End{{Claim: o.claims[0], Settlement: s}}, frontier.Checkpoint{})
}
