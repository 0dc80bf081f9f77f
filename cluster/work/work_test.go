package work

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

const contact = "https://lab.university.edu/crawl"

// lab is a cluster job on a simulated web.
type lab struct {
	t      *testing.T
	w      *crawltest.Web
	server *mem.Server
	name   string // name of the job
	dir    string
	pages  map[string]bool
	nodes  []*labNode
	trace  func(cluster.Event) // Trace of nodes that begin; nil: none
	store  string              // Store of nodes that begin
	renew  time.Duration       // time after which nodes give a shard back; 0: the default
	allow  Allowed             // Allowed of nodes that begin
	// requests counts the requests to a server of this machine.
	requests atomic.Int64
	// program changes settings of the job and of its nodes that only a program can make.
	program func(*job.Config)
}

// labNode is a running node.
type labNode struct {
	Node
	conn  *mem.Conn
	stop  context.CancelFunc
	ended chan error
}

// newLab makes hosts whose pages link to each other, two of the hosts at one address, and a job that crawls them.
func newLab(t *testing.T, w *crawltest.Web, settings ...job.Setting) *lab {
	t.Helper()
	return newLabOn(t, w, mem.New(), settings...)
}

func newLabOn(t *testing.T, w *crawltest.Web, server *mem.Server, settings ...job.Setting) *lab {
	t.Helper()
	return newLabOf(t, w, server, 4, []string{"http://h0.test/0"}, settings...)
}

func newLabOf(t *testing.T, w *crawltest.Web, server *mem.Server, shards int, seeds []string, settings ...job.Setting) *lab {
	t.Helper()
	return newLabBy(t, w, server, shards, seeds, func(*job.Config) {}, settings...)
}

// newLabBy is like newLabOf, for a job with settings that only a program can make.
func newLabBy(t *testing.T, w *crawltest.Web, server *mem.Server, shards int, seeds []string, program func(*job.Config), settings ...job.Setting) *lab {
	t.Helper()
	l := &lab{t: t, w: w, server: server, program: program, dir: t.TempDir(), pages: map[string]bool{}}
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: contact, AllowRepeats: true, PerAddress: true})
	const hosts, each = 4, 12
	for h := range hosts {
		site := w.Site(fmt.Sprintf("h%d.test", h))
		if h == 1 {
			site.Address(w.Site("h0.test").Addr().String())
		}
		for p := range each {
			next, own := fmt.Sprintf("http://h%d.test/%d", (h+1)%hosts, p), fmt.Sprintf("http://h%d.test/%d", h, (p+1)%each)
			site.Page(fmt.Sprintf("/%d", p), fmt.Sprintf("<p>%d %d<a href=%q>a</a><a href=%q>b</a>", h, p, next, own))
			l.pages[own] = true
		}
	}
	base := []job.Setting{
		{Name: "contact", Values: []string{contact}}, {Name: "delay", Values: []string{"1s"}}, {Name: "depth", Values: []string{"100"}},
		{Name: "scope", Values: []string{"any"}}, {Name: "format", Values: []string{"jsonl", "warc"}},
	}
	c, err := job.Settings(append(base, settings...)).Config()
	if err != nil {
		t.Fatal(err)
	}
	program(&c)
	spec := &Spec{Config: c, Shards: shards, Lease: 9 * time.Second}
	for _, text := range seeds {
		u, err := weburl.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		spec.Seeds = append(spec.Seeds, u)
	}
	if err := Create(t.Context(), l.server.Connect(), spec); err != nil {
		t.Fatal(err)
	}
	if err := Create(t.Context(), l.server.Connect(), spec); !errors.Is(err, cluster.ErrJobExists) {
		t.Errorf("created twice: %v", err)
	}
	return l
}

func limit(key, value string) job.Setting { return job.Setting{Name: key, Values: []string{value}} }

// begin starts a node.
func (l *lab) begin(name string) *labNode {
	l.t.Helper()
	x := &labNode{conn: l.server.Connect(), ended: make(chan error, 1)}
	x.Node = Node{Engine: x.conn, JobName: l.name, Name: name, Dir: filepath.Join(l.dir, name), Trace: l.trace, Store: l.store, renew: l.renew, Allow: l.allow, Program: func(c *job.Config) {
		l.w.Apply(&c.Crawl)
		l.program(c)
	}}
	ctx, cancel := context.WithCancel(l.t.Context())
	x.stop = cancel
	go func() { x.ended <- x.Run(ctx) }()
	l.nodes = append(l.nodes, x)
	return x
}

// wait waits until the job is over and its nodes have ended.
func (l *lab) wait() {
	l.t.Helper()
	deadline := time.Now().Add(2 * time.Hour)
	for {
		end, err := cluster.LoadEnd(l.t.Context(), l.server.Connect())
		if err != nil {
			l.t.Fatal(err)
		}
		if end != "" {
			break
		}
		if time.Now().After(deadline) {
			l.t.Fatal("the job does not end")
		}
		time.Sleep(time.Second)
	}
	for _, x := range l.nodes {
		x.conn.Cut(false)
		if err := <-x.ended; err != nil {
			l.t.Errorf("%s: %v", x.Name, err)
		}
	}
}

// collect collects the job and verifies it. It returns the collected job, and the number of visits of each URL.
func (l *lab) collect() (*Collected, map[string]int) {
	l.t.Helper()
	var dirs []string
	for _, x := range l.nodes {
		dirs = append(dirs, x.Dir)
	}
	out := filepath.Join(l.dir, "out")
	c := &Collecting{Engine: l.server.Connect(), Name: "test", Nodes: dirs}
	checked, err := c.Check(l.t.Context())
	if err != nil || len(checked.Faults) > 0 {
		l.t.Errorf("check: %+v, %v", checked, err)
	}
	res, err := c.Into(l.t.Context(), out)
	if err != nil {
		l.t.Fatal(err)
	}
	r, err := job.Read(out)
	if err != nil {
		l.t.Fatal(err)
	}
	defer r.Close()
	v, err := r.Verify()
	if err != nil || v.Damaged() > 0 || v.Chain.Fault != "" || v.Matching.Fault() != "" {
		l.t.Fatalf("verify: %+v, %v", v, err)
	}
	for _, x := range v.Violations {
		l.t.Error(x)
	}
	if v.Unproven > 0 {
		l.t.Logf("%d not proven", v.Unproven)
	}
	seen := map[string]int{}
	for x, err := range r.Visits() {
		if err != nil {
			l.t.Fatal(err)
		}
		seen[x.URL]++
	}
	if res.Visits == 0 && checked.Visits != total(seen) {
		l.t.Errorf("%d visits are committed, %d collected", checked.Visits, total(seen))
	}
	return res, seen
}

func total(seen map[string]int) (n int) {
	for _, x := range seen {
		n += x
	}
	return n
}

// TestNodes lets nodes work on a job in virtual time, while one of them is cut off, another one is stopped, and a third one joins. The
// collected job has each page once, and verify finds no violation, whichever node made a request.
func TestNodes(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				l, rng := newLab(t, w, limit("max-time", "3h")), rand.New(rand.NewPCG(seed, 0))
				some := func() { time.Sleep(time.Duration(rng.ExpFloat64() * float64(6*time.Second))) }
				a, b := l.begin("a"), l.begin("b")
				some()
				a.conn.Cut(true)
				some()
				l.begin("c")
				some()
				b.stop()
				some()
				a.conn.Cut(false)
				l.wait()
				res, seen := l.collect()
				for u := range l.pages {
					if seen[u] != 1 {
						t.Errorf("%s is there %d times", u, seen[u])
					}
				}
				if len(seen) != len(l.pages) || res.Report.Pages != len(l.pages) || res.Report.Finish != crawler.FinishDone || res.Report.Runs != 1 {
					t.Errorf("%d URLs, report %+v; want %d pages, in one run", len(seen), res.Report, len(l.pages))
				}
			})
		})
	}
}

// TestPages checks that a job fetches exactly as many pages as its limit allows, whichever nodes fetch them.
func TestPages(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newLab(t, w, limit("max-pages", "17"))
		a := l.begin("a")
		l.begin("b")
		time.Sleep(5 * time.Second)
		a.conn.Cut(true)
		l.wait()
		res, seen := l.collect()
		if total(seen) != 17 || res.Report.Pages != 17 || res.Report.Finish != crawler.FinishPages {
			t.Errorf("%d visits, report %+v; want 17 pages", total(seen), res.Report)
		}
	})
}

// TestBestFirst checks that with a low limit of pages, a shard serves the host with the best URLs and leaves those of others for later.
func TestBestFirst(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		var seeds []string
		for p := range 12 {
			seeds = append(seeds, fmt.Sprintf("http://h0.test/%d", p), fmt.Sprintf("http://h2.test/%d", p))
		}
		l := newLabOf(t, w, mem.New(), 1, seeds, limit("max-pages", "10"), limit("best-first", "true"), limit("priority", `//h2\.test/=100`))
		l.begin("a")
		l.wait()
		_, seen := l.collect()
		best := 0
		for u := range seen {
			if strings.HasPrefix(u, "http://h2.test/") {
				best++
			}
		}
		if len(seen) != 10 || best < 9 {
			t.Errorf("%d of %d pages are of the best host, want 9 of 10", best, len(seen))
		}
	})
}

// TestMissing checks that the error for missing files names their node and visits, and that nothing is collected without these files unless
// Partial is set. A directory of another node is refused.
func TestMissing(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newLab(t, w, limit("max-pages", "10"))
		l.begin("a")
		l.wait()
		c := &Collecting{Engine: l.server.Connect(), Name: "test"}
		out := filepath.Join(l.dir, "out")
		res, err := c.Into(t.Context(), out)
		if !errors.Is(err, ErrMissing) || res.Visits != 10 || !strings.Contains(err.Error(), "of node a is not among those given") {
			t.Errorf("%+v, %v", res, err)
		}
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("the directory was made: %v", err)
		}
		c.Partial = true
		if res, err = c.Into(t.Context(), out); err != nil || len(res.Missing) == 0 {
			t.Errorf("%+v, %v", res, err)
		}
		if left, err := filepath.Glob(filepath.Join(l.dir, ".amble-*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		for _, dir := range []string{l.dir, filepath.Join(l.dir, "a")} {
			n := &Node{Engine: l.server.Connect(), Name: "b", Dir: dir}
			if err := n.Run(t.Context()); !errors.Is(err, ErrDir) {
				t.Errorf("%s: %v", dir, err)
			}
		}
		log := filepath.Join(l.dir, "a.log")
		if err := os.WriteFile(log, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		c.Nodes = []string{filepath.Join(l.dir, "a"), log, out}
		if res, err = c.Into(t.Context(), filepath.Join(l.dir, "with a log")); err != nil || !slices.Equal(res.LeftOut, []string{log, out}) {
			t.Errorf("with a file and a job directory among the directories: %+v, %v", res, err)
		}
		if res, err := c.Check(t.Context()); err != nil || !strings.Contains(res.Text(), "a.log is no directory of a node") {
			t.Errorf("check with a file among the directories: %+v, %v", res, err)
		}
		c.Nodes = []string{l.dir}
		if _, err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "is no directory of a node") {
			t.Errorf("check: %v", err)
		}
		c.Nodes = []string{filepath.Join(l.dir, "a"), filepath.Join(l.dir, "typo")}
		if _, err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "typo is not there") {
			t.Errorf("check of a directory that is not there: %v", err)
		}
	})
}

// TestFullDisk checks that a node whose disk is full reports this and gives all shards back, and that the other nodes continue.
func TestFullDisk(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newLab(t, w, limit("max-time", "3h"))
		a := l.begin("a")
		time.Sleep(3 * time.Second)
		a.trace(cluster.Event{Shard: 1, What: cluster.Lost, Err: &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}})
		if err := <-a.ended; !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "make room") {
			t.Errorf("the node ended with %v", err)
		}
		a.ended <- nil
		l.begin("b")
		l.wait()
		if _, seen := l.collect(); len(seen) != len(l.pages) {
			t.Errorf("%d URLs of %d", len(seen), len(l.pages))
		}
	})
}

// TestDamagedInboxMessageIsSkipped checks that an unreadable message in an inbox costs only its links, and that it is counted and named.
func TestDamagedInboxMessageIsSkipped(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newLab(t, w, limit("max-time", "3h"))
		var aside atomic.Int64
		l.trace = func(e cluster.Event) {
			switch e.What {
			case cluster.Aside:
				aside.Add(1)
			case cluster.Lost:
				t.Errorf("shard %d is lost: %v", e.Shard, e.Err)
			}
		}
		l.begin("a")
		time.Sleep(3 * time.Second)
		e := l.server.Connect()
		for shard := range 4 {
			if err := e.Send(t.Context(), shard, "x", bytes.Repeat([]byte{0xff}, 50)); err != nil {
				t.Fatal(err)
			}
		}
		l.wait()
		s, err := cluster.ReadStatus(t.Context(), e)
		text := Summarize(&s, time.Now()).Text("shop")
		if err != nil || aside.Load() != 4 || !strings.Contains(text, "4 messages of inboxes could not be read") {
			t.Errorf("%d events, status %q, %v", aside.Load(), text, err)
		}
		c := &Collecting{Engine: e, Name: "test", Nodes: []string{filepath.Join(l.dir, "a")}}
		res, err := c.Check(t.Context())
		if err != nil || res.Dead != 4 || len(res.Faults) != 4 || !strings.Contains(res.Faults[0], "of its inbox (50 bytes, put aside at ") {
			t.Errorf("check: %+v, %v", res, err)
		}
		if _, err := c.Into(t.Context(), filepath.Join(l.dir, "out")); err != nil {
			t.Fatal(err)
		}
		if res.Visits != len(l.pages) {
			t.Errorf("%d visits, want %d", res.Visits, len(l.pages))
		}
	})
}

// TestAnswerThatNobodyStored checks that verify counts some early requests separately: if a node receives a Retry-After, cannot store it
// any more and then loses its shards, the next owner could not know it.
func TestAnswerThatNobodyStored(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		l := newLab(t, w, limit("max-time", "3h"))
		w.ExpectViolations()
		for h := range 4 {
			w.Site(fmt.Sprintf("h%d.test", h)).Latency(700 * time.Millisecond).Fault(crawltest.RetryAfter(http.StatusTooManyRequests, 3*time.Minute).From(8 * time.Second).Until(11 * time.Second))
		}
		a := l.begin("a")
		time.Sleep(8 * time.Second)
		underWay := func(r crawltest.Request) bool { return r.End.IsZero() && r.Start.Sub(w.Start()) > 8*time.Second }
		for !slices.ContainsFunc(w.Requests(), underWay) {
			time.Sleep(50 * time.Millisecond)
		}
		a.conn.Cut(true)
		time.Sleep(20 * time.Second)
		l.begin("b")
		l.wait()
		var dirs []string
		for _, x := range l.nodes {
			dirs = append(dirs, x.Dir)
		}
		out := filepath.Join(l.dir, "out")
		if _, err := (&Collecting{Engine: l.server.Connect(), Name: "test", Nodes: dirs}).Into(t.Context(), out); err != nil {
			t.Fatal(err)
		}
		r, err := job.Read(out)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		v, err := r.Verify()
		if err != nil || len(v.Violations) > 0 || v.Unknown == 0 {
			t.Errorf("%v, %d could not be known, %v; want no violation and some of those", v.Violations, v.Unknown, err)
		}
	})
}

// TestJobsOnAnEngineVerifyTogether: two jobs on one engine crawl the same hosts with different delays. Verify finds no violation in the two
// collected jobs together, and requests of each job name the other job.
func TestJobsOnAnEngineVerifyTogether(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		server := mem.New()
		one := newLabOn(t, w, server)
		two := newLabOn(t, w, server.NewJob(), limit("delay", "2s"))
		one.name, two.name = "one", "two"
		for _, l := range []*lab{one, two} {
			l.begin("a")
			l.begin("b")
		}
		one.wait()
		two.wait()
		var both []string
		for _, l := range []*lab{one, two} {
			l.collect()
			r, err := job.Read(filepath.Join(l.dir, "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			both = append(both, filepath.Join(l.dir, "out"))
			waited := map[string]int{}
			for e, err := range r.Ledger() {
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range e.Clauses {
					if c.Name == ledger.ClauseShared {
						waited[c.By]++
					}
				}
			}
			if other := map[string]string{"one": "two", "two": "one"}[l.name]; waited[other] == 0 || len(waited) != 1 {
				t.Errorf("requests of %s have waited for %v", l.name, waited)
			}
		}
		v, err := job.VerifyTogether(both...)
		if err != nil || v.Shared == 0 {
			t.Fatalf("%+v, %v", v, err)
		}
		for _, x := range v.Violations {
			t.Error(x)
		}
	})
}
