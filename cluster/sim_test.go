package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/sink"
)

var (
	simSeed = flag.Uint64("seed", 0, "run TestSim with this seed alone")
	simRuns = flag.Int("sim.n", long.N(4, 12), "number of seeds TestSim goes through")
	simFrom = flag.Uint64("sim.from", 1, "the first of them")
	simLog  = flag.Bool("sim.log", false, "print what happens to nodes and shards")
)

// TestSim runs entire clusters on simulated webs in virtual time. Nodes are killed, cut off and reconnected, join and leave, and start
// again with the remains of their directories or with nothing. Calls of the engine get lost or are answered late or never, reads are stale,
// and journals are trimmed behind snapshots. Afterwards the job has ended by itself. Each page is exactly once in the committed output.
// Each journal can be replayed, its epochs follow each other, and requests were made only while the owner's lease lasted. The auditor of
// the servers has seen no violation: no pause of a host or an address was cut short, and robots.txt came first, whichever node made the
// request. A failing seed is repeated by
//
//	go test ./cluster -run ^TestSim$ -seed N
func TestSim(t *testing.T) {
	if *simSeed != 0 {
		simulate(t, *simSeed)
		return
	}
	for i := range uint64(*simRuns) {
		t.Run(fmt.Sprint("seed=", *simFrom+i), func(t *testing.T) { simulate(t, *simFrom+i) })
	}
}

func simulate(t *testing.T, seed uint64) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := newSim(t, w, seed)
		s.run()
		s.check()
	})
}

const simContact = "https://lab.university.edu/crawl"

// sim is one simulated cluster job.
type sim struct {
	t         *testing.T
	w         *crawltest.Web
	rng       *rand.Rand
	seed      uint64
	seeds     []string
	added     []string // seeds added while the job runs
	links     map[string][]string
	server    *mem.Server
	job       cluster.Job
	dir       string
	faults    mem.Faults
	nodes     []*simNode
	made      int
	perDomain bool
	name      string // name of the crawl
	ledger    io.Writer
	snapshots int64          // growth of a journal in bytes before a snapshot is taken
	quiet     time.Duration  // time at the beginning without events
	stall     *atomic.Uint64 // bit n is set while the journal of shard n accepts no record; nil: all journals accept records
	grown     []time.Time    // times at which the shards were doubled
}

// simNode is a process (node) of the simulated cluster.
type simNode struct {
	*cluster.Node
	s     *sim
	conn  *mem.Conn
	stop  context.CancelFunc // like SIGTERM
	kill  context.CancelFunc
	ended chan struct{}
	err   error
}

func newSim(t *testing.T, w *crawltest.Web, seed uint64) *sim {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &sim{t: t, w: w, rng: rng, seed: seed, links: map[string][]string{}, server: mem.New(), dir: t.TempDir()}
	s.job = cluster.Job{Shards: 1 + rng.IntN(8), TTL: 9*time.Second + time.Duration(rng.IntN(25))*time.Second, Delay: time.Second}
	s.snapshots = int64(500 + rng.IntN(20_000))
	s.makeShared()
	s.makeWeb()
	if rng.IntN(3) == 0 {
		s.job.Limits.Pages = 1 + rng.Int64N(int64(len(s.pages())+5))
	}
	w.Expect(crawltest.Expect{
		Delay: time.Second, Agent: "testbot", Contact: simContact, MaxRetryAfter: 5 * time.Minute, AllowRepeats: true,
		PerAddress: true, PerDomain: s.perDomain, Rate: s.job.Rate, RateSlack: time.Second,
	})
	s.faults = mem.Faults{Latency: time.Duration(rng.IntN(100)) * time.Millisecond}
	if rng.IntN(2) == 0 {
		s.faults.Lost, s.faults.Unheard, s.faults.Stale = rng.Float64()/10, rng.Float64()/10, rng.Float64()/2
	}
	if err := cluster.Create(t.Context(), s.server.Connect(), s.job); err != nil {
		t.Fatal(err)
	}
	return s
}

// makeShared may make the hosts of a domain share a pause, or give the job a total rate.
func (s *sim) makeShared() {
	switch s.rng.IntN(5) {
	case 0:
		s.perDomain = true
	case 1:
		s.job.Rate = 1 + 4*s.rng.Float64()
	}
}

// host returns the name of host n.
func (s *sim) host(n int) string {
	if s.perDomain {
		return fmt.Sprintf("h%d.d%d.test", n, n%3)
	}
	return fmt.Sprintf("h%d.test", n)
}

// makeWeb makes hosts with pages that link to each other; some hosts ask for pauses. A response that a node received but could no longer
// commit counts as never received. Pauses are therefore no longer than the time between the last request of an owner that is cut off and
// the first request of the next owner.
func (s *sim) makeWeb() {
	hosts, pages := 2+s.rng.IntN(8), 5+s.rng.IntN(25)
	var leaves []string
	url := func(h, p int) string { return fmt.Sprintf("http://%s/%d", s.host(h), p) }
	for h := range hosts {
		site := s.w.Site(s.host(h)).Latency(time.Duration(s.rng.IntN(900)) * time.Millisecond)
		if s.rng.IntN(8) == 0 { // so slow that its node reports the request as in progress
			site.Latency(time.Duration(8+s.rng.IntN(10)) * time.Second)
		}
		if h > 0 && s.rng.IntN(2) == 0 {
			site.Address(s.w.Site(s.host(s.rng.IntN(h))).Addr().String())
		}
		switch s.rng.IntN(4) {
		case 0:
			site.Forbid("/no/*").Robots("User-agent: *\nDisallow: /no/\n")
		case 1:
			d := 2 + s.rng.IntN(int(s.job.TTL/(3*time.Second))-1)
			site.CrawlDelay(time.Duration(d) * time.Second).Robots(fmt.Sprintf("User-agent: *\nCrawl-delay: %d\n", d))
		case 2:
			site.Robots("")
			if h > 0 && s.rng.IntN(2) == 0 { // robots.txt redirects to another host, which may be in another shard
				site.Redirect("/robots.txt", "http://"+s.host(s.rng.IntN(h))+"/rules.txt")
			}
		}
		s.w.Site(s.host(h)).Page("/rules.txt", "").Type("text/plain")
		for p := range pages {
			var links []string
			if p+1 < pages {
				links = append(links, url(h, p+1))
			}
			for range s.rng.IntN(4) {
				links = append(links, url(s.rng.IntN(hosts), s.rng.IntN(pages)))
			}
			if p == 0 && h+1 < hosts {
				links = append(links, url(h+1, 0))
			}
			leaf := fmt.Sprintf("http://%s/leaf-%d-%d", s.host(s.rng.IntN(hosts)), h, p) // no other page links to this one
			links, leaves = append(links, leaf), append(leaves, leaf)
			var body strings.Builder
			for _, l := range links {
				fmt.Fprintf(&body, "<a href=%q>x</a>\n", l)
			}
			site.Page(fmt.Sprintf("/%d", p), body.String())
			s.links[url(h, p)] = links
		}
	}
	for _, u := range leaves {
		host, path, _ := strings.Cut(strings.TrimPrefix(u, "http://"), "/")
		s.w.Site(host).Page("/"+path, "")
	}
	s.seeds = []string{url(0, 0)}
	if s.rng.IntN(3) == 0 {
		s.makePatient()
	}
}

// makePatient makes a host that asks for a pause longer than a takeover. The host is a seed, and no event happens to nodes until its
// robots.txt is known.
func (s *sim) makePatient() {
	d := time.Duration(s.job.TTL.Seconds()*(1.5+1.5*s.rng.Float64())) * time.Second
	site := s.w.Site("patient.test").CrawlDelay(d)
	site.Robots(fmt.Sprintf("User-agent: *\nCrawl-delay: %d\n", int(d.Seconds())))
	for p := range 8 {
		u := fmt.Sprintf("http://patient.test/%d", p+1)
		site.Page(fmt.Sprintf("/%d", p), fmt.Sprintf("<a href=%q>x</a>", u))
		s.links[fmt.Sprintf("http://patient.test/%d", p)] = []string{u}
	}
	site.Page("/8", "")
	s.links["http://patient.test/8"] = nil
	s.seeds = append(s.seeds, "http://patient.test/0")
	s.quiet = time.Minute
}

func (s *sim) log(format string, args ...any) {
	if *simLog {
		s.t.Logf("%8.1fs %s", time.Since(s.w.Start()).Seconds(), fmt.Sprintf(format, args...))
	}
}

// begin starts a node. A node with the name of an earlier one continues in the earlier node's directory.
func (s *sim) begin(name string) {
	s.made++
	conn := s.server.Connect()
	f := s.faults
	f.Seed = s.rng.Uint64()
	x := &simNode{s: s, conn: conn, ended: make(chan struct{})}
	n, err := cluster.NewNode(s.t.Context(), cluster.Config{
		Engine: stalling{punctual{conn}, s.stall}, Name: name, Dir: filepath.Join(s.dir, name), Crawl: x.crawl, Poll: 500 * time.Millisecond, SnapshotSize: s.snapshots,
		Store: disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10, PrefetchSize: 1 << 16},
		Trace: func(e cluster.Event) { s.log("%s: shard %d epoch %d %s %v", name, e.Shard, e.Epoch, e.What, e.Err) },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	conn.Misbehave(f)
	x.Node = n
	ctx, stop := context.WithCancel(context.Background())
	alive, kill := context.WithCancel(context.Background())
	x.stop, x.kill = stop, kill
	go func() {
		defer close(x.ended)
		x.err = cluster.RunNode(n, ctx, alive)
		stop()
	}()
	s.nodes = append(s.nodes, x)
	s.log("%s begins", name)
}

// stalling is an engine in which appends to some journals hang at times, as when the server that leads these journals was killed. Other
// calls are answered.
type stalling struct {
	cluster.Engine
	shards *atomic.Uint64
}

// Append implements cluster.Journals.
func (e stalling) Append(ctx context.Context, shard int, n cluster.Nonce, data []byte, last uint64) (uint64, error) {
	if e.shards != nil && e.shards.Load()>>shard&1 == 1 {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return e.Engine.Append(ctx, shard, n, data, last)
}

// punctual is an engine whose host clocks use the true time, although the simulation makes nodes' clocks wrong by changing the time that
// the engine tells them. A real node corrects its times by the offset that it has measured.
type punctual struct{ *mem.Conn }

// Clocks implements cluster.Engine.
func (p punctual) Clocks() cluster.ClockStore { return trueTime(p) }

type trueTime struct{ *mem.Conn }

// Now implements cluster.Clock.
func (p trueTime) Now(ctx context.Context) (time.Time, error) {
	_, err := p.Conn.Now(ctx)
	return time.Now(), err
}

// crawl crawls a shard.
func (x *simNode) crawl(ctx context.Context, sh *cluster.Shard) error {
	out, err := sink.OpenJSONL(filepath.Join(sh.Dir, "visits.jsonl"))
	if err != nil {
		return err
	}
	defer out.Close(ctx)
	c := crawler.Config{
		Agent: "testbot/1.0", Contact: simContact, Frontier: sh.Frontier(), Sinks: []sink.Sink{sh.Sink(out)},
		Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny}, Concurrency: 6,
		Limits:  crawler.Limits{Depth: crawler.Unlimited, Pages: crawler.Unlimited, Time: 10000 * time.Hour},
		Commits: crawler.Commits{Interval: 250 * time.Millisecond, Gate: true},
	}
	x.s.w.Apply(&c)
	c.Fetch.AllowAddresses = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	c.Politeness.Fence, c.Politeness.Shared, c.Politeness.PerDomain, c.Politeness.Name = sh.Fence, sh.Sharing(), x.s.perDomain, x.s.name
	c.Politeness.Delay, c.Politeness.Ledger = x.s.job.Delay, x.s.ledger
	cr, err := crawler.New(c)
	if err != nil {
		return err
	}
	if sh.Epoch > 1 {
		if err := cr.Gate().TakeOver(2 * time.Duration(x.MaxSkew())); err != nil {
			return err
		}
	}
	sh.Obey(func(o cluster.Order) {
		if o.What == "leave-out" {
			_ = cr.LeaveOut(o.To) // the order names a host of the simulation
		}
	})
	_, err = cr.Run(ctx, x.s.seeds...)
	return err
}

// run makes events happen until the job is over.
func (s *sim) run() {
	for i := range 1 + s.rng.IntN(3) {
		s.begin(fmt.Sprint("n", i))
	}
	deadline := time.Now().Add(12 * time.Hour)
	trouble := s.rng.IntN(16)
	time.Sleep(s.quiet)
	for {
		time.Sleep(time.Duration(s.rng.ExpFloat64() * float64(6*time.Second)))
		if s.over() {
			break
		}
		if time.Now().After(deadline) {
			s.t.Errorf("the job has not ended after %v", 12*time.Hour)
			break
		}
		if trouble > 0 {
			trouble--
			s.trouble()
			continue
		}
		for _, x := range s.living() {
			x.conn.Cut(false)
			x.conn.Skew(0)
		}
		if len(s.living()) == 0 {
			s.begin(fmt.Sprint("n", s.rng.IntN(s.made)))
		}
	}
	for _, x := range s.nodes {
		x.conn.Cut(false)
		x.conn.Misbehave(mem.Faults{})
		x.stop()
		<-x.ended
	}
}

// over reports whether the engine has recorded that the job is over.
func (s *sim) over() bool {
	end, _, err := s.server.Connect().Load(context.Background(), cluster.RegisterEnd)
	return err == nil && len(end) > 0
}

func (s *sim) living() (all []*simNode) {
	for _, x := range s.nodes {
		select {
		case <-x.ended:
		default:
			all = append(all, x)
		}
	}
	return all
}

// trouble makes one event happen.
func (s *sim) trouble() {
	all := s.living()
	if len(all) == 0 {
		s.begin(fmt.Sprint("n", s.rng.IntN(s.made+1)))
		return
	}
	x := all[s.rng.IntN(len(all))]
	switch s.rng.IntN(9) {
	case 7: // set the node's clock wrong
		d := time.Duration(s.rng.Int64N(int64(4*time.Second))) - 2*time.Second
		s.log("%s is %v ahead", x.Name, d)
		x.conn.Skew(d)
	case 8: // cut all nodes off from the engine
		s.log("the engine is away")
		for _, x := range all {
			x.conn.Cut(true)
		}
		time.Sleep(time.Duration(s.rng.Int64N(int64(2 * s.job.TTL))))
		for _, x := range all {
			x.conn.Cut(false)
		}
	case 0, 6: // kill the node at one of its next calls: nothing that it does later takes effect
		x.conn.CutAt(s.rng.IntN(20), s.rng.IntN(2) == 0, func() {
			s.log("%s is killed", x.Name)
			x.kill()
			x.stop()
		})
	case 1:
		s.log("%s is told to stop", x.Name)
		x.stop()
	case 2:
		s.log("%s is cut off", x.Name)
		x.conn.Cut(true)
	case 3:
		s.log("%s is mended", x.Name)
		x.conn.Cut(false)
	default:
		if len(all) < 5 {
			name := fmt.Sprint("n", s.rng.IntN(s.made+1))
			for _, y := range all {
				if y.Name == name {
					name = fmt.Sprint("n", s.made)
				}
			}
			s.begin(name)
		}
	}
}

func (s *sim) check() {
	for _, x := range s.nodes {
		if x.err != nil && !errors.Is(x.err, cluster.ErrName) && !errors.Is(x.err, cluster.ErrGrown) {
			s.t.Errorf("%s: %v", x.Name, x.err)
		}
	}
	seen := map[string]int{}
	for shard := range s.job.Shards {
		s.checkJournal(shard)
		for name, n := range s.committed(shard) {
			epoch, ok := strings.CutPrefix(name, "visits.jsonl@")
			if ok {
				s.readVisits(shard, epoch, n, seen)
			}
		}
	}
	requested := map[string]bool{}
	for _, r := range s.w.Requests() {
		requested[r.URL] = true
	}
	if limit := int(s.job.Limits.Pages); limit > 0 && limit < len(s.pages()) {
		s.checkLimited(limit, seen)
		return
	}
	for u := range s.pages() {
		if seen[u] != 1 {
			s.t.Errorf("%s is in the output %d times; requested %t", u, seen[u], requested[u])
		}
	}
	if len(seen) != len(s.pages()) {
		s.t.Errorf("%d URLs in the output, want %d", len(seen), len(s.pages()))
	}
}

// checkLimited checks that the output has exactly as many pages as the job's limit allows (invariant I7).
func (s *sim) checkLimited(limit int, seen map[string]int) {
	for u, n := range seen {
		if n != 1 || !s.pages()[u] {
			s.t.Errorf("%s is in the output %d times", u, n)
		}
	}
	if len(seen) != limit {
		s.t.Errorf("%d pages in the output, want %d of %d", len(seen), limit, len(s.pages()))
	}
	if end, err := cluster.LoadEnd(s.t.Context(), s.server.Connect()); end != cluster.EndPages || err != nil {
		s.t.Errorf("the job has ended because of %q, %v", end, err)
	}
}

// checkJournal checks that each new owner of a shard waited for the TTL, that epochs follow each other (invariant I1), and that each
// request was made while the owner's lease lasted (I3), but not before the delay since its takeover (I4).
func (s *sim) checkJournal(shard int) {
	all, err := cluster.ReadWritten(s.server.History(shard))
	if err != nil || len(all) == 0 {
		s.t.Errorf("shard %d: %d records, %v", shard, len(all), err)
		return
	}
	for i, r := range all[1:] {
		before := all[i]
		if r.Open && !before.Close && r.At.Sub(before.At) < s.job.TTL && before.Node != simOperator {
			s.t.Errorf("shard %d was taken over %v after a record of its owner", shard, r.At.Sub(before.At))
		}
		if r.Open && r.Epoch != before.Epoch+1 || !r.Open && r.Epoch != before.Epoch {
			s.t.Errorf("shard %d: epoch %d follows %d", shard, r.Epoch, before.Epoch)
		}
	}
	job, err := cluster.LoadJob(s.t.Context(), s.server.Connect())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, q := range s.w.Requests() {
		job := job
		for _, at := range s.grown {
			if q.Start.Before(at) {
				job.Shards /= 2
			}
		}
		if job.Shard(q.Host) != shard || strings.HasSuffix(q.URL, "/rules.txt") { // another shard requests this URL
			continue
		}
		var last, open cluster.Written
		for _, r := range all {
			if r.At.After(q.Start) {
				break
			}
			if last = r; r.Open {
				open = r
			}
		}
		switch {
		case last.Epoch == 0 || last.Close:
			s.t.Errorf("%v at %v: nobody owned shard %d", q.URL, q.Start, shard)
		case q.Start.Sub(last.At) > s.job.TTL*9/10:
			s.t.Errorf("%v: requested %v after the last record of shard %d, the TTL is %v", q.URL, q.Start.Sub(last.At), shard, s.job.TTL)
		case open.Epoch > 1 && q.Start.Sub(open.At) < s.job.Delay:
			s.t.Errorf("%v: requested %v after shard %d was taken over", q.URL, q.Start.Sub(open.At), shard)
		}
	}
}

// pages returns the URLs of the seeds and of all pages that can be reached from them.
func (s *sim) pages() map[string]bool {
	all := map[string]bool{}
	queue := slices.Concat(s.seeds, s.added)
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if all[u] {
			continue
		}
		all[u] = true
		queue = append(queue, s.links[u]...)
	}
	return all
}

// committed rebuilds a shard's store from its journal, and returns the committed length of each output.
func (s *sim) committed(shard int) map[string]int64 {
	store, err := cluster.Rebuild(s.t.Context(), s.server.Connect(), shard, s.t.TempDir(), s.job)
	if err != nil {
		s.t.Errorf("shard %d: %v", shard, err)
		return nil
	}
	defer store.Close()
	if n := store.Stats(); n.Queued+n.Waiting+n.Claimed > 0 && s.job.Limits.Pages == 0 {
		s.t.Errorf("shard %d: %+v at the end of the job", shard, n)
	}
	return store.Offsets("")
}

// readVisits counts the URLs in one output, up to the committed length.
func (s *sim) readVisits(shard int, epoch string, n int64, seen map[string]int) {
	files, err := filepath.Glob(filepath.Join(s.dir, "*", strconv.Itoa(shard), epoch, "visits.jsonl"))
	if err != nil || len(files) != 1 {
		s.t.Errorf("shard %d, epoch %s: %d outputs, %v", shard, epoch, len(files), err)
		return
	}
	b, err := os.ReadFile(files[0])
	if err != nil || int64(len(b)) < n {
		s.t.Errorf("%s has %d bytes of %d: %v", files[0], len(b), n, err)
		return
	}
	lines := bufio.NewReader(bytes.NewReader(b[:n]))
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return
		}
		var v struct {
			URL     string
			Outcome string
		}
		if err := json.Unmarshal(line, &v); err != nil {
			s.t.Errorf("%s: %v", files[0], err)
			return
		}
		seen[v.URL]++
	}
}
