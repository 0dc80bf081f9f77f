// Package digest sums up a crawl from its ledger and its visits, line by line and in bounded memory: what was requested of
// each host, which pauses were owed and kept, the outcome of each URL, and where the time went. The report of a finished job
// and the live view of a running one are made from it.
//
// Up to [Config.MaxHosts] hosts are kept in full; all others are summed in one [Host]. The totals count every line.
//
//	d := digest.New(digest.Config{})
//	for e, err := range r.Ledger() { // of a job.Reader
//		d.Add(e)
//	}
//	fmt.Println(d.Totals().Requests)
package digest

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/internal/jsonl"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
)

// Config configures a Digest. The zero Config is usable.
type Config struct {
	Audit audit.Config // the rules that judge requests
	// Body returns a robots.txt by its hash. If it is nil, the pauses that robots.txt requests are judged only by what the
	// ledger says of them.
	Body audit.Body
	// MaxHosts limits the hosts that are kept in full. The default is 10,000.
	MaxHosts int
	// Brief leaves out of the Facts what only the report of a whole crawl shows: Problems, Rules, Depths, Sizes, Crossed, Series, Lanes
	// and Opening. It is for pages about a crawl that is running, which must not slow it down.
	Brief bool
}

// Limits on what a Digest keeps, however long the crawl is.
const (
	defaultHosts = 10_000
	maxOpen      = 50_000 // requests without an end so far
	maxRuns      = 50_000 // processes at the same time
	maxEarly     = 20     // violations that are kept; all are counted
	maxGroups    = 500    // kinds of problems, and rules
	maxNames     = 64     // names that are counted separately in one map
	maxText      = 500    // bytes of a text that is kept
)

// Digest accumulates facts about a crawl. Its methods may be called concurrently.
type Digest struct {
	mu     sync.Mutex
	config Config
	pacer  *audit.Pacer
	facts  Facts // what a Snapshot copies; Total is in it
	hosts  map[string]*Host
	rest   Host            // the sum of all other hosts
	others map[string]bool // the names counted so far
	run    *run            // whose line was the last
	runs   map[string]*run // whose requests may end
	opened int             // requests in them

	problems groups
	rules    groups
	lanes    clock
	series   series
	line     audit.Line // reused

	key   []byte // reused
	names jsonl.Names
	via   struct{ url, site string } // the page that named the last URL
}

// New returns an empty Digest.
func New(c Config) *Digest {
	c.MaxHosts = cmp.Or(c.MaxHosts, defaultHosts)
	return &Digest{
		config: c, pacer: audit.NewPacer(c.Audit, c.Body), hosts: map[string]*Host{}, others: map[string]bool{},
		run: &run{}, runs: map[string]*run{}, problems: groups{}, rules: groups{},
	}
}

// Add adds the next line of the ledger. All lines must be added, in order: their numbers are counted.
func (d *Digest) Add(e *ledger.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var j Judgement
	d.Judge(e, &j)
	d.count(e, &j)
}

// Judge is the first half of Add, which [Digest.AddJudged] completes, so that two goroutines can share the work. Only one may
// call it, for all lines in order, and then nobody may call Add.
func (d *Digest) Judge(e *ledger.Entry, j *Judgement) {
	setLine(&d.line, e)
	var found []audit.Violation
	j.pause, j.paused, found = d.pacer.Add(&d.line)
	j.found, j.unjudged = slices.Clone(found), d.pacer.Unjudged()
}

// AddJudged adds the next line of the ledger, with what Judge has returned for it.
func (d *Digest) AddJudged(e *ledger.Entry, j *Judgement) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count(e, j)
}

// AddVisit adds a visit.
func (d *Digest) AddVisit(v *sink.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.visit(v)
}

// Host returns what is known of a host that is kept in full.
func (d *Digest) Host(name string) (h Host, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.hosts[name]; known != nil {
		return known.clone(), true
	}
	return Host{}, false
}

// Facts is the state of a Digest. It shares no memory with it.
type Facts struct {
	First, Last time.Time // the first request, and the last line of the ledger
	Lines       int       // of the ledger
	Runs        int       // processes that wrote it
	Owners      []Owner   // owners that shared the crawl, in the order of the configuration; none if it was not shared
	Total       Host      // of all hosts
	Hosts       []Host    // those with the most requests first
	MoreHosts   int       // hosts that are not in Hosts; at least, if there are a great many

	Early    []audit.Violation // the first ones; Total.Early counts requests that were too early or broke another rule of pace
	Unjudged int               // requests that could not be judged, because there were too many hosts

	Problems []Group // by outcome and reason, the largest first
	Rules    []Group // lines of robots.txt and of the scope that refused URLs, the largest first

	Depths    [maxDepth + 1]int // pages fetched by depth; the last: that and more
	Sizes     Histogram         // of pages fetched, in bytes
	Known     int               // URLs that have an outcome
	Crossed   int               // of them, those that a page of another site named first
	Processed time.Time         // of the last visit

	Lanes   []Lane // of Hosts, as far as they have one
	Bin     time.Duration
	Opening []Mark // the first requests, at most 4096
	Series  Series
}

// maxDepth is the greatest depth that is counted separately.
const maxDepth = 32

// Snapshot returns the present state, with at most this many hosts; 0 is all that are kept. Its cost is that of the hosts
// that it returns, and of at most some thousand requests and groups.
func (d *Digest) Snapshot(most int) *Facts {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, all := d.view(most)
	for _, h := range all {
		if len(h.lane.bins) > 0 {
			f.Lanes = append(f.Lanes, d.lanes.lane(h))
		}
	}
	f.Problems, f.Rules = d.problems.sorted(), d.rules.sorted()
	f.Opening = slices.Clone(d.facts.Opening)
	return f
}

// View is Snapshot without Lanes, Problems, Rules and Opening, for callers that poll. Its cost is that of the hosts
// that it returns, and of putting all hosts in order.
func (d *Digest) View(most int) *Facts {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, _ := d.view(most)
	return f
}

func (d *Digest) view(most int) (*Facts, []*Host) {
	f := d.facts
	f.Early, f.Opening = slices.Clone(f.Early), nil
	f.Sizes.buckets = slices.Clone(f.Sizes.buckets)
	f.Total = f.Total.clone()
	all := d.ranked()
	if most > 0 {
		all = all[:min(most, len(all))]
	}
	f.MoreHosts = len(d.hosts) + len(d.others) - len(all)
	for _, h := range all {
		f.Hosts = append(f.Hosts, h.clone())
	}
	f.Owners = d.owners()
	f.Bin, f.Series = d.lanes.width(), d.series.clone()
	return &f, all
}

// Totals returns the sums over all hosts, without lists. It is cheap.
func (d *Digest) Totals() Host {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.facts.Total.clone()
}

// ranked returns the hosts, those with the most requests first.
func (d *Digest) ranked() []*Host {
	all := make([]*Host, 0, len(d.hosts))
	for _, h := range d.hosts {
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b *Host) int {
		return cmp.Or(b.Requests-a.Requests, b.Visits-a.Visits, cmp.Compare(a.Name, b.Name))
	})
	return all
}

// host returns the host of this name, or the sum of those that are not kept.
func (d *Digest) host(name string) *Host {
	if h := d.hosts[name]; h != nil {
		return h
	}
	if len(d.hosts) < d.config.MaxHosts {
		h := &Host{Name: name}
		d.hosts[name] = h
		return h
	}
	if len(d.others) < 10*d.config.MaxHosts {
		d.others[name] = true
	}
	return &d.rest
}
