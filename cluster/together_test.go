package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// lines collects the ledger lines of all shards of a job.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// waited returns, for each other crawl, the number of requests that had to wait for it according to their clause "shared".
func (l *lines) waited(t *testing.T) map[string]int {
	all := map[string]int{}
	for line := range strings.Lines(l.b.String()) {
		var e ledger.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		for _, c := range e.Clauses {
			if c.Name == ledger.ClauseShared {
				all[c.By]++
			}
		}
	}
	return all
}

// jobOn makes a job that crawls pages of some hosts, two of them at one address. The job uses the given engine.
func jobOn(t *testing.T, w *crawltest.Web, server *mem.Server, name string, hosts, pages int, delay time.Duration) *sim {
	s := &sim{
		t: t, w: w, rng: rand.New(rand.NewPCG(1, 4)), links: map[string][]string{}, server: server, dir: t.TempDir(), snapshots: 1 << 20,
		name: name, ledger: &lines{}, job: cluster.Job{Shards: 3, TTL: 12 * time.Second, Delay: delay},
	}
	for h := range hosts {
		site := w.Site(fmt.Sprintf("h%d.test", h)).Latency(300 * time.Millisecond)
		if h == 1 {
			site.Address(w.Site("h0.test").Addr().String())
		}
		var links strings.Builder
		for p := range pages {
			fmt.Fprintf(&links, "<a href=\"/%s/%d\">x</a>", name, p+1)
			site.Page(fmt.Sprintf("/%s/%d", name, p+1), "")
		}
		site.Page("/"+name, links.String())
		s.seeds = append(s.seeds, fmt.Sprintf("http://h%d.test/%s", h, name))
	}
	s.faults = mem.Faults{Latency: 10 * time.Millisecond}
	if err := cluster.Create(t.Context(), server.Connect(), s.job); err != nil {
		t.Fatal(err)
	}
	return s
}

// ends waits until the job is over and its nodes have ended.
func (s *sim) ends() {
	for i := 0; !s.over(); i++ {
		if time.Sleep(time.Second); i == 7200 {
			s.t.Fatalf("%s has not ended after two hours", s.name)
		}
	}
	for _, x := range s.nodes {
		x.stop()
		if <-x.ended; x.err != nil && x.conn != nil {
			s.t.Logf("%s: %v", x.Name, x.err)
		}
	}
}

// TestJobsOnAnEngineShareItsClocks runs two jobs on one engine that crawl the same hosts with different delays. A node of one job is
// killed, or the engine loses the host clocks. The servers see one polite crawler, and the ledger of each job names the other job.
func TestJobsOnAnEngineShareItsClocks(t *testing.T) {
	for name, trouble := range map[string]func(a *sim, server *mem.Server){
		"no trouble": func(*sim, *mem.Server) {},
		"a node is killed": func(a *sim, _ *mem.Server) {
			x := a.nodes[0]
			x.conn.CutAt(3, true, func() { x.kill(); x.stop() })
		},
		"the engine loses the clocks": func(_ *sim, server *mem.Server) { server.LoseClocks() },
	} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				server := mem.New()
				slow := jobOn(t, w, server, "slow", 3, 100, 2*time.Second)
				fast := jobOn(t, w, server.NewJob(), "fast", 3, 20, time.Second)
				w.Expect(crawltest.Expect{Delay: 2 * time.Second, Agent: "testbot", Contact: simContact, AllowRepeats: true})
				slow.begin("s0")
				time.Sleep(20 * time.Second) // meanwhile the slow job learns the longest pause
				fast.begin("f0")
				fast.begin("f1")
				time.Sleep(20 * time.Second)
				trouble(fast, server)
				fast.ends()
				slow.ends()
				for _, v := range w.Audit(crawltest.Expect{Delay: time.Second, AllowRepeats: true, PerAddress: true}) {
					t.Error(v)
				}
				for h := range 3 {
					if n := w.Count(fmt.Sprintf("http://h%d.test/robots.txt", h)); n != 1 {
						t.Errorf("the robots.txt of host %d was requested %d times", h, n)
					}
				}
				for _, s := range []*sim{slow, fast} {
					by := s.ledger.(*lines).waited(t)
					other := map[string]string{"slow": "fast", "fast": "slow"}[s.name]
					if named := by[other]; named == 0 && s == fast || len(by) > min(named, 1) { // the slow job's own pause may always be the longer one
						t.Errorf("requests of %s have waited for %v", s.name, by)
					}
				}
			})
		})
	}
}

// gateOn makes a gate for a crawl that shares the host clocks of an engine.
func gateOn(t *testing.T, k *cluster.Clocks, name string, delay time.Duration) *politeness.Gate {
	t.Helper()
	g, err := politeness.NewGate(politeness.Config{
		Identity: politeness.Identity{Product: "testbot", Contact: simContact}, Shared: k, Name: name, Delay: delay, DelayFactor: politeness.NoFactor,
		Ledger: &lines{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// request requests the robots.txt of a host as soon as possible. It returns the time at which the request began.
func request(t *testing.T, g *politeness.Gate, u, addr string, takes time.Duration, r politeness.Reply) time.Time {
	t.Helper()
	p := admit(t, g, u, addr)
	began := time.Now()
	time.Sleep(takes)
	g.Report(p, r)
	return began
}

func admit(t *testing.T, g *politeness.Gate, u, addr string) politeness.Permit {
	t.Helper()
	parsed, err := weburl.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	for {
		p, err := g.Admit(politeness.Request{URL: parsed, Addr: netip.MustParseAddr(addr)})
		if err == nil {
			grant, err := p.Redeem()
			if err == nil {
				err = grant.Begin()
			}
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		var not *politeness.NotYet
		if !errors.As(err, &not) {
			t.Fatal(err)
		}
		time.Sleep(max(time.Millisecond, time.Until(not.Until)))
	}
}

const robots = "http://a.test/robots.txt"

var ok = politeness.Reply{Status: http.StatusOK}

// TestKilledProcessHoldsClocksForAWhile: if a process is killed during a request, the host clocks that it holds become free when that
// request must be over, and not sooner. Then the pause begins.
func TestKilledProcessHoldsClocksForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mem.New()
		process, kill := context.WithCancel(t.Context())
		a := cluster.NewClocks(process, server.Connect(), "", 0)
		b := cluster.NewClocks(t.Context(), server.Connect(), "", 0)
		admit(t, gateOn(t, a, "a", 5*time.Second), robots, "192.0.2.1")
		time.Sleep(45 * time.Second) // meanwhile the process reports the request as in progress
		last := time.Now()
		kill()
		began := request(t, gateOn(t, b, "b", time.Second), robots, "192.0.2.1", time.Second, ok)
		if wait := began.Sub(last); wait < 30*time.Second || wait > 36*time.Second { // the rest of the hold of the clock, and the pause
			t.Errorf("the host is requested %v after the kill", wait)
		}
		if b.Close(); !began.After(last) {
			t.Error("no request")
		}
	})
}

// TestLostClockEndsRequest checks that a request is cancelled before another process may request the host, which it may when the engine has
// received no report of the first request for a certain time.
func TestLostClockEndsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mem.New()
		conn := server.Connect()
		a := cluster.NewClocks(t.Context(), conn, "", 0)
		b := cluster.NewClocks(t.Context(), server.Connect(), "", 0)
		p := admit(t, gateOn(t, a, "a", time.Second), robots, "192.0.2.1")
		conn.Cut(true)
		cut := time.Now()
		ended := make(chan time.Time, 1)
		go func() { <-p.Held().Done(); ended <- time.Now() }()
		began := request(t, gateOn(t, b, "b", time.Second), robots, "192.0.2.1", 0, ok)
		select {
		case at := <-ended:
			if !at.Before(began) {
				t.Errorf("broken off %v after the cut, the next request is %v after it", at.Sub(cut), began.Sub(cut))
			}
		default:
			t.Error("the request was not broken off")
		}
		conn.Cut(false)
		a.Close()
		b.Close()
	})
}

// TestUnreachableEngineStopsRequests checks that while the engine does not answer, nothing is requested, and the ledger states the reason.
func TestUnreachableEngineStopsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := mem.New().Connect()
		k, written := cluster.NewClocks(t.Context(), conn, "", 0), &strings.Builder{}
		g, err := politeness.NewGate(politeness.Config{
			Identity: politeness.Identity{Product: "testbot", Contact: simContact}, Shared: k, Ledger: written,
		})
		if err != nil {
			t.Fatal(err)
		}
		conn.Cut(true)
		time.AfterFunc(time.Minute, func() {
			if k.Err() == nil {
				t.Error("no reason is known")
			}
			conn.Cut(false)
		})
		cut := time.Now()
		if began := request(t, g, robots, "192.0.2.1", 0, ok); began.Sub(cut) < time.Minute || k.Err() != nil {
			t.Errorf("requested %v after the cut, %v", began.Sub(cut), k.Err())
		}
		if again := request(t, g, robots, "192.0.2.1", 0, ok); strings.Count(written.String(), `{"clause":"engine","until":"`) != 1 || again.Before(cut.Add(time.Minute)) {
			t.Error(written.String())
		}
		k.Close()
	})
}

// TestClocksOutliveTheEngine checks that if an engine loses the host clocks, other processes still wait for pauses that one process knows,
// and for requests in progress.
func TestClocksOutliveTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mem.New()
		a := cluster.NewClocks(t.Context(), server.Connect(), "", 0)
		b := cluster.NewClocks(t.Context(), server.Connect(), "", 0)
		one, two := gateOn(t, a, "a", time.Second), gateOn(t, b, "b", time.Second)
		heard := time.Now()
		request(t, one, robots, "192.0.2.1", 0, politeness.Reply{Status: 503, Header: http.Header{"Retry-After": {"200"}}})
		under := admit(t, one, "http://slow.test/robots.txt", "192.0.2.2")
		time.Sleep(10 * time.Second)
		server.LoseClocks()
		go func() {
			time.Sleep(20 * time.Second)
			request(t, one, "http://other.test/robots.txt", "192.0.2.3", 0, ok) // by this request, the process notices the loss
		}()
		go func() {
			time.Sleep(80 * time.Second)
			one.Report(under, ok)
		}()
		lost := time.Now()
		if began := request(t, two, "http://slow.test/robots.txt", "192.0.2.2", 0, ok); began.Sub(lost) < 81*time.Second {
			t.Errorf("a host is requested %v after the loss, while another request is under way", began.Sub(lost))
		}
		if began := request(t, two, robots, "192.0.2.1", 0, ok); began.Sub(heard) < 200*time.Second {
			t.Errorf("a host is requested %v after a Retry-After of 200s", began.Sub(heard))
		}
		a.Close()
		b.Close()
	})
}

// TestCrawlsOnAnEngineTakeTurns: if two crawls want a host all the time, each gets 7 to 13 of any 20 requests, and the longer of their two
// delays applies to both.
func TestCrawlsOnAnEngineTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mem.New()
		var all sync.WaitGroup
		var mu sync.Mutex
		var who []int
		var ends []time.Time
		for i := range 2 {
			conn := server.Connect()
			conn.Misbehave(mem.Faults{Latency: 2 * time.Millisecond, Seed: uint64(i)})
			k := cluster.NewClocks(t.Context(), conn, "", 0)
			g := gateOn(t, k, fmt.Sprint("crawl", i), time.Duration(i+1)*time.Second)
			all.Go(func() {
				for range 60 {
					p := admit(t, g, robots, "192.0.2.1")
					mu.Lock()
					if n := len(ends); n > 2 && n < 100 && time.Since(ends[n-1]) < 2*time.Second {
						t.Errorf("a pause of %v, both want 2s", time.Since(ends[n-1]))
					}
					who = append(who, i)
					mu.Unlock()
					time.Sleep(300 * time.Millisecond)
					mu.Lock()
					ends = append(ends, time.Now())
					mu.Unlock()
					g.Report(p, ok)
				}
				g.Leave()
				k.Close()
			})
		}
		all.Wait()
		for i := 5; i+20 <= 100; i++ {
			n := 0
			for _, x := range who[i : i+20] {
				n += x
			}
			if n < 7 || n > 13 {
				t.Fatalf("of 20 requests one crawl has %d: %v", n, who)
			}
		}
	})
}

// TestCrawlThatWaitsIsServedFirst checks that a crawl that comes when the host clock is free does not overtake a waiting crawl.
func TestCrawlThatWaitsIsServedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, all := mem.New(), map[string]*cluster.Clocks{}
		for _, name := range []string{"a", "b", "c"} {
			all[name] = cluster.NewClocks(t.Context(), server.Connect(), "", 0)
		}
		turns := map[string]*politeness.Turn{}
		take := func(name string) bool {
			turns[name] = &politeness.Turn{Gate: name, Crawl: name, Host: "h.test", Port: "80", Delay: time.Second}
			return all[name].Take(turns[name]) == nil
		}
		if !take("a") || take("b") {
			t.Error("the clock has not one holder")
		}
		time.Sleep(300 * time.Millisecond)
		ended := time.Now()
		all["a"].Done(turns["a"], politeness.Owed{Ended: ended, Host: ended.Add(time.Second)})
		time.Sleep(time.Second)
		if take("c") {
			t.Error("a crawl that has not waited is served first")
		}
		if !take("b") {
			t.Error("the crawl that waits is not served")
		}
		for _, k := range all {
			k.Close()
		}
	})
}

// TestDelayOfAHostHoldsAfterAnotherPartOfItsJob: one process of a job requests a host of another process, as for a redirected robots.txt.
// Only that other process knows, and enforces, the host's longer delay. At an address, the delay of the requested host counts.
func TestDelayOfAHostHoldsAfterAnotherPartOfItsJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mem.New()
		turns := map[string]*politeness.Turn{}
		other := cluster.NewClocks(t.Context(), server.Connect(), "job", 0)
		own := cluster.NewClocks(t.Context(), server.Connect(), "job", 0)
		take := func(k *cluster.Clocks, gate, host string, delay time.Duration) error {
			turns[gate] = &politeness.Turn{Gate: gate, Crawl: "job", Host: host, Port: "80", Addr: netip.MustParseAddr("192.0.2.1"), Delay: delay}
			return k.Take(turns[gate])
		}
		if err := take(other, "other", "h.test", time.Second); err != nil {
			t.Fatal(err)
		}
		ended := time.Now()
		other.Done(turns["other"], politeness.Owed{Ended: ended, Host: ended.Add(time.Second), Addr: ended.Add(time.Second)})
		if err := other.Stored(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		var wait *politeness.NotYet
		if err := take(own, "own", "h.test", 5*time.Second); !errors.As(err, &wait) || wait.Until.Before(ended.Add(5*time.Second)) || wait.Clauses[0].Name == ledger.ClauseShared {
			t.Errorf("%v: want to wait for 5s after the other part's request, which is of the same job", err)
		}
		if err := take(own, "third", "i.test", 5*time.Second); err != nil {
			t.Errorf("another host at the address: %v", err)
		}
		other.Close()
		own.Close()
	})
}

// TestCrawlsOnAnEngineShareTheirTotalRate checks that crawls of several jobs on an engine share a total rate: after a change between two
// crawls, the longer interval of the two is kept.
func TestCrawlsOnAnEngineShareTheirTotalRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, start := mem.New(), time.Now()
		var all sync.WaitGroup
		var mu sync.Mutex
		var took [][2]int // index of the crawl, and milliseconds since the start
		for i, interval := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 500 * time.Millisecond} {
			conn := server.Connect()
			conn.Misbehave(mem.Faults{Latency: 2 * time.Millisecond, Seed: uint64(i)})
			k := cluster.NewClocks(t.Context(), conn, fmt.Sprint("job", i), 0)
			all.Go(func() {
				for range 20 {
					turn := &politeness.Turn{Gate: fmt.Sprint("gate", i), Crawl: fmt.Sprint("crawl", i), Total: true, Delay: interval}
					for err := k.Take(turn); err != nil; err = k.Take(turn) {
						var w *politeness.NotYet
						if !errors.As(err, &w) || w.Clauses[0].Name != ledger.ClauseRate {
							t.Error(err)
						}
						time.Sleep(max(time.Millisecond, time.Until(w.Until)))
					}
					mu.Lock()
					took = append(took, [2]int{i, int(time.Since(start).Milliseconds())})
					mu.Unlock()
				}
				k.Close()
			})
		}
		all.Wait()
		if last := took[len(took)-1][1]; last > 30_000 {
			t.Errorf("60 requests took %d ms", last)
		}
		for i, x := range took[1:] {
			if due := 490; x[0] != took[i][0] && x[1]-took[i][1] < due { // 500 ms, less if the earlier request is late
				t.Errorf("request %d, of %d, is %d ms after one of %d", i+1, x[0], x[1]-took[i][1], took[i][0])
			}
		}
	})
}

// TestHoursOfOneCrawlHoldForAllOnAnEngine: while a crawl with quiet hours waits for a host, its hours apply to all crawls of that host.
func TestHoursOfOneCrawlHoldForAllOnAnEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mem.New()
		a, b := cluster.NewClocks(t.Context(), server.Connect(), "", 0), cluster.NewClocks(t.Context(), server.Connect(), "", 0)
		turn := func(gate string) *politeness.Turn {
			return &politeness.Turn{Gate: gate, Crawl: gate, Host: "a.test", Port: "80", Delay: time.Second}
		}
		quiet := turn("a")
		quiet.Quiet = time.Now().Add(8 * time.Hour)
		var w *politeness.NotYet
		if err := a.Take(quiet); !errors.As(err, &w) || w.Clauses[0].Name != ledger.ClauseQuiet || !w.Until.Equal(quiet.Quiet) {
			t.Errorf("%+v", err)
		}
		time.Sleep(time.Hour)
		if err := b.Take(turn("b")); !errors.As(err, &w) || w.Clauses[0].Name != ledger.ClauseShared || w.Clauses[0].By != "a" || !w.Until.Equal(quiet.Quiet) {
			t.Errorf("%+v", err)
		}
		a.Leave("a")
		b.Leave("b")
		time.Sleep(time.Second)
		if err := b.Take(turn("b")); err != nil {
			t.Error(err)
		}
		b.Leave("b")
		a.Close()
		b.Close()
	})
}
