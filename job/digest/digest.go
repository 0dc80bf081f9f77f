// Package digest sums up a crawl from its ledger and its visits, line by line and in bounded memory: what was requested of each
// host, which pauses were required and observed, the outcome of each URL, and how the time was spent. The report of a finished
// job and the live view of a running one use it.
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
	Audit audit.Config // settings that requests are judged by
	// Body returns a robots.txt by its hash. If it is nil, pauses that robots.txt asks for are judged only by the entries of the ledger.
	Body audit.Body
	// MaxHosts limits the hosts that are kept in full. The default is 10,000.
	MaxHosts int
	// Brief leaves out of the Facts data that only the report of a whole crawl shows: Problems, Rules, Depths, Sizes, Crossed,
	// Series, Lanes and Opening. It is for pages about a running crawl, which must not slow it down.
	Brief bool
}

// Limits on the memory of a Digest, independent of the length of the crawl.
const (
	defaultHosts = 10_000
	maxOpen      = 50_000 // requests that have not ended
	maxRuns      = 50_000 // processes at the same time
	maxEarly     = 20     // violations kept in full; all are counted
	maxGroups    = 500    // kinds of problems, and rules
	maxNames     = 64     // distinct names counted in one map
	maxText      = 500    // bytes of a text that is kept
)

// Digest accumulates facts about a crawl. Its methods may be called concurrently.
type Digest struct {
	mu     sync.Mutex
	config Config
	pacer  *audit.Pacer
	facts  Facts // copied by Snapshot; includes Total
	hosts  map[string]*Host
	rest   Host            // sum of the hosts that are not kept
	others map[string]bool // names of hosts that are not kept, at most 10 × Config.MaxHosts
	run    *run            // the process that wrote the last line
	runs   map[string]*run // processes whose requests may still end
	opened int             // requests of these processes that have not ended

	problems groups
	rules    groups
	lanes    clock
	series   series
	line     audit.Line // buffer that is reused

	key   []byte // buffer that is reused
	names jsonl.Names
	via   struct{ url, site string } // cache for the last page that named a URL
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

// Judge does the first half of Add; [Digest.AddJudged] does the second, so that two goroutines can share the work. Only one
// goroutine may call Judge, with all lines in order, and Add must not be called as well.
func (d *Digest) Judge(e *ledger.Entry, j *Judgement) {
	setLine(&d.line, e)
	var found []audit.Violation
	j.pause, j.paused, found = d.pacer.Add(&d.line)
	j.found, j.unjudged = slices.Clone(found), d.pacer.Unjudged()
}

// AddJudged adds the next line of the ledger with its Judgement from Judge.
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

// Host returns the facts about a host that is kept in full.
func (d *Digest) Host(name string) (h Host, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.hosts[name]; known != nil {
		return known.clone(), true
	}
	return Host{}, false
}

// Facts is a copy of the state of a Digest. They share no memory.
type Facts struct {
	First, Last time.Time // times of the first request and of the last line of the ledger
	Lines       int       // lines in the ledger
	Runs        int       // processes that wrote the ledger
	Owners      []Owner   // owners that shared the crawl, in the order of the configuration; none if it was not shared
	Total       Host      // sum of all hosts
	Hosts       []Host    // sorted by requests, largest first
	MoreHosts   int       // hosts that are not in Hosts; a lower bound if there are very many

	Early    []audit.Violation // the first violations; Total.Early counts all requests that were too early or broke another rule of pace
	Unjudged int               // requests that could not be judged because there were too many hosts

	Problems []Group // groups by outcome and reason, the largest first
	Rules    []Group // lines of robots.txt and of the scope that refused URLs, with the most frequent first

	Depths    [maxDepth + 1]int // fetched pages by depth; the last element also counts greater depths
	Sizes     Histogram         // sizes of fetched pages in bytes
	Known     int               // URLs that have an outcome
	Crossed   int               // URLs with an outcome that were first found on a page of another site
	Processed time.Time         // time of the last visit

	Lanes   []Lane // lanes of those Hosts that have one
	Bin     time.Duration
	Opening []Mark // the first requests, at most 4096
	Series  Series
}

// maxDepth is the greatest depth with a separate count.
const maxDepth = 32

// Snapshot returns the present state with no more hosts than the number most; 0: all hosts that are kept. Its cost grows with the hosts
// that it returns, plus at most some thousand requests and groups.
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

// View is like Snapshot without Lanes, Problems, Rules and Opening, for callers that poll. Its cost is sorting all hosts and
// copying those that it returns.
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

// ranked returns the hosts sorted by requests, largest first.
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

// host returns the host of this name, or the sum of the hosts that are not kept.
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
