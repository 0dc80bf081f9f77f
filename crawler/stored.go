package crawler

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// ParseStored returns the counts that a crawl stored in its durable Frontier with its last commit. Ended, Finish, Hosts, Left
// and Bound, which only the end of a crawl knows, are zero.
func ParseStored(value []byte) (*Report, error) {
	var k kept
	if err := json.Unmarshal(value, &k); err != nil {
		return nil, fmt.Errorf("crawler: the counts of the crawl: %w", err)
	}
	r := k.Report
	r.Elapsed = Duration{k.Elapsed}
	return &r, nil
}

// Add adds the counts of another crawl, of other hosts. Started becomes the earlier time, Ended the later one, and Bound the
// longer one. Elapsed and Runs are sums. Finish, Usage and what belongs to single hosts stay as they are.
func (r *Report) Add(o *Report) {
	if r.Started.IsZero() || !o.Started.IsZero() && o.Started.Before(r.Started) {
		r.Started = o.Started
	}
	if o.Ended.After(r.Ended) {
		r.Ended = o.Ended
	}
	if o.Bound.Duration > r.Bound.Duration {
		r.Bound, r.BoundBy = o.Bound, o.BoundBy
	}
	r.Elapsed.Duration += o.Elapsed.Duration
	r.Server.Duration += o.Server.Duration
	r.Bytes += o.Bytes
	for to, n := range map[*int]int{
		&r.Runs: o.Runs, &r.Pages: o.Pages, &r.Requests: o.Requests, &r.Retries: o.Retries, &r.Hosts: o.Hosts, &r.Left: o.Left,
		&r.Rejected: o.Rejected, &r.Robots: o.Robots, &r.Connections: o.Connections, &r.TooMany: o.TooMany, &r.ServerErrors: o.ServerErrors,
		&r.Same: o.Same, &r.Near: o.Near, &r.Noncanonical: o.Noncanonical,
	} {
		*to += n
	}
	r.Outcomes, r.Reasons, r.Statuses = summed(r.Outcomes, o.Outcomes), summed(r.Reasons, o.Reasons), summed(r.Statuses, o.Statuses)
	r.Types, r.Links = summed(r.Types, o.Types), summed(r.Links, o.Links)
	if len(o.Walls) > 0 {
		r.Walls = summed(r.Walls, o.Walls)
	}
	if len(o.SitemapsCut) > 0 {
		r.SitemapsCut = summed(r.SitemapsCut, o.SitemapsCut)
		for _, host := range slices.Sorted(maps.Keys(r.SitemapsCut))[min(len(r.SitemapsCut), maxSitemapsCut):] {
			delete(r.SitemapsCut, host)
		}
	}
	r.WalledSeeds = slices.Concat(r.WalledSeeds, o.WalledSeeds)
	r.WalledSeeds = r.WalledSeeds[:min(len(r.WalledSeeds), maxWalledSeeds)]
	r.HTMLRobots = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.HTMLRobots, o.HTMLRobots))))
	r.HTMLRobots = r.HTMLRobots[:min(len(r.HTMLRobots), maxHTMLRobots)]
	r.Sitemaps = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Sitemaps, o.Sitemaps))))
	r.Sitemaps = r.Sitemaps[:min(len(r.Sitemaps), maxSitemaps)]
}

// summed adds b to a, which may be nil.
func summed[K cmp.Ordered](a, b map[K]int) map[K]int {
	sum := map[K]int{}
	maps.Copy(sum, a)
	for k, n := range b {
		sum[k] += n
	}
	return sum
}
