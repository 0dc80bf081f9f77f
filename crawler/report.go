package crawler

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
)

// Finish is the reason why a crawl ended.
type Finish string

// The reasons, stable across versions.
const (
	FinishDone     Finish = "done"      // nothing was left
	FinishPages    Finish = "max_pages" // Config.Limits.Pages, with URLs left
	FinishBytes    Finish = "max_bytes"
	FinishTime     Finish = "max_time"
	FinishErrors   Finish = "max_errors"
	FinishMinFree  Finish = "min_free" // DrainFor was called: too little disk space is left
	FinishMaxDisk  Finish = "max_disk" // DrainFor was called: the crawl has used its disk allowance
	FinishDrained  Finish = "drained"  // Drain was called, a Handler returned Stop, or the loop over Pages was left
	FinishCanceled Finish = "canceled" // the context ended
	FinishError    Finish = "error"    // a sink or the frontier failed
	// FinishUnreachable means that no host has ever answered. See UnreachableError.
	FinishUnreachable Finish = "unreachable"
)

// Limit reports whether a limit of the Config ended the crawl.
func (f Finish) Limit() bool {
	return f == FinishPages || f == FinishBytes || f == FinishTime || f == FinishMinFree || f == FinishMaxDisk
}

// Duration is a time.Duration whose JSON form is a number of seconds.
type Duration struct{ time.Duration }

// MarshalJSON writes the number of seconds.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.Seconds()) }

// UnmarshalJSON reads a number of seconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var seconds float64
	err := json.Unmarshal(b, &seconds)
	d.Duration = time.Duration(seconds * float64(time.Second))
	return err
}

// Report summarizes a crawl. Its JSON form is that of the command's report.json.
type Report struct {
	Started  time.Time `json:"started"` // of the first run, if the frontier is durable
	Ended    time.Time `json:"ended"`
	Elapsed  Duration  `json:"seconds"` // of all runs, without the time between them
	Runs     int       `json:"runs"`    // number of runs: 1, increased each time the crawl is resumed
	Finish   Finish    `json:"finish"`
	Stopped  string    `json:"stopped,omitempty"` // with FinishDrained: the reason that a Handler gave (StopBecause)
	Pages    int       `json:"pages"`             // visits with outcome Fetched
	Requests int       `json:"requests"`          // number of requests sent, including those for robots.txt and retries
	// Lost counts requests, among Requests, that a kill or an error of the process cut off, or whose answers it lost: no other
	// figure has them. Package job counts them.
	Lost int `json:"lost_requests,omitempty"`
	// NotShared is the reason why the crawl did not take turns with those of other processes, although that was requested; "" if it
	// did.
	NotShared string `json:"not_shared,omitempty"`

	Retries int   `json:"retries"` // further attempts that were planned, for all URLs
	Bytes   int64 `json:"bytes"`   // body bytes received, before decoding
	Hosts   int   `json:"hosts"`   // number of hosts that responded
	Left    int   `json:"left"`    // number of URLs still queued
	// Rejected counts URLs that did not fit into the queue: links with FateFull, each time they were found, and others.
	Rejected int `json:"rejected,omitempty"`

	Outcomes map[Outcome]int `json:"outcomes"` // visits by outcome
	Reasons  map[string]int  `json:"reasons"`  // visits by reason code, without ""
	Statuses map[int]int     `json:"statuses"` // answered visits by HTTP status
	// Errors counts fetched visits with status 4xx or 5xx, by status. It is nil in reports of earlier versions, which did not count
	// them apart from visits with other outcomes.
	Errors map[int]int `json:"error_pages"`
	// Types counts fetched visits by media type; long names and those after the first 200 count as "other".
	Types    map[string]int `json:"types"`
	Links    map[Fate]int   `json:"links"`    // links found, by fate
	Sitemaps []string       `json:"sitemaps"` // named in robots.txt files, at most 100
	// SitemapsCut counts, for the first 100 hosts with such sitemaps, those that Config.Limits.Sitemaps left out. Reasons counts
	// those of all hosts, by ReasonSitemapBudget.
	SitemapsCut map[string]int `json:"sitemaps_cut,omitempty"`

	// Resources counts the requests for resources of rendered pages, which are included in Requests. Rendering counts the pages
	// that were to be rendered; nil: there were none.
	Resources int             `json:"resources,omitempty"`
	Rendering *RenderingCount `json:"rendering,omitempty"`

	Robots      int `json:"robots,omitempty"` // requests that Config.Limits.Robots counts
	Connections int `json:"connections"`      // number of connections opened; the other requests used open ones
	// Server is the sum of the response times of all responses. TooMany and ServerErrors count responses with status 429 and 5xx,
	// including those for robots.txt and of attempts that were repeated: Statuses has final responses only.
	Server       Duration `json:"server_seconds"`
	TooMany      int      `json:"answers_429,omitempty"`
	ServerErrors int      `json:"answers_5xx,omitempty"`
	// LostToOthers is the time for which requests waited only for other crawls that share a host, an address or a domain with this
	// one. It is the sum over all requests, so the times of hosts that waited simultaneously are added. Package job counts it.
	LostToOthers Duration `json:"lost_to_others_s,omitzero"`
	// Walls counts responses that are a challenge of a bot wall, by its name, including those for robots.txt. WalledSeeds lists the
	// seeds without another response, at most 10. HTMLRobots lists origins whose robots.txt is an HTML page but not a challenge,
	// which has no rules, at most 100.
	Walls       map[string]int `json:"walls,omitempty"`
	WalledSeeds []WalledSeed   `json:"walled_seeds,omitempty"`
	// WallStatuses counts visits to which a bot wall responded, by HTTP status. Statuses includes them.
	WallStatuses map[int]int `json:"wall_statuses,omitempty"`
	HTMLRobots   []string    `json:"html_robots,omitempty"`

	Same int `json:"same_body"` // fetched pages with the same body as an earlier page
	// Near counts fetched pages that are nearly the same as an earlier one, with Config.Duplicates.NearBits.
	Near         int `json:"near_duplicates,omitempty"`
	Noncanonical int `json:"noncanonical"` // fetched pages that name another URL as their canonical one

	// Bound is the minimum time this crawl could have taken: the sum, for one host or one address, of its requests, made one at a
	// time, with the pauses that were due. BoundBy is that host or address.
	Bound   Duration `json:"bound_s"`
	BoundBy string   `json:"bound_by,omitempty"`

	// Usage counts visits by the site's preference about a use, such as "train-ai disallow"; uses without a name in package robots
	// are "other". A visit counts once for each use, by the strictest statement about it. UsageHosts has the same counts by host,
	// for the first 1,000 hosts that state anything; UsageMore is the number of visits with such a statement at other hosts.
	Usage      map[string]int            `json:"usage,omitempty"`
	UsageHosts map[string]map[string]int `json:"usage_hosts,omitempty"`
	UsageMore  int                       `json:"usage_more,omitempty"`

	// Verdicts counts visits by verdict, such as "train-ai forbids", if their site says anything about uses. LeftOut counts those
	// that were refused because of it, by host, and by place and name of the deciding statement. Cost sums the prices of pages that
	// their sites offer for a payment; nothing is ever paid. Both have the host "" for all hosts after the first 1,000.
	Verdicts map[string]int            `json:"verdicts,omitempty"`
	LeftOut  map[string]map[string]int `json:"left_out,omitempty"`
	Cost     []HostCost                `json:"cost,omitempty"`

	// Unmet lists, by their Match, the entries of Config.Hosts that matched no host of the crawl.
	Unmet []string `json:"unmet_hosts,omitempty"`

	// Draws describes the sample of each site, with Config.Sample.
	Draws []SiteDraw `json:"draws,omitempty"`

	// Overrides lists the origins whose robots.txt was replaced, with the reasons.
	Overrides []politeness.Override `json:"overrides,omitempty"`
}

// WalledSeed is a seed that a bot wall kept from being fetched: the response for the seed, or for its robots.txt, is a challenge.
type WalledSeed struct {
	URL  string `json:"url"`
	Wall string `json:"wall"` // its name; "" if the host was left before the seed was requested
}

// Maximum lengths of the lists of a Report.
const (
	maxWalledSeeds = 10
	maxHTMLRobots  = 100
	maxSitemaps    = 100
	maxSitemapsCut = 100
)

// RenderingCount counts pages that were to be rendered, by outcome.
type RenderingCount struct {
	Pages    int            `json:"pages"`              // with a rendered document
	Cut      map[string]int `json:"cut,omitempty"`      // not rendered to their end, by Rendered.Cut
	Wanted   int            `json:"wanted,omitempty"`   // URLs that the pages requested, at most render.MaxFates for each page
	Answered int            `json:"answered,omitempty"` // those with a response, including responses that another page had requested
	Refused  map[string]int `json:"refused,omitempty"`  // those refused, by reason
}

// add returns the sum of two counts, each of which may be nil.
func (c *RenderingCount) add(o *RenderingCount) *RenderingCount {
	switch {
	case o == nil:
		return c
	case c == nil:
		c = &RenderingCount{}
	}
	return &RenderingCount{
		Pages: c.Pages + o.Pages, Cut: summed(c.Cut, o.Cut), Wanted: c.Wanted + o.Wanted, Answered: c.Answered + o.Answered, Refused: summed(c.Refused, o.Refused),
	}
}

// rendered counts a page that was to be rendered.
func (c *RenderingCount) rendered(r *Rendered) *RenderingCount {
	if c == nil {
		c = &RenderingCount{}
	}
	if c.Cut == nil { // may be nil in counts that were read back
		c.Cut = map[string]int{}
	}
	if c.Refused == nil {
		c.Refused = map[string]int{}
	}
	if r.DOM != nil {
		c.Pages++
	}
	if r.Cut != "" {
		c.Cut[r.Cut]++
	}
	for i := range r.Requests {
		c.Wanted++
		switch q := &r.Requests[i]; {
		case q.Refused != "":
			c.Refused[q.Refused]++
		case q.Status > 0:
			c.Answered++
		}
	}
	return c
}

// tally collects a Report while workers run.
type tally struct {
	mu       sync.Mutex
	r        Report
	hosts    map[string]int   // pages fetched
	retried  map[string]int   // retries, by host
	used     map[string]*uses // of hosts with sitemaps or with a limit on robots.txt
	sitemaps map[string]bool
	usage    usages
	spent    map[string]*spending // by host, for hosts with separate budgets; nil if there are none

	// The following fields are for a crawl that is resumed after a crash, and otherwise zero.
	elapsed time.Duration  // of earlier runs
	since   time.Time      // beginning of this run
	settled map[string]int // fetched pages whose visits are in the sinks
	fresh   map[string]bool
	origins map[string]bool // origins from which a page was requested in this run
}

func newTally(now time.Time) *tally {
	return &tally{
		r: Report{
			Started: now, Runs: 1, Outcomes: map[Outcome]int{}, Reasons: map[string]int{}, Statuses: map[int]int{}, Errors: map[int]int{},
			Types: map[string]int{}, Links: map[Fate]int{},
		},
		hosts:    map[string]int{},
		retried:  map[string]int{},
		used:     map[string]*uses{},
		sitemaps: map[string]bool{},
		since:    now,
	}
}

// request counts a request and its bytes, and returns the bytes of all requests. An aborted request counts if it had been sent.
func (t *tally) request(a *fetcher.Answer) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.Aborted {
		if f := failure(a.Err); f == nil || f.Reason != fetcher.ReasonCanceled || f.Phase != fetcher.PhaseHeader && f.Phase != fetcher.PhaseBody {
			return t.r.Bytes
		}
	}
	t.r.Requests++
	if a.Permit.Purpose() == politeness.Resource {
		t.r.Resources++
	}
	if !a.Aborted && (a.Page == nil || !a.Page.Reused) {
		t.r.Connections++
	}
	if a.Page != nil {
		t.answer(a.Page)
	}
	t.r.Bytes += wireBytes(a)
	return t.r.Bytes
}

// wireBytes returns the number of bytes received of a body.
func wireBytes(a *fetcher.Answer) int64 {
	if a.Page != nil {
		return a.Page.WireBytes
	}
	if failed := failure(a.Err); failed != nil {
		return failed.WireBytes
	}
	return 0
}

// answer counts a response's cost to the server, and whether it indicates trouble.
func (t *tally) answer(p *fetcher.Page) {
	t.r.Server.Duration += max(0, p.Ended.Sub(p.Started))
	if p.Wall != "" {
		if t.r.Walls == nil {
			t.r.Walls = map[string]int{}
		}
		t.r.Walls[p.Wall]++
	}
	switch {
	case p.Status == http.StatusTooManyRequests:
		t.r.TooMany++
	case p.Status >= 500:
		t.r.ServerErrors++
	}
}

// resources returns the number of requests for resources of rendered pages so far.
func (t *tally) resources() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.r.Resources
}

// pagesOf returns the number of pages that count towards the page limit of a host.
func (t *tally) pagesOf(host string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hosts[host]
}

// requests returns the number of requests so far.
func (t *tally) requests() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.r.Requests
}

// visit counts a visit and returns the number of failed visits so far.
func (t *tally) visit(v *Visit) (failed int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.r.Outcomes[v.Outcome]++
	if v.Reason != "" {
		t.r.Reasons[v.Reason]++
	}
	if v.Page != nil {
		t.r.Statuses[v.Page.Status]++
		if v.Reason == politeness.ReasonChallenge {
			if t.r.WallStatuses == nil {
				t.r.WallStatuses = map[int]int{}
			}
			t.r.WallStatuses[v.Page.Status]++
		}
	}
	if v.ofSeed() {
		t.seed(v)
	}
	if v.Outcome == Fetched && t.settled != nil {
		t.settled[v.URL.Host()]++
		t.fresh[v.URL.Host()] = true
		if v.Kind == frontier.KindSitemap {
			t.usesOf(v.URL.Host()).settled++
		}
	}
	if v.Reason == ReasonSitemapBudget {
		t.sitemapCut(v.URL.Host())
	}
	if len(v.Usage.Statements) > 0 && t.usage.count(v.URL.Host(), v.Usage) && t.fresh != nil {
		t.fresh[v.URL.Host()] = true
	}
	if v.Terms != nil {
		t.r.AddTerms(v.URL.Host(), v.Terms.Terms())
	}
	if v.Rendered != nil {
		t.r.Rendering = t.r.Rendering.rendered(v.Rendered)
	}
	if v.Outcome == Fetched {
		t.duplicate(v)
		t.r.Pages++
		if v.Page.Status >= 400 {
			t.r.Errors[v.Page.Status]++
		}
		t.countType(v.Page.ContentType)
	}
	for fate, n := range v.counts {
		t.r.Links[fate] += n
	}
	return t.r.Outcomes[Failed]
}

// seed records whether a bot wall keeps a seed from being fetched.
func (t *tally) seed(v *Visit) {
	url := v.URL.String()
	t.r.WalledSeeds = slices.DeleteFunc(slices.Clone(t.r.WalledSeeds), func(s WalledSeed) bool { return s.URL == url }) // without the entry of an earlier attempt
	if wall, is := v.wall(); is && len(t.r.WalledSeeds) < maxWalledSeeds {
		t.r.WalledSeeds = append(t.r.WalledSeeds, WalledSeed{url, wall})
	}
}

// htmlRobots records an origin whose robots.txt is an HTML page.
func (t *tally) htmlRobots(origin string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.r.HTMLRobots) < maxHTMLRobots && !slices.Contains(t.r.HTMLRobots, origin) {
		t.r.HTMLRobots = append(slices.Clone(t.r.HTMLRobots), origin)
	}
}

// Servers invent media types: this many are counted by name, all others together.
const (
	maxTypes   = 200
	maxType    = 100 // maximum bytes of a name
	otherTypes = "other"
)

func (t *tally) countType(name string) {
	if _, known := t.r.Types[name]; !known && (len(t.r.Types) >= maxTypes || len(name) > maxType) {
		name = otherTypes
	}
	t.r.Types[name]++
}

// duplicate counts a page that also exists elsewhere, according to the page itself or to a comparison.
func (t *tally) duplicate(v *Visit) {
	if v.SameAs != "" {
		t.r.Same++
	}
	if v.NearOf != "" {
		t.r.Near++
	}
	if c := v.Canonical(); !c.IsZero() && c.Key() != v.URL.Key() {
		t.r.Noncanonical++
	}
}

// sitemap records a sitemap that a robots.txt names, unless its URL is longer than the default limit for queued URLs.
func (t *tally) sitemap(ref string) {
	if len(ref) > DefaultMaxURL {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sitemaps[ref] || len(t.sitemaps) >= maxSitemaps {
		return
	}
	t.sitemaps[ref] = true
	t.r.Sitemaps = append(t.r.Sitemaps, ref)
}

// sitemapCut counts a sitemap that is left out. The caller holds the lock.
func (t *tally) sitemapCut(host string) {
	if _, known := t.r.SitemapsCut[host]; !known && len(t.r.SitemapsCut) >= maxSitemapsCut {
		return
	}
	if t.r.SitemapsCut == nil {
		t.r.SitemapsCut = map[string]int{}
	}
	t.r.SitemapsCut[host]++
}

func (t *tally) report(now time.Time, finish Finish, left int) *Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.r
	r.Started, r.Ended, r.Finish, r.Left, r.Hosts = r.Started.UTC(), now.UTC(), finish, left, len(t.hosts)
	r.Elapsed = Duration{t.elapsed + now.Sub(t.since)}
	r.Usage, r.UsageHosts, r.UsageMore = t.usage.report()
	r.Walls, r.Verdicts, r.LeftOut, r.Cost = maps.Clone(r.Walls), maps.Clone(r.Verdicts), addLeftOut(nil, r.LeftOut), slices.Clone(r.Cost)
	if r.Sitemaps == nil {
		r.Sitemaps = []string{} // JSON must not have null here
	}
	return &r
}

// keeps prepares the tally for keep.
func (t *tally) keeps() {
	t.settled, t.fresh, t.origins = map[string]int{}, map[string]bool{}, map[string]bool{}
}

// firstOf reports whether an origin is seen for the first time in this run.
func (t *tally) firstOf(origin string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := !t.origins[origin]
	t.origins[origin] = true
	return first
}

// keep returns the counts that must survive a crash.
func (t *tally) keep(now time.Time) kept {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := kept{Report: t.r, Elapsed: t.elapsed + now.Sub(t.since)}
	k.Report.Overrides, k.Report.Unmet, k.Usage, k.UsageMore = nil, nil, t.usage.all, t.usage.more
	return k
}

// hostCount holds the counts of a host that must survive a crash.
type hostCount struct {
	pages, retries int
	usage          usageCounts
	spent          *spending // nil: nothing is counted
	used           uses
}

// changedHosts returns the counts of the hosts whose counts have changed since the last call.
func (t *tally) changedHosts() map[string]hostCount {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[string]hostCount, len(t.fresh))
	for host := range t.fresh {
		all[host] = hostCount{t.settled[host], t.retried[host], t.usage.of(host), t.spentBy(host), t.usedBy(host)}
	}
	clear(t.fresh)
	return all
}

// recall continues the counts of earlier runs.
func (t *tally) recall(k kept) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.r, t.elapsed = k.Report, k.Elapsed
	t.r.Errors = t.r.errors()
	t.usage.all, t.usage.more = k.Usage, k.UsageMore
	t.r.Runs++
	for _, ref := range t.r.Sitemaps {
		t.sitemaps[ref] = true
	}
}

func (t *tally) recallHost(host string, n hostCount) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.pages > 0 {
		t.settled[host], t.hosts[host] = n.pages, n.pages
	}
	if n.retries > 0 {
		t.retried[host] = n.retries
	}
	t.usage.recall(host, n.usage)
	if n.spent != nil {
		*t.spends(host) = *n.spent
	}
}

// ParseStored returns the counts that a crawl stored in its durable Frontier with its last commit. Ended, Finish, Hosts, Left and
// Bound, which are set at the end of a crawl, are zero.
func ParseStored(value []byte) (*Report, error) {
	var k kept
	if err := json.Unmarshal(value, &k); err != nil {
		return nil, fmt.Errorf("crawler: the counts of the crawl: %w", err)
	}
	r := k.Report
	r.Elapsed = Duration{k.Elapsed}
	return &r, nil
}

// ContentPages returns the number of fetched visits whose status is neither 4xx nor 5xx.
func (r *Report) ContentPages() int {
	n := r.Pages
	for _, count := range r.errors() {
		n -= count
	}
	return max(0, n)
}

// errors returns a copy of Errors; for a report of an earlier version, it is computed from Statuses.
func (r *Report) errors() map[int]int {
	if r.Errors != nil {
		return maps.Clone(r.Errors)
	}
	errors := map[int]int{}
	for status, n := range r.Statuses {
		if status >= 400 {
			errors[status] = n
		}
	}
	return errors
}

// Add adds the counts of another crawl, of other hosts. Started becomes the earlier time, Ended the later one, and Bound the longer
// one. Elapsed and Runs are sums. Finish, Usage and the fields of single hosts are unchanged.
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
		&r.Runs: o.Runs, &r.Pages: o.Pages, &r.Requests: o.Requests, &r.Resources: o.Resources, &r.Retries: o.Retries, &r.Hosts: o.Hosts, &r.Left: o.Left,
		&r.Rejected: o.Rejected, &r.Robots: o.Robots, &r.Connections: o.Connections, &r.TooMany: o.TooMany, &r.ServerErrors: o.ServerErrors,
		&r.Same: o.Same, &r.Near: o.Near, &r.Noncanonical: o.Noncanonical,
	} {
		*to += n
	}
	r.Outcomes, r.Reasons, r.Statuses = summed(r.Outcomes, o.Outcomes), summed(r.Reasons, o.Reasons), summed(r.Statuses, o.Statuses)
	r.Errors = summed(r.errors(), o.errors())
	r.Types, r.Links = summed(r.Types, o.Types), summed(r.Links, o.Links)
	if len(o.Walls) > 0 {
		r.Walls, r.WallStatuses = summed(r.Walls, o.Walls), summed(r.WallStatuses, o.WallStatuses)
	}
	if len(o.Verdicts) > 0 {
		r.Verdicts = summed(r.Verdicts, o.Verdicts)
	}
	r.Rendering = r.Rendering.add(o.Rendering)
	r.LeftOut = addLeftOut(r.LeftOut, o.LeftOut)
	for _, c := range o.Cost {
		r.Cost = addCost(r.Cost, c)
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

// usageNames lists the uses that are counted by name, followed by all others.
var usageNames = [...]string{robots.UseTrainAI, robots.UseAI, robots.UseSearch, robots.UseTDM, robots.UseTrainAIImage, "other"}

// usageCounts counts visits by use: first those that allow it, then those that disallow it.
type usageCounts [2 * len(usageNames)]uint32

// maxUsageHosts is the number of hosts whose usage is counted separately.
const maxUsageHosts = 1000

// usages counts what sites say about the uses of their pages. The caller holds the lock of the tally that
// it belongs to.
type usages struct {
	all   usageCounts
	hosts map[string]*usageCounts
	more  int // number of visits to other hosts
}

// count counts a visit, and reports whether its page has a preference about uses.
func (n *usages) count(host string, u robots.Usage) bool {
	if !slices.ContainsFunc(u.Statements, func(s robots.Statement) bool { return s.Signal != robots.Unsaid }) {
		return false
	}
	var said [len(usageNames)]robots.Signal
	for _, s := range u.Statements {
		i := usageIndex(s.Use)
		said[i] = max(said[i], s.Signal)
	}
	h := n.host(host)
	if h == nil {
		n.more++
		h = &usageCounts{}
	}
	for i, signal := range said {
		switch signal {
		case robots.Allowed:
			n.all[i]++
			h[i]++
		case robots.Disallowed:
			n.all[len(usageNames)+i]++
			h[len(usageNames)+i]++
		}
	}
	return true
}

func usageIndex(use string) int {
	for i, name := range usageNames {
		if name == use {
			return i
		}
	}
	return len(usageNames) - 1
}

// host returns the counts of a host, or nil if the maximum number of hosts is reached.
func (n *usages) host(name string) *usageCounts {
	h := n.hosts[name]
	if h == nil && len(n.hosts) < maxUsageHosts {
		if n.hosts == nil {
			n.hosts = map[string]*usageCounts{}
		}
		h = &usageCounts{}
		n.hosts[name] = h
	}
	return h
}

// of returns the counts of a host, all zero if it is not counted separately.
func (n *usages) of(host string) usageCounts {
	if h := n.hosts[host]; h != nil {
		return *h
	}
	return usageCounts{}
}

// recall continues the counts of a host.
func (n *usages) recall(host string, was usageCounts) {
	if was == (usageCounts{}) {
		return
	}
	if h := n.host(host); h != nil {
		*h = was
	}
}

// report returns the counts by the names of [Report.Usage].
func (n *usages) report() (all map[string]int, hosts map[string]map[string]int, more int) {
	for name, h := range n.hosts {
		if hosts == nil {
			hosts = map[string]map[string]int{}
		}
		hosts[name] = h.named()
	}
	return n.all.named(), hosts, n.more
}

func (c *usageCounts) named() (m map[string]int) {
	for i, n := range c {
		if n == 0 {
			continue
		}
		if m == nil {
			m = map[string]int{}
		}
		signal := robots.Allowed
		if i >= len(usageNames) {
			signal = robots.Disallowed
		}
		m[usageNames[i%len(usageNames)]+" "+signal.String()] = int(n)
	}
	return m
}
