package crawler

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/weburl"
	"github.com/amble-crawler/amble/weburl/hostmatch"
)

// budgetRow limits one kind of request or work, for one host and for the whole crawl.
type budgetRow struct {
	kind        string
	host, crawl allowance
}

// allowance is one limit: the name of the Config field that sets it, and a function that returns its value. h has the settings of the
// host, or is nil.
type allowance struct {
	setting string
	of      func(c *Config, h *HostSettings) Limit
}

// budgets holds every budget. Every cost of a queued URL is of one of these kinds, so limiting pages limits everything else. Work is
// charged to the host whose page or sitemap led to it, even if the URL has another host. Further limits apply per page: its links, its
// redirects and its attempts (Limits.LinksPerPage, Limits.Redirects, Retries.Max).
var budgets = [...]budgetRow{
	kindPages: {
		"pages", // sitemaps count as pages, too
		allowance{"Limits.PagesPerHost", pagesOfHost},
		allowance{"Limits.Pages", pagesOfCrawl},
	},
	kindSitemaps: {
		"sitemaps",
		allowance{"Limits.Sitemaps", func(c *Config, _ *HostSettings) Limit { return c.Limits.Sitemaps }},
		allowance{"Limits.Pages", pagesOfCrawl},
	},
	kindRobots: {
		"robots.txt", // requests for the robots.txt of seeds do not count, because the operator chose their number
		allowance{"Limits.PagesPerHost", func(c *Config, h *HostSettings) Limit { return times(defaultRobots, pagesOfHost(c, h)) }},
		allowance{"Limits.Robots", func(c *Config, _ *HostSettings) Limit { return c.Limits.Robots }},
	},
	kindResources: {
		"resources",
		allowance{"Render.MaxRequests", func(c *Config, h *HostSettings) Limit {
			return times(or(c.Render.MaxRequests, render.DefaultMaxRequests), pagesOfHost(c, h))
		}},
		allowance{"Limits.Resources", func(c *Config, _ *HostSettings) Limit { return c.Limits.Resources }},
	},
	kindProcessor: {
		"processor seconds", // independently, maxStuck pages in a row that use up their processor time end rendering at their host
		allowance{"Render.MaxProcessor", func(c *Config, h *HostSettings) Limit { return times(c.processorSeconds(), pagesOfHost(c, h)) }},
		allowance{"Render.MaxProcessor", func(c *Config, h *HostSettings) Limit { return times(c.processorSeconds(), pagesOfCrawl(c, h)) }},
	},
}

// Indexes of budgets.
const (
	kindPages = iota
	kindSitemaps
	kindRobots
	kindResources
	kindProcessor
)

func pagesOfCrawl(c *Config, _ *HostSettings) Limit { return c.Limits.Pages }

func pagesOfHost(c *Config, h *HostSettings) Limit {
	if most, _ := c.pagesOf("", h); most > 0 {
		return most
	}
	return Unlimited
}

func (c *Config) processorSeconds() int {
	limit := or(c.Render.MaxProcessor, render.DefaultMaxProcessor)
	return int((limit + time.Second - 1) / time.Second)
}

// times returns the limit for n units per page, given the limit of pages.
func times(n int, pages Limit) Limit {
	if pages < 0 || pages > math.MaxInt64/Limit(n) {
		return Unlimited
	}
	return Limit(n) * pages
}

// budget hands out one ticket for each page that may still be fetched, so that a crawl of N pages fetches exactly N however many workers
// it has. A worker takes a ticket before it claims a URL and calls settle when the claim has ended: a page uses up the ticket, any other
// claim returns it.
type budget struct {
	mu   sync.Mutex
	cond *sync.Cond
	left int // tickets not handed out
	out  int // tickets held by workers

	unlimited bool
}

func newBudget(pages Limit) *budget {
	b := &budget{left: int(pages), unlimited: pages < 0}
	b.cond = sync.NewCond(&b.mu)
	return b
}

// take waits for a ticket. It returns false if no more tickets will be available, or if ctx has ended.
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

// wake wakes all waiters. It takes the lock, so that no waiter is between its check of ctx and its Wait.
func (b *budget) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cond.Broadcast()
}

// settle uses up a ticket if spent is set, and returns it otherwise.
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

// spend removes the tickets of pages that were fetched by earlier processes.
func (b *budget) spend(pages int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = max(0, b.left-pages)
}

// unspent returns the number of tickets that are neither used nor held.
func (b *budget) unspent() int {
	if b.unlimited {
		return math.MaxInt
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
}

// exhausted reports whether every ticket was used.
func (b *budget) exhausted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.unlimited && b.left == 0 && b.out == 0
}

// retryShare is the number of fetched pages that permit one more retry, for a host and for the crawl.
const retryShare = 10

// retry takes a retry from the budgets of a host and of the crawl. It returns false if one of them is used up.
func (t *tally) retry(host string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.retried[host] >= RetriesPerHost+t.hosts[host]/retryShare || t.r.Retries >= RetriesInAll+t.r.Pages/retryShare {
		return false
	}
	t.retried[host]++
	t.r.Retries++
	if t.fresh != nil {
		t.fresh[host] = true
	}
	return true
}

// spent explains in v.Detail that the retry budget is used up.
func (v *Visit) spent() {
	v.Detail = "not tried again: the retries of its host, or of the crawl, are used up"
	if v.Reason != "" {
		v.Detail += " (the last attempt: " + v.Reason + ")"
	}
	v.Reason = reasonRetryBudget
}

// spending counts the bytes, sitemaps and resources of a host that has separate budgets.
type spending struct {
	bytes int64
	began time.Duration // crawl time at the host's first request, plus 1 ns; 0: no request yet
	addr  netip.Addr    // the host's address when the crawl first met it; set only if an entry for an address range may apply
}

// settings returns the entry of Config.Hosts that applies to a claim's host, or nil. If no entry matches the host by name, the address at
// which the crawl first meets the host decides. The error is that of the address look-up.
func (a *attempt) settings(ctx context.Context) (*HostSettings, error) {
	t, u := a.run.hosts, a.claim.URL
	if t == nil {
		return nil, nil //nolint:nilnil // no entry applies
	}
	if t.located && t.named(u.Host()) == hostmatch.None && !a.run.tally.address(u.Host()).IsValid() {
		addr, err := a.run.client.Locate(ctx, politeness.Request{URL: u})
		if err != nil {
			return nil, err
		}
		a.run.locate(u.Host(), addr)
	}
	return a.run.entry(u.Host()), nil
}

// locate records the address at which the crawl met a host, if the entry of the host depends on it.
func (r *run) locate(host string, addr netip.Addr) {
	if r.hosts.located && addr.IsValid() && r.hosts.named(host) == hostmatch.None {
		r.tally.locate(host, addr)
	}
}

// entry returns the entry of Config.Hosts that applies to a host, or nil. Entries for address ranges count only once the host's address
// is known.
func (r *run) entry(host string) *HostSettings {
	t := r.hosts
	i := t.named(host)
	if i == hostmatch.None && t != nil && t.located {
		i = t.meet(t.table.Addr(r.tally.address(host)))
	}
	if i == hostmatch.None {
		return nil
	}
	return &t.entries[i]
}

// counts returns the entry of Config.Hosts that applies to a host if the entry limits bytes or time, otherwise nil.
func (r *run) counts(host string) *HostSettings {
	if r.hosts == nil || !r.hosts.counted {
		return nil
	}
	if h := r.entry(host); h != nil && (h.Bytes > 0 || h.Time > 0) {
		return h
	}
	return nil
}

// overBudget returns the text of the budget in h that the host has used up, or "". h may be nil.
func (t *tally) overBudget(host string, h *HostSettings, now time.Time) string {
	if h == nil || h.Bytes <= 0 && h.Time == 0 {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.spent[host]
	switch {
	case s == nil:
	case h.Bytes > 0 && Limit(s.bytes) >= h.Bytes:
		return fmt.Sprintf("%s%s: %d bytes", ofEntry, h.Match, h.Bytes)
	case h.Time > 0 && s.began > 0 && t.clock(now)-(s.began-1) >= h.Time:
		return fmt.Sprintf("%s%s: %v", ofEntry, h.Match, h.Time)
	}
	return ""
}

// pagesOf returns the page limit of a host, 0 if there is none, and the text of the entry of Config.Hosts that sets it, or "". If host is
// "", Limits.PagesOfHost is ignored.
func (c *Config) pagesOf(host string, h *HostSettings) (most Limit, rule string) {
	if h == nil || h.Pages == 0 {
		if of := c.Limits.PagesOfHost; of != nil && host != "" {
			return max(0, or(of(host), c.Limits.PagesPerHost)), ""
		}
		return c.Limits.PagesPerHost, ""
	}
	return max(0, h.Pages), fmt.Sprintf("%s%s: %d pages", ofEntry, h.Match, h.Pages)
}

// address returns the address at which the crawl first met a host, or the zero Addr if it is not known.
func (t *tally) address(host string) netip.Addr {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.spent[host]; s != nil {
		return s.addr
	}
	return netip.Addr{}
}

// locate records the address at which the crawl met a host, unless an address is known.
func (t *tally) locate(host string, addr netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.spends(host); !s.addr.IsValid() {
		s.addr = addr.Unmap().WithZone("")
	}
}

// spends returns the spending of a host, to be modified. The caller holds the lock.
func (t *tally) spends(host string) *spending {
	s := t.spent[host]
	if s == nil {
		if t.spent == nil {
			t.spent = map[string]*spending{}
		}
		s = &spending{}
		t.spent[host] = s
	}
	if t.fresh != nil {
		t.fresh[host] = true
	}
	return s
}

// clock returns the running time of the crawl so far. The caller holds the lock.
func (t *tally) clock(now time.Time) time.Duration { return t.elapsed + now.Sub(t.since) }

// begins records that a request to a host with budgets is about to be made.
func (t *tally) begins(host string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.spent[host]; s == nil || s.began == 0 {
		t.spends(host).began = t.clock(now) + 1
	}
}

// receives counts bytes from a host with budgets.
func (t *tally) receives(host string, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spends(host).bytes += bytes
}

// spentBy returns a copy of a host's spending, or nil if there is none. The caller holds the lock.
func (t *tally) spentBy(host string) *spending {
	s := t.spent[host]
	if s == nil {
		return nil
	}
	now := *s
	return &now
}

// append appends the stored form of s, which may be nil, to b.
func (s *spending) append(b []byte) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(s.bytes)), uint64(s.began))
	return append(b, s.addr.AsSlice()...)
}

// readSpending parses the output of append. It returns nil if b is empty.
func readSpending(b []byte) *spending {
	bytes, n := binary.Uvarint(b)
	began, m := binary.Uvarint(b[max(0, n):])
	if n <= 0 || m <= 0 {
		return nil
	}
	s := &spending{bytes: int64(bytes), began: time.Duration(began)}
	s.addr, _ = netip.AddrFromSlice(b[n+m:])
	return s
}

// uses counts the sitemaps and robots.txt requests of a host, which are limited for every host.
type uses struct {
	sitemaps int // sitemaps that count towards the limit
	settled  int // sitemaps whose visits are in the sinks; a resumed crawl starts from this count
	robots   int // requests for robots.txt; 0 if the host has no limit
}

// encode returns the stored form of u.
func (u uses) encode() []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(u.settled)), uint64(u.robots))
}

// usesOf returns the uses of a host, to be modified. The caller holds the lock.
func (t *tally) usesOf(host string) *uses {
	u := t.used[host]
	if u == nil {
		u = &uses{}
		t.used[host] = u
	}
	return u
}

// usedBy returns a copy of the uses of a host. The caller holds the lock.
func (t *tally) usedBy(host string) uses {
	if u := t.used[host]; u != nil {
		return *u
	}
	return uses{}
}

// recallUses restores the uses of a host that earlier processes stored.
func (t *tally) recallUses(host string, value []byte) {
	sitemaps, n := binary.Uvarint(value)
	robots, m := binary.Uvarint(value[max(0, n):])
	if n <= 0 || m <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	*t.usesOf(host) = uses{int(sitemaps), int(sitemaps), int(robots)}
}

// reserve counts one page for a host unless the host has reached its limit. A limit of 0 means no limit.
func (t *tally) reserve(host string, most Limit) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if most > 0 && most.Reached(t.hosts[host]) {
		return false
	}
	t.hosts[host]++
	return true
}

// unreserve reverts reserve.
func (t *tally) unreserve(host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hosts[host]--; t.hosts[host] <= 0 {
		delete(t.hosts, host)
	}
}

// reserveSitemap counts one sitemap for a host unless the host has reached its limit. A negative limit means no limit.
func (t *tally) reserveSitemap(host string, most Limit) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.usesOf(host)
	if most.Reached(u.sitemaps) {
		return false
	}
	u.sitemaps++
	return true
}

// unreserveSitemap reverts reserveSitemap.
func (t *tally) unreserveSitemap(host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.usesOf(host).sitemaps--
}

// needsRobots counts a request for robots.txt that a URL of the host made necessary. limited reports whether the host has a limit of
// such requests.
func (t *tally) needsRobots(host string, limited bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.r.Robots++
	if !limited {
		return
	}
	t.usesOf(host).robots++
	if t.fresh != nil {
		t.fresh[host] = true
	}
}

// overRobots returns the exhausted limit that forbids the request for the robots.txt of u, or "" if it may be made. Without a limit,
// hosts whose robots.txt files name each other's sitemaps would be requested for ever, because no page is counted.
func (a *attempt) overRobots(u weburl.URL) string {
	if a.run.gate.Next(u) == u {
		return ""
	}
	return a.robotsSpent()
}

// robotsSpent returns the exhausted limit of requests for robots.txt and documents of terms, or "" if none is exhausted.
func (a *attempt) robotsSpent() string {
	if a.ofSeed() {
		return ""
	}
	crawl, host := budgets[kindRobots].crawl.of(&a.run.cfg, nil), a.robotsOfHost()
	a.run.tally.mu.Lock()
	defer a.run.tally.mu.Unlock()
	switch {
	case crawl.Reached(a.run.tally.r.Robots):
		return fmt.Sprintf("%d robots.txt", crawl)
	case host.Reached(a.run.tally.usedBy(a.claim.URL.Host()).robots):
		return fmt.Sprintf("%d robots.txt for a host", host)
	}
	return ""
}

// robotsOfHost returns the limit of the requests for robots.txt that URLs of the claim's host may cause.
func (a *attempt) robotsOfHost() Limit {
	return budgets[kindRobots].host.of(&a.run.cfg, a.run.entry(a.claim.URL.Host()))
}

// ofSeed reports whether the claim's URL is a seed, a redirect target of a seed, or a URL that replaces a seed.
func (a *attempt) ofSeed() bool {
	c := &a.claim
	return c.Kind == frontier.KindSeed || c.Kind == frontier.KindRedirect && c.Depth == 0 || a.standsForSeed()
}
