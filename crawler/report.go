package crawler

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
)

// Finish is why a crawl ended.
type Finish string

// The reasons, stable across versions.
const (
	FinishDone     Finish = "done"      // nothing was left
	FinishPages    Finish = "max_pages" // Config.Limits.Pages, with URLs left
	FinishBytes    Finish = "max_bytes"
	FinishTime     Finish = "max_time"
	FinishErrors   Finish = "max_errors"
	FinishDrained  Finish = "drained"  // Drain, Stop, or break out of Pages
	FinishCanceled Finish = "canceled" // the context ended
	FinishError    Finish = "error"    // a sink or the frontier failed
	// FinishUnreachable: no host has ever answered. See UnreachableError.
	FinishUnreachable Finish = "unreachable"
)

// Limit reports whether a limit of the Config ended the crawl.
func (f Finish) Limit() bool {
	return f == FinishPages || f == FinishBytes || f == FinishTime
}

// Duration is a time.Duration that is a number of seconds in JSON.
type Duration struct{ time.Duration }

// MarshalJSON writes seconds.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.Seconds()) }

// UnmarshalJSON reads seconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var seconds float64
	err := json.Unmarshal(b, &seconds)
	d.Duration = time.Duration(seconds * float64(time.Second))
	return err
}

// Report sums a crawl up. Its JSON is that of the command's report.json.
type Report struct {
	Started  time.Time `json:"started"` // of the first run, of a crawl with a durable frontier
	Ended    time.Time `json:"ended"`
	Elapsed  Duration  `json:"seconds"` // of all runs, without the time between them
	Runs     int       `json:"runs"`    // 1, and one more for each time the crawl was resumed
	Finish   Finish    `json:"finish"`
	Pages    int       `json:"pages"`              // visits with outcome Fetched
	Requests int       `json:"requests"`           // on the wire, robots.txt and retries included
	Retries  int       `json:"retries"`            // attempts after the first that were planned, of any URL
	Bytes    int64     `json:"bytes"`              // body bytes received, before decoding
	Hosts    int       `json:"hosts"`              // that answered
	Left     int       `json:"left"`               // URLs still queued
	Rejected int       `json:"rejected,omitempty"` // URLs for which the queue had no room: links with FateFull, each time they were met, and others

	Outcomes map[Outcome]int `json:"outcomes"` // visits by outcome
	Reasons  map[string]int  `json:"reasons"`  // visits by reason code, without ""
	Statuses map[int]int     `json:"statuses"` // answered visits by HTTP status
	Types    map[string]int  `json:"types"`    // fetched visits by media type; beyond 200 types, and of long names, as "other"
	Links    map[Fate]int    `json:"links"`    // links found, by fate
	Sitemaps []string        `json:"sitemaps"` // named in robots.txt files, at most 100

	Connections  int `json:"connections"`               // opened, TLS handshakes included; the other requests used open ones
	Same         int `json:"same_body"`                 // fetched pages whose body an earlier page had
	Near         int `json:"near_duplicates,omitempty"` // fetched pages nearly the same as an earlier one, with Config.Duplicates.NearBits
	Noncanonical int `json:"noncanonical"`              // fetched pages that name another address as their canonical one

	// Bound is the least time this crawl could have taken: the requests of one host, or of one address,
	// one after the other with the pauses that were due. BoundBy is that host or address.
	Bound   Duration `json:"bound_s"`
	BoundBy string   `json:"bound_by,omitempty"`

	// Usage counts visits by what the site says about a use, as "train-ai disallow"; uses without a name in package robots are
	// "other". A visit counts once for each use, by the strictest word on it. UsageHosts is the same by host, of the first 1,000
	// that say anything; UsageMore is how many visits with such a word were at further hosts.
	Usage      map[string]int            `json:"usage,omitempty"`
	UsageHosts map[string]map[string]int `json:"usage_hosts,omitempty"`
	UsageMore  int                       `json:"usage_more,omitempty"`

	// Overrides are the origins whose robots.txt was replaced, with the reasons.
	Overrides []politeness.Override `json:"overrides,omitempty"`
}

// tally collects a Report while workers run.
type tally struct {
	mu       sync.Mutex
	r        Report
	hosts    map[string]int // pages fetched
	retried  map[string]int // retries, by host
	sitemaps map[string]bool
	usage    usages

	// For a crawl that is resumed after a crash. They are nil and zero otherwise.
	elapsed time.Duration  // of earlier runs
	since   time.Time      // when this run began
	settled map[string]int // pages fetched whose visits are in the sinks
	fresh   map[string]bool
	origins map[string]bool // of which a page was requested in this run
}

func newTally(now time.Time) *tally {
	return &tally{
		r: Report{
			Started: now, Runs: 1, Outcomes: map[Outcome]int{}, Reasons: map[string]int{}, Statuses: map[int]int{},
			Types: map[string]int{}, Links: map[Fate]int{},
		},
		hosts:    map[string]int{},
		retried:  map[string]int{},
		sitemaps: map[string]bool{},
		since:    now,
	}
}

// request counts a request and its bytes, and returns the bytes of all. One that was aborted does not count.
func (t *tally) request(a *fetcher.Answer) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.Aborted {
		return t.r.Bytes
	}
	t.r.Requests++
	if a.Page == nil || !a.Page.Reused {
		t.r.Connections++
	}
	if a.Page != nil {
		t.r.Bytes += a.Page.WireBytes
	} else if failed := failure(a.Err); failed != nil {
		t.r.Bytes += failed.WireBytes
	}
	return t.r.Bytes
}

// requests is how many have been counted.
func (t *tally) requests() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.r.Requests
}

// visit counts a visit and returns how many have failed by now.
func (t *tally) visit(v *Visit) (failed int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.r.Outcomes[v.Outcome]++
	if v.Reason != "" {
		t.r.Reasons[v.Reason]++
	}
	if v.Page != nil {
		t.r.Statuses[v.Page.Status]++
	}
	if v.Outcome == Fetched && t.settled != nil {
		t.settled[v.URL.Host()]++
		t.fresh[v.URL.Host()] = true
	}
	if said := t.usage.count(v.URL.Host(), v.Usage); said && t.fresh != nil {
		t.fresh[v.URL.Host()] = true
	}
	if v.Outcome == Fetched {
		t.duplicate(v)
		t.r.Pages++
		t.countType(v.Page.ContentType)
	}
	for fate, n := range v.counts {
		t.r.Links[fate] += n
	}
	return t.r.Outcomes[Failed]
}

// What servers make up as media types is counted by name up to here, and the rest together.
const (
	maxTypes   = 200
	maxType    = 100 // bytes of one
	otherTypes = "other"
)

func (t *tally) countType(name string) {
	if _, known := t.r.Types[name]; !known && (len(t.r.Types) >= maxTypes || len(name) > maxType) {
		name = otherTypes
	}
	t.r.Types[name]++
}

// duplicate counts what says that a page stands elsewhere too.
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

// reserve counts one page for a host, unless it has had most already. most 0: no limit.
func (t *tally) reserve(host string, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if most > 0 && t.hosts[host] >= most {
		return false
	}
	t.hosts[host]++
	return true
}

// unreserve gives a reserved page back.
func (t *tally) unreserve(host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hosts[host]--; t.hosts[host] <= 0 {
		delete(t.hosts, host)
	}
}

const maxSitemapsNamed = 100

// sitemap notes a sitemap named by a robots.txt and reports whether it is new, as far as is known: one that
// is longer than any URL that is queued by default is not noted.
func (t *tally) sitemap(ref string) bool {
	if len(ref) > DefaultMaxURL {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sitemaps[ref] || len(t.sitemaps) >= maxSitemapsNamed {
		return false
	}
	t.sitemaps[ref] = true
	t.r.Sitemaps = append(t.r.Sitemaps, ref)
	return true
}

func (t *tally) report(now time.Time, finish Finish, left int) *Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.r
	r.Started, r.Ended, r.Finish, r.Left, r.Hosts = r.Started.UTC(), now.UTC(), finish, left, len(t.hosts)
	r.Elapsed = Duration{t.elapsed + now.Sub(t.since)}
	r.Usage, r.UsageHosts, r.UsageMore = t.usage.report()
	if r.Sitemaps == nil {
		r.Sitemaps = []string{} // not null in JSON
	}
	return &r
}

// keeps makes the tally ready for keep.
func (t *tally) keeps() {
	t.settled, t.fresh, t.origins = map[string]int{}, map[string]bool{}, map[string]bool{}
}

// firstOf reports whether an origin is met for the first time in this run.
func (t *tally) firstOf(origin string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := !t.origins[origin]
	t.origins[origin] = true
	return first
}

// keep is what the crawl must know of its counts after a crash.
func (t *tally) keep(now time.Time) kept {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := kept{Report: t.r, Elapsed: t.elapsed + now.Sub(t.since)}
	k.Report.Overrides, k.Usage, k.UsageMore = nil, t.usage.all, t.usage.more
	return k
}

// hostCount is what a crawl must know of a host's counts after a crash.
type hostCount struct {
	pages, retries int
	usage          usageCounts
}

// changedHosts is the counts of the hosts of which they have changed since it was last called.
func (t *tally) changedHosts() map[string]hostCount {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[string]hostCount, len(t.fresh))
	for host := range t.fresh {
		all[host] = hostCount{t.settled[host], t.retried[host], t.usage.of(host)}
	}
	clear(t.fresh)
	return all
}

// recall continues the counts of earlier runs.
func (t *tally) recall(k kept) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.r, t.elapsed = k.Report, k.Elapsed
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
}
