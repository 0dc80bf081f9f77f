package politeness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// sharing returns a client whose Gate shares hosts with other Gates. It has an account, so it does not share robots.txt files and requests
// each itself.
func sharing(t *testing.T, hosts *Hosts, name string, delay time.Duration) *client {
	t.Helper()
	return newClient(t, Config{Shared: hosts, Name: name, Delay: delay, DelayFactor: NoFactor, Account: account(name)})
}

// account returns a Config.Account that is always name.
func account(name string) func(weburl.URL) string { return func(weburl.URL) string { return name } }

// seen is a request as a server sees it.
type seen struct {
	crawl      int
	host       string
	addr       netip.Addr
	delay      time.Duration // delay of the crawl that made the request
	start, end time.Time
	rest       time.Duration // pause that the response requested
}

// TestRandomCrawlsShareHosts runs random crawls over the same hosts. The crawls start and end at random, are slow, are asked for pauses,
// and have different delays. All of their requests are judged together.
func TestRandomCrawlsShareHosts(t *testing.T) {
	for seed := range uint64(60) {
		inBubble(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			hosts := NewHosts(HostsLimits{})
			var mu sync.Mutex
			var all []seen
			var crawls sync.WaitGroup
			nHosts, nAddrs := 1+rng.IntN(5), 1+rng.IntN(3)
			for i := range 2 + rng.IntN(4) {
				delay := time.Duration(1+rng.IntN(4)) * time.Second
				b := sharing(t, hosts, fmt.Sprint("crawl", i), delay)
				begins, calls := time.Duration(rng.IntN(20_000))*time.Millisecond, 1+rng.IntN(30)
				workers := make([]*rand.Rand, nHosts)
				for h := range workers {
					workers[h] = rand.New(rand.NewPCG(seed, uint64(100*i+h+1)))
				}
				crawls.Go(func() {
					time.Sleep(begins)
					var hosts sync.WaitGroup
					for h, rng := range workers {
						hosts.Go(func() {
							host, addr := fmt.Sprintf("h%d.test", h), addrOf(1+h%nAddrs)
							for n := range calls {
								p := b.patient(fmt.Sprintf("http://%s/%d", host, n), addr.String())
								if rng.IntN(10) == 0 { // the Permit is returned unused
									b.gate.Report(p, Reply{Aborted: true})
									continue
								}
								s := seen{crawl: i, host: host, addr: addr, delay: delay, start: time.Now()}
								r := Reply{Status: 200}
								if rng.IntN(8) == 0 {
									s.rest = time.Duration(5+rng.IntN(10)) * time.Second
									r = Reply{Status: 503, Header: http.Header{"Retry-After": {fmt.Sprint(int(s.rest.Seconds()))}}}
								}
								b.send(p, time.Duration(rng.IntN(3000))*time.Millisecond, r)
								s.end = time.Now()
								mu.Lock()
								all = append(all, s)
								mu.Unlock()
							}
						})
					}
					hosts.Wait()
					b.gate.Leave()
				})
			}
			crawls.Wait()
			judge(t, seed, all)
		})
	}
}

// judge checks the requests that each host and address received.
func judge(t *testing.T, seed uint64, all []seen) {
	t.Helper()
	slices.SortFunc(all, func(a, b seen) int { return a.start.Compare(b.start) })
	for i, s := range all {
		for _, before := range all[:i] {
			host, addr := before.host == s.host, before.addr == s.addr
			gap := s.start.Sub(before.end)
			switch {
			case (host || addr) && gap < max(s.delay, before.delay):
				t.Fatalf("seed %d: %+v comes %v after %+v", seed, s, gap, before)
			case host && gap < before.rest:
				t.Fatalf("seed %d: %+v comes %v after %+v", seed, s, gap, before)
			}
		}
	}
}

// While a crawl waits for its turn, its delay also applies after the requests of other crawls. Otherwise, crawls with shorter delays would
// always come first.
func TestLongerDelayHoldsForAllWhileItsCrawlWaits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{})
		a, b := sharing(t, hosts, "a", time.Second), sharing(t, hosts, "b", 10*time.Second)
		a.ready("http://h.test/", "")
		p := a.must("http://h.test/1")
		w := b.wait("http://h.test/", someAddr)
		if c := w.Clauses[0]; c.Name != ledger.ClauseShared || c.By != "a" {
			t.Errorf("%+v", w)
		}
		a.send(p, time.Second, Reply{Status: 200})
		time.Sleep(5 * time.Second)
		if w := a.wait("http://h.test/2", someAddr); w.Clauses[0].By != "b" {
			t.Errorf("%+v", w)
		}
		time.Sleep(5 * time.Second)
		if p := b.must("http://h.test/"); p.Purpose() != Robots {
			t.Errorf("%v", p.URL())
		}
	})
}

// If a crawl with a longer delay comes after a request of another crawl, the other crawls, too, wait for the longer delay.
func TestLongerDelayHoldsForAllWhenItsCrawlComes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{})
		a, b := sharing(t, hosts, "a", time.Second), sharing(t, hosts, "b", 10*time.Second)
		a.rules("http://h.test/", "")
		b.wait("http://h.test/", someAddr)
		time.Sleep(9 * time.Second)
		a.wait("http://h.test/1", someAddr)
	})
}

// At a loopback address, each port is another server, so crawls do not share the address.
func TestCrawlsDoNotShareLoopback(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{})
		a, b := sharing(t, hosts, "a", time.Second), sharing(t, hosts, "b", time.Second)
		a.mustAt("http://127.0.0.1:81/", "127.0.0.1")
		b.mustAt("http://127.0.0.1:82/", "127.0.0.1")
	})
}

// meddler is a Sharing that calls a function before each Take.
type meddler struct {
	*Hosts
	before func()
}

func (m *meddler) Take(t *Turn) error {
	if f := m.before; f != nil {
		m.before = nil
		f()
	}
	return m.Hosts.Take(t)
}

// A Gate that gets a turn it no longer needs gives it back.
func TestTurnWithoutPermitIsGivenBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{})
		m := &meddler{Hosts: hosts}
		a, b := newClient(t, Config{Shared: m}), sharing(t, hosts, "b", time.Second)
		a.ready("http://h.test/", "")
		m.before = func() { a.page("http://h.test/1", someAddr.String(), Reply{Status: 200}) }
		a.wait("http://h.test/2", someAddr)
		time.Sleep(time.Second)
		b.must("http://h.test/")
	})
}

// If a Gate gets a turn but issues no Permit, its place among the waiting crawls is kept, and there is no pause.
func TestUnusedTurnKeepsItsPlace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{})
		turn := func(gate string) *Turn {
			return &Turn{Gate: gate, Crawl: gate, Host: "h.test", Port: "80", Delay: time.Second}
		}
		first := turn("a")
		if err := hosts.Take(first); err != nil {
			t.Fatal(err)
		}
		for _, gate := range []string{"b", "c"} {
			if err := hosts.Take(turn(gate)); err == nil {
				t.Fatal("two have a turn")
			}
		}
		now := time.Now()
		hosts.Done(first, Owed{Ended: now, Host: now.Add(time.Second)})
		time.Sleep(time.Second)
		unused := turn("b")
		if err := hosts.Take(unused); err != nil {
			t.Fatal(err)
		}
		hosts.Done(unused, Owed{})
		if err := hosts.Take(turn("c")); err == nil {
			t.Error("the next crawl took its turn before the current one was over")
		}
		if err := hosts.Take(turn("b")); err != nil {
			t.Error(err)
		}
	})
}

// Other crawls do not wait for one that does not ask again. When a crawl leaves, the turns that it has not given back become free.
func TestCrawlThatDoesNotComeHoldsNobodyUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{})
		a, b := sharing(t, hosts, "a", time.Second), sharing(t, hosts, "b", time.Second)
		a.rules("http://h.test/", "")
		b.wait("http://h.test/", someAddr) // b does not ask again
		time.Sleep(time.Second + grace)
		a.page("http://h.test/1", someAddr.String(), Reply{Status: 200})
		start := time.Now()
		for n := range 20 {
			a.page(fmt.Sprintf("http://h.test/x%d", n), someAddr.String(), Reply{Status: 200})
		}
		if took := time.Since(start); took > 20*(time.Second+grace) {
			t.Errorf("20 requests in %v", took)
		}
		time.Sleep(time.Second)
		a.must("http://h.test/y") // never reported
		b.wait("http://h.test/", someAddr)
		time.Sleep(time.Minute)
		b.wait("http://h.test/", someAddr)
		a.gate.Leave()
		time.Sleep(time.Second)
		b.must("http://h.test/")
	})
}

// If an earlier process of a crawl was asked for a pause, the pause applies to other crawls, too.
func TestPausesOfResumedCrawlHoldForAll(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var lines bytes.Buffer
		a := newClient(t, Config{Ledger: &lines})
		a.ready("http://h.test/", "")
		a.page("http://h.test/", someAddr.String(), Reply{Status: 503, Header: http.Header{"Retry-After": {"100"}}})
		hosts := NewHosts(HostsLimits{})
		b := sharing(t, hosts, "b", time.Second)
		b.ready("http://h.test/", "")
		replayed(t, Config{Shared: hosts, Name: "a"}, lines.String(), nil)
		if w := b.wait("http://h.test/1", someAddr); w.Clauses[0].By != "a" || time.Until(w.Until) < 90*time.Second {
			t.Errorf("%v, %+v", time.Until(w.Until), w)
		}
	})
}

// A pause of a registrable domain applies at all of its addresses.
func TestPauseOfResumedCrawlHoldsForDomain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var lines bytes.Buffer
		a := newClient(t, Config{Ledger: &lines, PerDomain: true, Delay: 20 * time.Second})
		a.ready("http://a.site.test/", "")
		a.page("http://a.site.test/", someAddr.String(), Reply{Status: 200})
		hosts := NewHosts(HostsLimits{})
		replayed(t, Config{Shared: hosts, Name: "a", PerDomain: true, Delay: 20 * time.Second}, lines.String(), nil)
		b := newClient(t, Config{Shared: hosts, PerDomain: true})
		if w := b.wait("http://b.site.test/", netip.MustParseAddr("192.0.2.77")); time.Until(w.Until) < 19*time.Second {
			t.Errorf("%v, %+v", time.Until(w.Until), w)
		}
	})
}

// Crawls share a domain, an owned host, and an address that is written in several ways.
func TestWhatCrawlsShare(t *testing.T) {
	for _, tc := range []struct {
		name     string
		config   Config
		url      string // URL that the second crawl requests; the first one requests http://a.site.test/
		addr     string // address for the second crawl; that of the first one is 192.0.2.1
		together bool
	}{
		{"another host", Config{}, "http://b.site.test/", "192.0.2.2", true},
		{"the same host", Config{}, "http://a.site.test/", "192.0.2.2", false},
		{"another port", Config{}, "http://a.site.test:81/", "192.0.2.2", true},
		{"the same address", Config{}, "http://b.site.test/", "192.0.2.1", false},
		{"the same address in IPv6", Config{}, "http://b.site.test/", "::ffff:192.0.2.1", false},
		{"the same domain", Config{PerDomain: true}, "http://b.site.test/", "192.0.2.2", false},
		{"an own host", Config{OwnHosts: func(string) int { return 4 }}, "http://a.site.test/", "192.0.2.1", true},
		{"recorded answers", Config{Offline: true}, "http://a.site.test/", "192.0.2.1", true},
	} {
		inBubble(t, func(t *testing.T) {
			c := tc.config
			c.Shared = NewHosts(HostsLimits{})
			a, b := newClient(t, c), newClient(t, c)
			a.mustAt("http://a.site.test/", "192.0.2.1")
			if _, err := b.admit(tc.url, netip.MustParseAddr(tc.addr)); (err == nil) != tc.together {
				t.Errorf("%s: %v", tc.name, err)
			}
		})
	}
}

// After a long crawl of many hosts, nothing is kept about the hosts.
func TestSharedClocksAreForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{})
		for i := range 50 * hostsSweepMin {
			turn := &Turn{Gate: "a", Host: fmt.Sprintf("h%d.test", i), Port: "80", Addr: addrOf(i), Delay: time.Second}
			if err := hosts.Take(turn); err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			hosts.Done(turn, Owed{Ended: now, Host: now.Add(time.Second), Addr: now.Add(time.Second)})
			time.Sleep(50 * time.Millisecond)
		}
		if n := len(hosts.clocks); n > 2*hostsSweepMin {
			t.Errorf("%d clocks are kept", n)
		}
	})
}

// If the wall clock was set back, as after the bubble of another test, nobody waits longer than for one pause.
func TestSharedClockThatWasSetBack(t *testing.T) {
	hosts := NewHosts(HostsLimits{})
	inBubble(t, func(*testing.T) {
		time.Sleep(24 * time.Hour)
		now, turn := time.Now(), &Turn{Gate: "a", Host: "h.test", Port: "80", Delay: time.Second}
		_ = hosts.Take(turn)
		hosts.Done(turn, Owed{Ended: now, Host: now.Add(time.Second)})
	})
	inBubble(t, func(t *testing.T) {
		var w *NotYet
		if err := hosts.Take(&Turn{Gate: "b", Host: "h.test", Port: "80", Delay: time.Second}); !errors.As(err, &w) || time.Until(w.Until) > 3*time.Second {
			t.Errorf("%v", err)
		}
	})
}

// The ledger names the crawl for which a request had to wait. A replay of the ledger reads the name.
func TestLedgerNamesSharedWaits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var lines bytes.Buffer
		hosts := NewHosts(HostsLimits{})
		a := sharing(t, hosts, "news", time.Second)
		b := newClient(t, Config{Shared: hosts, Ledger: &lines, Account: account("b")})
		p := a.must("http://h.test/")
		b.wait("http://h.test/", someAddr)
		time.Sleep(time.Until(a.send(p, 0, Reply{Status: 404})))
		b.ready("http://h.test/", "")
		if !strings.Contains(lines.String(), `"clauses":[{"clause":"shared","until":"2000-01-01T00:00:01.000000Z","delay":1,"by":"news"}]`) {
			t.Error(lines.String())
		}
		replayed(t, Config{}, lines.String(), nil)
	})
}

// lostTurn is a Sharing whose turns begin soon or never, and can be lost meanwhile.
type lostTurn struct {
	until time.Time
	held  context.Context
}

func (l *lostTurn) Take(t *Turn) error { t.Until, t.Held = l.until, l.held; return nil }
func (l *lostTurn) Done(*Turn, Owed)   {}
func (l *lostTurn) Leave(string)       {}

func (l *lostTurn) Robots(RobotsKey) (f RobotsFile, ok bool) { return f, false }
func (l *lostTurn) KeepRobots(RobotsKey, RobotsFile)         {}

// TestTurnsHaveADeadlineAndCanBeLost checks that a request begins before its turn's deadline, and is aborted when the turn is
// lost.
func TestTurnsHaveADeadlineAndCanBeLost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		turns, lost := &lostTurn{until: time.Now().Add(2 * time.Second)}, errors.New("nobody answers")
		c := newClient(t, Config{Shared: turns})
		p := c.patient("http://a.test/robots.txt", "192.0.2.1")
		if left := time.Until(p.Expires()); left > 2*time.Second {
			t.Errorf("the permit lasts for %v, its turn for 2s", left)
		}
		time.Sleep(3 * time.Second)
		if _, err := p.Redeem(); !errors.Is(err, ErrExpired) {
			t.Errorf("redeemed after the turn's time: %v", err)
		}
		c.gate.Report(p, Reply{Aborted: true})
		time.Sleep(time.Minute)
		held, lose := context.WithCancelCause(t.Context())
		turns.until, turns.held = time.Time{}, held
		p = c.patient("http://a.test/robots.txt", "192.0.2.1")
		if p.Held().Err() != nil {
			t.Fatal("the turn counts as lost while it is held")
		}
		lose(lost)
		if <-p.Held().Done(); !errors.Is(context.Cause(p.Held()), lost) {
			t.Errorf("lost for %v", context.Cause(p.Held()))
		}
	})
}

// TestCrawlsShareTheirTotalRate: while a crawl with a lower total rate waits, all crawls that have a total rate together keep the lower
// one, whatever their hosts, and their ledgers record that. A crawl without a total rate neither waits nor counts.
func TestCrawlsShareTheirTotalRate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var allowed []time.Time
		var slow int // length of allowed after the last request of a crawl with the lower rate
		var lines [4]bytes.Buffer
		hosts, start := NewHosts(HostsLimits{}), time.Now()
		var crawls sync.WaitGroup
		for i := range 4 {
			c := Config{Shared: hosts, Name: fmt.Sprint("crawl", i), Rate: 4 - float64(i%2)*2, Account: account(fmt.Sprint(i)), OwnHosts: func(string) int { return i / 2 }}
			c.Ledger = &lines[i]
			b := newClient(t, c)
			crawls.Go(func() {
				for n := range 25 {
					p := b.patient(fmt.Sprintf("http://h%d.%d.test/robots.txt", n, i), addrOf(100*i+n).String())
					mu.Lock()
					if allowed = append(allowed, p.p.allowed); i%2 == 1 {
						slow = len(allowed)
					}
					mu.Unlock()
					b.send(p, 10*time.Millisecond, Reply{Status: 404}) // so short that a crawl with the lower rate is always waiting
				}
			})
		}
		free := newClient(t, Config{Shared: hosts})
		for n := range 9 {
			free.mustAt(fmt.Sprintf("http://free%d.test/robots.txt", n), addrOf(1000+n).String())
		}
		crawls.Wait()
		for i, at := range allowed[1:slow] {
			if gap := at.Sub(allowed[i]); gap < 500*time.Millisecond-slack {
				t.Fatalf("request %d is allowed %v after the one before", i+1, gap)
			}
		}
		if took := time.Since(start); took > 80*time.Second {
			t.Errorf("100 requests in %v, two a second may be", took)
		}
		var all string // ledgers of all crawls: the first one may not have waited
		for i := range lines {
			all += lines[i].String()
		}
		if !strings.Contains(all, `{"clause":"rate","until":"2000-01-01T00:00:0`) || !strings.Contains(all, `"delay":0.5,"by":"crawl`) {
			t.Error(all)
		}
	})
}

// TestRequestThatWaitsForTheTotalRateHoldsNoHost: while a request waits for the total rate, other crawls may request its host.
func TestRequestThatWaitsForTheTotalRateHoldsNoHost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hosts := NewHosts(HostsLimits{})
		a := newClient(t, Config{Shared: hosts, Rate: 0.1, Name: "a"})
		b := newClient(t, Config{Shared: hosts, Rate: 0.1})
		free := newClient(t, Config{Shared: hosts})
		a.must("http://a.test/robots.txt")
		w := b.wait("http://h.test/robots.txt", addrOf(2))
		if c := w.Clauses[0]; c.Name != ledger.ClauseRate || c.By != "a" || time.Until(w.Until) != 10*time.Second {
			t.Errorf("%+v", w)
		}
		free.mustAt("http://h.test/robots.txt", addrOf(2).String())
	})
}

// TestHoursOfOneCrawlHoldForAll: while a crawl waits for a host, its allowed hours apply to all crawls of that host, as its delay does.
func TestHoursOfOneCrawlHoldForAll(t *testing.T) {
	inBubble(t, func(t *testing.T) { // at midnight
		hosts := NewHosts(HostsLimits{})
		a := newClient(t, Config{Shared: hosts, Name: "a", Hours: Hours{{From: 22 * time.Hour, To: 23*time.Hour + 59*time.Minute}}})
		b := newClient(t, Config{Shared: hosts})
		b.must("http://h.test/robots.txt")
		if w := a.wait("http://i.test/", addrOf(1)); w.Clauses[0].Name != ledger.ClauseQuiet || time.Until(w.Until) != 22*time.Hour {
			t.Errorf("%+v", w)
		}
		time.Sleep(time.Hour)
		if w := b.wait("http://i.test/", addrOf(1)); w.Clauses[0].By != "a" || time.Until(w.Until) != 21*time.Hour {
			t.Errorf("%+v", w)
		}
		a.gate.Leave()
		b.mustAt("http://i.test/", addrOf(1).String())
	})
}

// hook is a ledger writer that calls a function with each line.
type hook func(line string)

func (h hook) Write(line []byte) (int, error) {
	h(string(line))
	return len(line), nil
}

// TestPauseIsToldToOthersBeforeTheLedgerHasIt: other crawls are told of a pause before the ledger has it. If the process is killed after
// that, they keep the pause, and so does the process when it resumes.
func TestPauseIsToldToOthersBeforeTheLedgerHasIt(t *testing.T) {
	for _, answer := range []Reply{
		{Status: 503, Header: http.Header{"Retry-After": {"60"}}},
		{Status: 200, Body: []byte("User-agent: *\nCrawl-delay: 60\n")},
	} {
		inBubble(t, func(t *testing.T) {
			hosts := NewHosts(HostsLimits{})
			b := sharing(t, hosts, "b", time.Second)
			var a *client
			ended := false
			a = newClient(t, Config{Shared: hosts, Ledger: hook(func(line string) {
				if ended = strings.Contains(line, `"event":"end"`); ended {
					hosts.Leave(a.gate.journal.run) // as if a's process had ended
					if w := b.wait("http://h.test/", someAddr); time.Until(w.Until) != time.Minute {
						t.Errorf("after %d: %v", answer.Status, w)
					}
				}
			})})
			a.send(a.must("http://h.test/"), 0, answer)
			if !ended {
				t.Error("no end")
			}
		})
	}
}
