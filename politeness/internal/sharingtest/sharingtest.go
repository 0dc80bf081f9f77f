// Package sharingtest tests that an implementation of politeness.Sharing keeps its contract.
package sharingtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/politeness"
)

// Open returns a Sharing for each of n processes whose crawls share hosts.
type Open func(t *testing.T, n int) []politeness.Sharing

// Run runs the suite. It is fast: times are virtual.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, Open){
		"RandomCrawlsKeepPauses": randomCrawls, "TwoCrawlsTakeTurnsFairly": fair, "TwentyCrawlsTakeTurns": twenty,
		"DelayOfWaitingCrawlHolds": longerDelay, "UnusedTurnKeepsItsPlace": unused, "CrawlThatDoesNotComeHoldsNobodyUp": absent,
		"CrawlThatLeavesHoldsNobodyUp": leaves, "HoldWithoutTurn": hold, "CrawlsShareTotalRate": totalRate, "HoursHoldForAll": hours,
		"ClocksAreApart": apart, "LedgerNamesTheOther": names, "ClockSetBack": setBack,
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, open) }) })
	}
}

// crawl is one of several simulated crawls.
type crawl struct {
	sharing politeness.Sharing
	name    string
	delay   time.Duration
}

func (c *crawl) turn(host string, addr netip.Addr) *politeness.Turn {
	return &politeness.Turn{Gate: "gate-" + c.name, Crawl: c.name, Host: host, Port: "80", Addr: addr, Delay: c.delay}
}

// take waits for a turn.
func (c *crawl) take(t *testing.T, host string, addr netip.Addr) *politeness.Turn {
	for {
		turn := c.turn(host, addr)
		wait := c.try(t, turn)
		if wait == nil {
			return turn
		}
		time.Sleep(time.Until(wait.Until))
	}
}

func (c *crawl) try(t *testing.T, turn *politeness.Turn) *politeness.NotYet {
	t.Helper()
	var wait *politeness.NotYet
	if err := c.sharing.Take(turn); err != nil && !errors.As(err, &wait) {
		t.Error(err)
	}
	return wait
}

// end ends a request now. The pause after it is at least the delay.
func (c *crawl) end(turn *politeness.Turn, pause time.Duration) {
	now := time.Now()
	until := now.Add(max(c.delay, pause))
	c.sharing.Done(turn, politeness.Owed{Ended: now, Host: until, Addr: until, Domain: until})
}

// seen is a request as a server sees it.
type seen struct {
	crawl      *crawl
	host       string
	addr       netip.Addr
	start, end time.Time
	rest       time.Duration // pause that the response requests
}

// log records the requests that the servers receive.
type log struct {
	mu  sync.Mutex
	all []seen
}

func (l *log) add(s seen) {
	l.mu.Lock()
	l.all = append(l.all, s)
	l.mu.Unlock()
}

// judge checks the pauses at each host and address.
func (l *log) judge(t *testing.T) {
	t.Helper()
	slices.SortFunc(l.all, func(a, b seen) int { return a.start.Compare(b.start) })
	for i, s := range l.all {
		for _, before := range l.all[:i] {
			if before.host != s.host && before.addr != s.addr || before.crawl == s.crawl {
				continue // only pauses between crawls are shared
			}
			if gap := s.start.Sub(before.end); gap < max(s.crawl.delay, before.crawl.delay, before.rest) {
				t.Fatalf("%s of %s comes %v after %s of %s, which asked for %v", s.crawl.name, s.host, gap, before.crawl.name, before.host, before.rest)
			}
		}
	}
}

func addrOf(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}) }

// randomCrawls tests crawls that begin and end at random, are slow, receive Retry-Afters and have different delays.
func randomCrawls(t *testing.T, open Open) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		all, l := open(t, 2+rng.IntN(3)), new(log)
		nHosts := 1 + rng.IntN(4)
		var crawls sync.WaitGroup
		for i := range len(all) + rng.IntN(3) {
			c := &crawl{all[i%len(all)], fmt.Sprint("crawl", i), time.Duration(1+rng.IntN(4)) * time.Second}
			begins, n := time.Duration(rng.IntN(20_000))*time.Millisecond, 1+rng.IntN(20)
			workers := make([]*rand.Rand, nHosts)
			for h := range workers {
				workers[h] = rand.New(rand.NewPCG(seed, uint64(100*i+h+2)))
			}
			crawls.Go(func() {
				time.Sleep(begins)
				var hosts sync.WaitGroup
				for h, rng := range workers {
					hosts.Go(func() {
						for range n {
							host, addr := fmt.Sprintf("h%d.test", h), addrOf(1+h%2)
							turn := c.take(t, host, addr)
							if rng.IntN(10) == 0 {
								c.sharing.Done(turn, politeness.Owed{})
								continue
							}
							s := seen{crawl: c, host: host, addr: addr, start: time.Now()}
							time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
							if rng.IntN(8) == 0 {
								s.rest = time.Duration(5+rng.IntN(10)) * time.Second
							}
							s.end = time.Now()
							c.end(turn, s.rest)
							l.add(s)
						}
					})
				}
				hosts.Wait()
				c.sharing.Leave("gate-" + c.name)
			})
		}
		crawls.Wait()
		if l.judge(t); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// together runs crawls of one host and returns their requests in order.
func together(t *testing.T, crawls []*crawl, requests int, took time.Duration) []seen {
	l := new(log)
	var all sync.WaitGroup
	for _, c := range crawls {
		all.Go(func() {
			for range requests {
				turn := c.take(t, "h.test", addrOf(1))
				s := seen{crawl: c, host: "h.test", addr: addrOf(1), start: time.Now()}
				time.Sleep(took)
				s.end = time.Now()
				c.end(turn, 0)
				l.add(s)
				time.Sleep(c.delay) // as the crawl's Gate does: Sharing does not enforce pauses after a crawl's own requests
			}
			c.sharing.Leave("gate-" + c.name)
		})
	}
	all.Wait()
	l.judge(t)
	return l.all
}

func fair(t *testing.T, open Open) {
	for _, other := range []time.Duration{time.Second, 3 * time.Second} {
		for _, took := range []time.Duration{0, 300 * time.Millisecond} {
			s, start := open(t, 2), time.Now()
			a, b := &crawl{s[0], "a", time.Second}, &crawl{s[1], "b", other}
			got := together(t, []*crawl{a, b}, 40, took)
			for i := range len(got) - 19 {
				n := 0
				for _, r := range got[i : i+20] {
					if r.crawl == a {
						n++
					}
				}
				if n < 7 || n > 13 {
					t.Fatalf("%d of the requests %d to %d are those of one of two crawls", n, i+1, i+20)
				}
			}
			if bound := 79*other + 80*took; time.Since(start) > bound*102/100+a.delay+b.delay {
				t.Errorf("%v for what takes %v", time.Since(start), bound)
			}
		}
	}
}

func twenty(t *testing.T, open Open) {
	s, start := open(t, 20), time.Now()
	crawls := make([]*crawl, 20)
	for i := range crawls {
		crawls[i] = &crawl{s[i], fmt.Sprint("c", i), time.Second}
	}
	got := together(t, crawls, 7, 0)
	if took := time.Since(start); took > 139*time.Second*102/100+time.Second {
		t.Errorf("140 requests in %v", took)
	}
	for i := range len(got) - 59 {
		who := map[*crawl]bool{}
		for _, r := range got[i : i+60] {
			who[r.crawl] = true
		}
		if len(who) != 20 {
			t.Fatalf("only %d of 20 crawls in the requests %d to %d", len(who), i+1, i+60)
		}
	}
}

// longerDelay tests that a crawl with a longer delay does not starve.
func longerDelay(t *testing.T, open Open) {
	s := open(t, 2)
	a, b := &crawl{s[0], "a", time.Second}, &crawl{s[1], "b", 10 * time.Second}
	turn := a.take(t, "h.test", addrOf(1))
	if b.try(t, b.turn("h.test", addrOf(1))) == nil {
		t.Fatal("two crawls have a turn at once")
	}
	a.end(turn, 0)
	time.Sleep(5 * time.Second)
	if a.try(t, a.turn("h.test", addrOf(1))) == nil {
		t.Error("the delay of the crawl that waits does not hold")
	}
	time.Sleep(5 * time.Second)
	if w := b.try(t, b.turn("h.test", addrOf(1))); w != nil {
		t.Errorf("the crawl that waits has no turn: %v", w)
	}
}

func unused(t *testing.T, open Open) {
	s := open(t, 3)
	a, b, c := &crawl{s[0], "a", time.Second}, &crawl{s[1], "b", time.Second}, &crawl{s[2], "c", time.Second}
	first := a.take(t, "h.test", addrOf(1))
	if b.try(t, b.turn("h.test", addrOf(1))) == nil || c.try(t, c.turn("h.test", addrOf(1))) == nil {
		t.Fatal("two crawls have a turn at once")
	}
	a.end(first, 0)
	time.Sleep(time.Second)
	turn := b.turn("h.test", addrOf(1))
	if w := b.try(t, turn); w != nil {
		t.Fatal(w)
	}
	b.sharing.Done(turn, politeness.Owed{})
	if c.try(t, c.turn("h.test", addrOf(1))) == nil {
		t.Error("the next in the order takes a turn that is not over")
	}
	if w := b.try(t, b.turn("h.test", addrOf(1))); w != nil {
		t.Error(w)
	}
}

func absent(t *testing.T, open Open) {
	s := open(t, 2)
	a, b := &crawl{s[0], "a", time.Second}, &crawl{s[1], "b", time.Second}
	a.end(a.take(t, "h.test", addrOf(1)), 0)
	_ = b.try(t, b.turn("h.test", addrOf(1))) // b waits, and never tries again
	start := time.Now()
	for range 30 {
		turn := a.take(t, "h.test", addrOf(1))
		a.end(turn, 0)
		time.Sleep(a.delay)
	}
	if took := time.Since(start); took > 32*time.Second {
		t.Errorf("30 requests in %v", took)
	}
}

func leaves(t *testing.T, open Open) {
	s := open(t, 2)
	a, b := &crawl{s[0], "a", time.Second}, &crawl{s[1], "b", time.Second}
	a.take(t, "h.test", addrOf(1)) // the turn is never reported
	time.Sleep(time.Minute)
	if b.try(t, b.turn("h.test", addrOf(1))) == nil {
		t.Error("a request that is not over does not count")
	}
	a.sharing.Leave("gate-a")
	if b.try(t, b.turn("h.test", addrOf(1))) == nil {
		t.Error("no pause after a request that a crawl left")
	}
	time.Sleep(time.Second)
	if w := b.try(t, b.turn("h.test", addrOf(1))); w != nil {
		t.Error(w)
	}
}

// hold tests pauses that a redirect with Retry-After requests of its target.
func hold(t *testing.T, open Open) {
	s := open(t, 2)
	a, b := &crawl{s[0], "a", time.Second}, &crawl{s[1], "b", time.Second}
	a.sharing.Done(a.turn("h.test", netip.Addr{}), politeness.Owed{Host: time.Now().Add(30 * time.Second)})
	time.Sleep(29 * time.Second)
	if w := b.try(t, b.turn("h.test", addrOf(1))); w == nil || time.Until(w.Until) != time.Second {
		t.Error(w)
	}
	time.Sleep(time.Second)
	if w := b.try(t, b.turn("h.test", addrOf(1))); w != nil {
		t.Error(w)
	}
}

func apart(t *testing.T, open Open) {
	base := politeness.Turn{Host: "h.test", Port: "80", Addr: addrOf(1), Domain: "h.test", Delay: time.Second}
	for _, tc := range []struct {
		name  string
		other politeness.Turn
		apart bool
	}{
		{"host", politeness.Turn{Host: "h.test", Port: "80", Addr: addrOf(2)}, false},
		{"port", politeness.Turn{Host: "h.test", Port: "81", Addr: addrOf(2)}, true},
		{"address", politeness.Turn{Host: "i.test", Port: "80", Addr: addrOf(1)}, false},
		{"no address", politeness.Turn{Host: "i.test", Port: "80"}, true},
		{"domain", politeness.Turn{Host: "i.test", Port: "80", Addr: addrOf(2), Domain: "h.test"}, false},
		{"own host", politeness.Turn{}, true},
	} {
		s := open(t, 2)
		first, second := base, tc.other
		first.Gate, second.Gate, second.Delay = "a", "b", time.Second
		if err := s[0].Take(&first); err != nil {
			t.Fatal(err)
		}
		if err := s[1].Take(&second); (err == nil) != tc.apart {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func names(t *testing.T, open Open) {
	s := open(t, 2)
	a, b := &crawl{s[0], "news", time.Second}, &crawl{s[1], "b", time.Second}
	turn := a.take(t, "h.test", addrOf(1))
	if w := b.try(t, b.turn("h.test", addrOf(1))); w == nil || w.Clauses[0].By != "news" {
		t.Errorf("%+v", w)
	}
	ended := time.Now()
	a.end(turn, 0)
	turn = b.take(t, "h.test", addrOf(1))
	if c := turn.Waited; c.By != "news" || !c.Until.Equal(ended.Add(time.Second)) || time.Duration(c.Delay) != time.Second {
		t.Errorf("%+v", c)
	}
}

// setBack tests that a wall clock that is set back makes nobody wait for longer than a pause.
func setBack(t *testing.T, open Open) {
	s := open(t, 2)
	a, b := &crawl{s[0], "a", time.Second}, &crawl{s[1], "b", time.Second}
	turn, later := a.take(t, "h.test", addrOf(1)), time.Now().Add(24*time.Hour)
	a.sharing.Done(turn, politeness.Owed{Ended: later, Host: later.Add(time.Second), Addr: later.Add(time.Second)})
	if w := b.try(t, b.turn("h.test", addrOf(1))); w == nil || time.Until(w.Until) > 3*time.Second {
		t.Errorf("%v", w)
	}
}

// totalRate tests that crawls with a rate leave the longest of their intervals between the starts of their requests, and take
// turns. A crawl without a rate does not wait.
func totalRate(t *testing.T, open Open) {
	for _, intervals := range [][]time.Duration{{time.Second, time.Second}, {time.Second, 3 * time.Second}, {time.Second, time.Second, time.Second, time.Second}} {
		s, longest, start := open(t, len(intervals)), slices.Max(intervals), time.Now()
		l := new(log)
		var crawls sync.WaitGroup
		for i, d := range intervals {
			c := &crawl{s[i], fmt.Sprint("c", i), d}
			crawls.Go(func() {
				for range 40 {
					rate := &politeness.Turn{Gate: "gate-" + c.name, Crawl: c.name, Total: true, Delay: d}
					for wait := c.try(t, rate); wait != nil; wait = c.try(t, rate) {
						if name := wait.Clauses[0].Name; name != "rate" {
							t.Errorf("waits for %s", name)
						}
						time.Sleep(time.Until(wait.Until))
					}
					now := time.Now()
					l.add(seen{crawl: c, start: now})
					c.sharing.Done(rate, politeness.Owed{Ended: now, Total: now.Add(d)})
					time.Sleep(d) // the crawl's own rate, which its Gate keeps
				}
				c.sharing.Leave("gate-" + c.name)
			})
			other := &crawl{s[i], fmt.Sprint("without", i), time.Second}
			turn := other.turn(fmt.Sprintf("h%d.test", i), addrOf(1+i))
			if w := other.try(t, turn); w != nil {
				t.Errorf("a crawl without a rate waits: %v", w)
				continue
			}
			other.end(turn, 0)
		}
		crawls.Wait()
		for i, r := range l.all[1:] {
			if gap := r.start.Sub(l.all[i].start); gap < longest && r.crawl != l.all[i].crawl {
				t.Fatalf("%v between request %d and %d, with intervals of %v", gap, i+1, i+2, intervals)
			}
		}
		half := len(l.all) / 2 // while all crawls make requests
		for i := range half - 19 {
			n := map[*crawl]int{}
			for _, r := range l.all[i : i+20] {
				n[r.crawl]++
			}
			if len(n) < len(intervals) || len(n) == 2 && n[l.all[i].crawl] > 13 {
				t.Fatalf("%d crawls have the requests %d to %d, one of them %d", len(n), i+1, i+20, n[l.all[i].crawl])
			}
		}
		if bound := time.Duration(len(l.all)-1) * longest; time.Since(start) > bound*102/100+longest {
			t.Errorf("%v for what takes %v", time.Since(start), bound)
		}
		for i := range s {
			s[i].Leave(fmt.Sprint("gate-without", i))
		}
	}
}

// hours tests that nobody may use a host's clock while the hours of a crawl that waits for the host are over, until
// they begin again or it leaves.
func hours(t *testing.T, open Open) {
	s := open(t, 2)
	a, b := &crawl{s[0], "a", time.Second}, &crawl{s[1], "b", time.Second}
	for _, leaves := range []bool{false, true} {
		quiet := a.turn("h.test", netip.Addr{})
		quiet.Quiet = time.Now().Add(8 * time.Hour)
		if w := a.try(t, quiet); w == nil || !w.Until.Equal(quiet.Quiet) || w.Clauses[0].Name != "quiet_hours" {
			t.Fatalf("%+v", w)
		}
		w := b.try(t, b.turn("h.test", addrOf(1)))
		if w == nil || !w.Until.Equal(quiet.Quiet) || w.Clauses[0].Name != "shared" || w.Clauses[0].By != "a" {
			t.Fatalf("%+v", w)
		}
		if w := b.try(t, b.turn("i.test", addrOf(2))); w != nil {
			t.Errorf("another host: %v", w)
		}
		b.sharing.Leave("gate-b")
		if leaves {
			a.sharing.Leave("gate-a")
			time.Sleep(2 * time.Second) // the rest of b's pause
		} else {
			time.Sleep(4 * time.Hour)
			if w := b.try(t, b.turn("h.test", addrOf(1))); w == nil || !w.Until.Equal(quiet.Quiet) {
				t.Fatalf("%+v", w)
			}
			time.Sleep(time.Until(quiet.Quiet) + time.Second)
		}
		turn := b.turn("h.test", addrOf(1))
		if w := b.try(t, turn); w != nil {
			t.Fatalf("leaves: %v: %v", leaves, w)
		}
		b.end(turn, 0)
		time.Sleep(time.Minute)
	}
}
