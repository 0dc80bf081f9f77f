package crawler

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/amble-crawler/amble/render"
)

// budgetRow limits one kind of request or work, for one host and for the whole crawl.
type budgetRow struct {
	kind        string
	host, crawl allowance
}

// allowance is one limit: the field of Config that sets it, and its value, which is None if there is no limit. h are the settings
// of the host, nil if there are none.
type allowance struct {
	setting string
	of      func(c *Config, h *HostSettings) int
}

// budgets holds every budget. Whatever a URL of the queue costs is of one of these kinds, and with limits of the pages there is a
// limit of everything. A host pays for what its own pages and sitemaps lead to, wherever that is. Further limits hold for a page:
// its links, its redirects and its attempts (Limits.LinksPerPage, Limits.Redirects, Retries.Max).
var budgets = [...]budgetRow{
	kindPages: {
		"pages", // sitemaps count as pages, too
		allowance{"Limits.PagesPerHost", pagesOfHost},
		allowance{"Limits.Pages", pagesOfCrawl},
	},
	kindSitemaps: {
		"sitemaps",
		allowance{"Limits.Sitemaps", func(c *Config, _ *HostSettings) int { return c.Limits.Sitemaps }},
		allowance{"Limits.Pages", pagesOfCrawl},
	},
	kindRobots: {
		"robots.txt", // but for seeds, whose number the operator knows
		allowance{"Limits.PagesPerHost", func(c *Config, h *HostSettings) int { return times(defaultRobots, pagesOfHost(c, h)) }},
		allowance{"Limits.Robots", func(c *Config, _ *HostSettings) int { return c.Limits.Robots }},
	},
	kindResources: {
		"resources",
		allowance{"Render.MaxRequests", func(c *Config, h *HostSettings) int {
			return times(or(c.Render.MaxRequests, render.DefaultMaxRequests), pagesOfHost(c, h))
		}},
		allowance{"Limits.Resources", func(c *Config, _ *HostSettings) int { return c.Limits.Resources }},
	},
	kindProcessor: {
		"processor seconds", // of the browser; also, a host is left static after maxStuck pages in a row that had all of it
		allowance{"Render.MaxProcessor", func(c *Config, h *HostSettings) int { return times(c.processorSeconds(), pagesOfHost(c, h)) }},
		allowance{"Render.MaxProcessor", func(c *Config, h *HostSettings) int { return times(c.processorSeconds(), pagesOfCrawl(c, h)) }},
	},
}

// The rows of budgets.
const (
	kindPages = iota
	kindSitemaps
	kindRobots
	kindResources
	kindProcessor
)

func pagesOfCrawl(c *Config, _ *HostSettings) int { return c.Limits.Pages }

func pagesOfHost(c *Config, h *HostSettings) int {
	if most, _ := c.pagesOf(h); most > 0 {
		return most
	}
	return None
}

func (c *Config) processorSeconds() int {
	limit := or(c.Render.MaxProcessor, render.DefaultMaxProcessor)
	return int((limit + time.Second - 1) / time.Second)
}

// times returns n for each page, None if the pages have no limit.
func times(n, pages int) int {
	if pages < 0 || pages > math.MaxInt/n {
		return None
	}
	return n * pages
}

// budget hands out one ticket for each page that may still be fetched, so that a crawl of N pages fetches
// exactly N however many workers it has. A worker takes a ticket before it claims a URL and reports
// afterwards whether that was a page; for any other claim the ticket is returned.
type budget struct {
	mu   sync.Mutex
	cond *sync.Cond
	left int // tickets not handed out
	out  int // tickets in workers' hands

	unlimited bool
}

func newBudget(pages int) *budget {
	b := &budget{left: pages, unlimited: pages < 0}
	b.cond = sync.NewCond(&b.mu)
	return b
}

// take waits for a ticket. It returns false when there will be no more, or when ctx has ended.
func (b *budget) take(ctx context.Context) bool {
	if b.unlimited {
		return ctx.Err() == nil
	}
	defer context.AfterFunc(ctx, b.wake)()
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.left == 0 && b.out > 0 && ctx.Err() == nil {
		b.cond.Wait()
	}
	if b.left == 0 || ctx.Err() != nil {
		return false
	}
	b.left--
	b.out++
	return true
}

// wake takes the lock so that no waiter is between its check of ctx and its Wait.
func (b *budget) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cond.Broadcast()
}

// settle ends a ticket: it was spent on a page, or is returned.
func (b *budget) settle(spent bool) {
	if b.unlimited {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.out--
	if !spent {
		b.left++
	}
	b.cond.Broadcast()
}

// spend removes the tickets of pages that were fetched before the process began.
func (b *budget) spend(pages int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = max(0, b.left-pages)
}

// unspent returns how many tickets nobody has.
func (b *budget) unspent() int {
	if b.unlimited {
		return math.MaxInt
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
}

// exhausted reports whether every ticket was spent.
func (b *budget) exhausted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.unlimited && b.left == 0 && b.out == 0
}
