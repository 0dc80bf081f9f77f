package politeness

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// life is a crawl whose process is killed and restarted several times. What survives are the ledger, the bodies of robots.txt files, and a
// snapshot, which may be old.
type life struct {
	*client
	rng      *rand.Rand
	config   Config
	ledger   bytes.Buffer
	bodies   map[string][]byte
	flying   map[uint64]Permit
	snapshot []byte
}

func newLife(t *testing.T, seed uint64) *life {
	rng := rand.New(rand.NewPCG(seed, 23))
	c := randomConfig(rng)
	if rng.IntN(2) == 0 {
		c.MaxRetryAfter, c.MaxCrawlDelay, c.MaxFailures, c.RobotsGiveUp = 100*time.Second, 8*time.Second, 6, time.Minute
	}
	if rng.IntN(3) == 0 {
		c.OwnHosts = func(host string) int { return 2 * strings.Count(host, "h4.") }
	}
	l := &life{rng: rng, config: c, bodies: map[string][]byte{}, flying: map[uint64]Permit{}}
	l.config.Ledger = &l.ledger
	l.client = newClient(t, l.config)
	return l
}

// page asks for a Permit for a URL, in one case of four as a resource of another host's page.
func (l *life) page(u weburl.URL, addr netip.Addr) (Permit, error) {
	q := Request{URL: u, Next: l.gate.Next(u), Addr: addr}
	if s := u.String(); s[len(s)-1]%4 == 0 {
		q.Purpose, q.For = Resource, l.url("https://page.test/")
	}
	return l.gate.Admit(q)
}

// step begins a request or fails a look-up, ends some requests, and lets time pass.
func (l *life) step() {
	raw, addr := randomRequest(l.rng)
	if u := l.url(raw); l.rng.IntN(12) == 0 {
		l.gate.Failed(u, l.gate.Next(u), errors.New("no such host"))
	} else if p, err := l.page(u, addr); err == nil {
		l.flying[p.ID()] = p
		if g, err := p.Redeem(); err == nil && l.rng.IntN(10) > 0 {
			time.Sleep(time.Duration(l.rng.IntN(20)) * time.Millisecond)
			_ = g.Begin()
		}
	}
	time.Sleep(time.Duration(l.rng.ExpFloat64() * float64(time.Second)))
	for _, id := range slices.Sorted(maps.Keys(l.flying)) {
		p := l.flying[id]
		if l.rng.IntN(3) > 0 {
			l.report(p)
			delete(l.flying, id)
		}
	}
	if l.rng.IntN(30) == 0 {
		l.snapshot = l.gate.Snapshot()
	}
}

// report ends a request with a random result, sometimes after a delay.
func (l *life) report(p Permit) {
	r := randomReply(l.rng)
	sum := sha256.Sum256(r.Body)
	l.bodies[hex.EncodeToString(sum[:])] = r.Body
	r.Ended = time.Now()
	if l.rng.IntN(20) == 0 {
		r.Truncated = CutShort
	}
	time.Sleep(time.Duration(l.rng.IntN(2)*l.rng.IntN(300)) * time.Millisecond)
	l.gate.Report(p, r)
}

func (l *life) body(sha string) ([]byte, error) {
	if b, ok := l.bodies[sha]; ok {
		return b, nil
	}
	return nil, errors.New("not kept")
}

// kill starts another process from what survives a kill. It returns its client, and as lived the client of the old process, in which all
// requests in flight have just been aborted.
func (l *life) kill() (restored, lived *client) {
	for _, id := range slices.Sorted(maps.Keys(l.flying)) {
		p := l.flying[id]
		if !p.p.started.Load() { // the request was not sent, so the ledger does not have it
			l.gate.Report(p, Reply{Aborted: true})
			delete(l.flying, id)
		}
	}
	size := int64(l.ledger.Len())
	all := l.ledger.String()
	if l.rng.IntN(2) == 0 {
		all += `{"event":"end","run":"` + l.gate.journal.run + `","id":1,"ended":"2000-01-01T00:0`
	}
	time.Sleep(time.Duration(l.rng.IntN(2)*l.rng.IntN(5000)) * time.Millisecond)
	c := l.config
	c.Snapshot, c.LedgerSize = l.snapshot, size
	restored = newClient(l.T, c)
	if err := restored.gate.Replay(strings.NewReader(all), l.body); err != nil {
		l.Fatal(err)
	}
	for _, id := range slices.Sorted(maps.Keys(l.flying)) {
		p := l.flying[id]
		l.gate.journal.ledger = ledger.NewWriter(nil, 0) // the old process writes no more lines
		l.gate.Report(p, Reply{Aborted: true})
		delete(l.flying, id)
	}
	return restored, l.client
}

// TestP9AKillShortensNoWait kills random crawls at random moments, several times, and restores each from the ledger and an old snapshot or
// none. The restored Gate knows everything that the killed one knew, and admits nothing that the old Gate would refuse if it had
// continued.
func TestP9AKillShortensNoWait(t *testing.T) {
	for seed := range uint64(300) {
		inBubble(t, func(t *testing.T) {
			l := newLife(t, seed)
			for range 1 + l.rng.IntN(3) {
				for range l.rng.IntN(150) {
					l.step()
				}
				restored, lived := l.kill()
				noLess(t, restored.gate, lived.gate)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
				l.client = restored
			}
			restored, lived := l.kill()
			for range 60 {
				if p, err := restored.admit(randomRequest(l.rng)); err == nil {
					sendBoth(restored, lived, p, lived.mintSame(p), time.Duration(l.rng.IntN(2000))*time.Millisecond, randomReply(l.rng))
				}
				time.Sleep(time.Duration(l.rng.ExpFloat64() * float64(2*time.Second)))
			}
		})
	}
}

// noLess reports each restriction that is weaker in the restored Gate than in the lived one, which was not killed.
func noLess(t *testing.T, restored, lived *Gate) {
	t.Helper()
	now := time.Now()
	later := func(what string, is, was time.Time) {
		t.Helper()
		if was.After(now) && is.Before(was) {
			t.Errorf("%s: %v, was %v", what, is, was)
		}
	}
	for key, was := range lived.hosts {
		noLessHost(t, restored, lived, key, was, later)
	}
	for a, was := range lived.pacer.addrs {
		later(fmt.Sprint("address ", a), clockOf(restored.pacer.addrs, a).notBefore, was.notBefore)
	}
	for d, was := range lived.pacer.domains {
		later("domain "+d, clockOf(restored.pacer.domains, d).notBefore, was.notBefore)
	}
	later("rate", restored.pacer.rateUntil(now).Add(slack), lived.pacer.rateUntil(now))
}

func noLessHost(t *testing.T, restored, lived *Gate, key string, was *host, later func(what string, is, was time.Time)) {
	t.Helper()
	is := restored.hosts[key]
	if is == nil {
		is = newHost(&restored.cfg, key)
	}
	times := func(h *host) (ts []time.Time) {
		for p := range h.slots {
			ts = append(ts, p.notBefore)
		}
		slices.SortFunc(ts, time.Time.Compare)
		return ts
	}
	for i, at := range times(was) {
		later(key, times(is)[i], at)
	}
	if (was.givenUp != nil) && (is.givenUp == nil || is.givenUp.reason != was.givenUp.reason) {
		t.Errorf("%s: was given up for %v", key, *was.givenUp)
	}
	if is.backoff < was.backoff || is.failures < was.failures || is.latency != was.latency || is.failures > 0 && was.failures > 0 && is.failing != was.failing {
		t.Errorf("%s: backoff %v failures %d since %v latency %v, were %v %d %v %v", key, is.backoff, is.failures, is.failing, is.latency, was.backoff, was.failures, was.failing, was.latency)
	}
	if isd, _ := restored.cfg.delayFor(is.state(&restored.cfg, was.local)); was.givenUp == nil {
		if wasd, _ := lived.cfg.delayFor(was.state(&lived.cfg, was.local)); isd < wasd {
			t.Errorf("%s: delay %v, was %v", key, isd, wasd)
		}
	}
	for i, o := range was.origins {
		if o != nil {
			noLessOrigin(t, key, is.origins[i], o)
		}
	}
}

func noLessOrigin(t *testing.T, key string, is, was *origin) {
	t.Helper()
	if is == nil {
		is = new(origin)
	}
	if is.failures() > was.failures() && !is.known { // an unrecorded Permit was in use when the name had no address
		return
	}
	if is.known != was.known || is.givenUp != was.givenUp || is.status != was.status || is.requestedDelay != was.requestedDelay ||
		is.fetched != was.fetched || is.expires != was.expires || (is.outage == nil) != (was.outage == nil) || is.outage != nil && *is.outage != *was.outage ||
		(is.chain == nil) != (was.chain == nil) || is.chain != nil && !slices.Equal(is.chain.hops, was.chain.hops) || !slices.Equal(is.redirects(), was.redirects()) {
		t.Errorf("%s: robots.txt\nis  %+v\nwas %+v", key, *is, *was)
	}
	if (is.rules == nil) != (was.rules == nil) || is.rules != nil && (is.rules.hash != was.rules.hash || is.rules.body != was.rules.body) {
		t.Errorf("%s: other rules", key)
	}
}

func TestARequestWithoutAnEndEndsAtTheRestart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		b := newClient(t, Config{Delay: 5 * time.Second, Ledger: &out})
		g, _ := b.must("https://a.test/").Redeem()
		if err := g.Begin(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		r := replayed(t, Config{Delay: 5 * time.Second}, out.String(), nil)
		time.Sleep(5*time.Second - 1)
		r.wait("https://a.test/", someAddr)
		r.wait("https://b.test/", someAddr)
		time.Sleep(1)
		if p := r.must("https://a.test/"); p.Purpose() != Robots {
			t.Errorf("requested %s: robots.txt was not answered (P1)", p.URL())
		}
	})
}

// TestAnOwnHostRestsWhollyAfterAKill: ledgers of earlier versions do not say which of the concurrent slots of an own host each of two
// requests used. At the snapshot, other requests with a shorter pause had used both slots.
func TestAnOwnHostRestsWhollyAfterAKill(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		c := Config{Ledger: &out, OwnHosts: func(string) int { return 2 }}
		b := newClient(t, c)
		b.rules("https://a.test/", "")
		time.Sleep(time.Second)
		begin := func() Permit {
			p := b.must("https://a.test/")
			if g, err := p.Redeem(); err != nil || g.Begin() != nil {
				t.Fatal(err)
			}
			return p
		}
		flying := []Permit{begin(), begin()}
		c.Snapshot = b.gate.Snapshot()
		for _, p := range flying {
			b.gate.Report(p, Reply{Status: 500})
		}
		time.Sleep(2 * time.Second)
		begin()
		begin()
		numbered := replayed(t, c, out.String(), nil)
		without := replayed(t, c, strings.ReplaceAll(out.String(), `"slot"`, `"none"`), nil)
		time.Sleep(2*time.Second - 1)
		numbered.wait("https://a.test/", someAddr)
		without.wait("https://a.test/", someAddr)
	})
}

func TestNothingIsAdmittedRightAfterAReplay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		b := newClient(t, Config{Ledger: &out})
		b.rules("https://a.test/", "")
		time.Sleep(time.Hour)
		r := replayed(t, Config{}, out.String(), nil)
		if w := r.wait("https://other.test/", addrOf(7)); w.Clauses[0].Name != ledger.ClauseRestart || time.Until(w.Until) != DefaultDelay {
			t.Error(w)
		}
		time.Sleep(DefaultDelay)
		r.must("https://other.test/")
		if r := replayed(t, Config{}, "", nil); !r.gate.pacer.opening.After(time.Now()) {
			t.Error("no wait after a process that was killed before its first line")
		}
	})
}

func TestRobotsTxtWithoutItsBodyIsRequestedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		body := "User-agent: *\nDisallow: /no\nCrawl-delay: 9\n"
		for name, bodies := range map[string]func(string) ([]byte, error){
			"none": nil, "not kept": func(string) ([]byte, error) { return nil, errors.New("no") },
			"another": func(string) ([]byte, error) { return []byte("User-agent: *"), nil },
		} {
			var out bytes.Buffer
			b := newClient(t, Config{Ledger: &out})
			b.rules("https://a.test/", body)
			r := replayed(t, Config{}, out.String(), bodies)
			time.Sleep(time.Hour)
			if p := r.must("https://a.test/"); p.Purpose() != Robots {
				t.Errorf("%s: %s without rules (P1)", name, p.URL())
			}
			if r.gate.rules.size != 0 {
				t.Errorf("%s: %d bytes of rules counted", name, r.gate.rules.size)
			}
		}
	})
}

// longestLine is the maximum length of a line that is read.
const longestLine = 1 << 20

func TestLedgersThatCannotBeReplayed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		b := newClient(t, Config{Ledger: &out})
		b.rules("https://a.test/", "")
		whole, snapshot := out.String(), b.gate.Snapshot()
		for _, c := range []struct {
			name, ledger, says string
			snapshot           []byte
		}{
			{"shorter than the mark", whole[:len(whole)-1], fmt.Sprintf("%d bytes, the snapshot includes %d", len(whole)-1, len(whole)), snapshot},
			{"another", strings.Repeat("x", len(whole)), "no line ends", snapshot},
			{"no JSON", whole + "nonsense\n", "the line at byte " + fmt.Sprint(len(whole)), nil},
			{"an end without a start", whole[strings.IndexByte(whole, '\n')+1:], "has no start", nil},
			{"an unknown event", `{"event":"pause","run":"x"}` + "\n", `"pause"`, nil},
			{"a line without an end in sight", strings.Repeat(" ", longestLine+1<<17) + "\n", "longer than 1048576 bytes", nil},
			{"no address", `{"event":"start","run":"x","id":1,"url":"http://a.test/","allowed":"2000-01-01T00:00:00Z"}` + "\n", "without address", nil},
			{"no URL", `{"event":"unsent","run":"x","url":"x"}` + "\n", "url_syntax", nil},
		} {
			g := newClient(t, Config{Snapshot: c.snapshot}).gate
			if err := g.Replay(strings.NewReader(c.ledger), nil); !errors.Is(err, ErrReplay) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		r := replayed(t, Config{}, whole+strings.Repeat("\x00", 3*longestLine), nil) // as after a power failure
		if err := r.gate.Replay(strings.NewReader(whole), nil); !errors.Is(err, ErrReplay) {
			t.Errorf("twice: %v", err)
		}
		if _, err := b.admit("https://b.test/", addrOf(1)); err != nil {
			t.Fatal(err)
		}
		if err := b.gate.Replay(strings.NewReader(whole), nil); !errors.Is(err, ErrReplay) {
			t.Errorf("of a Gate in use: %v", err)
		}
	})
}

// TestP9ThePauseOfAnEarlierRobotsTxtOutlivesALostBody: if the body of the newest robots.txt is lost, its Crawl-delay is unknown. Then that
// of the previous robots.txt applies.
func TestP9ThePauseOfAnEarlierRobotsTxtOutlivesALostBody(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		b := newClient(t, Config{Ledger: &out})
		first := "User-agent: *\nCrawl-delay: 9\n"
		b.rules("https://a.test/", first)
		time.Sleep(25 * time.Hour)
		b.rules("https://a.test/", first+"Disallow: /no\n")
		r := replayed(t, Config{}, out.String(), func(sha string) ([]byte, error) {
			if sum := sha256.Sum256([]byte(first)); sha == hex.EncodeToString(sum[:]) {
				return []byte(first), nil
			}
			return nil, errors.New("not kept")
		})
		time.Sleep(9*time.Second - 1)
		r.wait("https://a.test/", someAddr)
		time.Sleep(1)
		if p := r.must("https://a.test/"); p.Purpose() != Robots {
			t.Errorf("requested %s", p.URL())
		}
	})
}

// TestRedirectsAreCountedFromWhereTheyBegin revokes the Permit for the first redirect of a robots.txt, of which the ledger has no line.
// Then robots.txt is requested again from the beginning.
func TestRedirectsAreCountedFromWhereTheyBegin(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		c := Config{Ledger: &out}
		b := newClient(t, c)
		for range 2 {
			b.send(b.must("https://a.test/x"), 0, redirect("/1"))
			time.Sleep(DefaultDelay)
			b.must("https://a.test/x")
			time.Sleep(DefaultPermitTTL + time.Microsecond)
			b.wait("https://a.test/x", someAddr)
			time.Sleep(DefaultDelay)
		}
		r := replayed(t, c, out.String(), nil)
		u := b.url("https://a.test/x")
		if c := r.gate.host(u).origin(u).chain; c == nil || len(c.hops) != 1 {
			t.Errorf("%+v", c)
		}
	})
}

// TestRedirectsAreCountedAcrossASnapshot takes a snapshot while the target of a redirect is being requested.
func TestRedirectsAreCountedAcrossASnapshot(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		c := Config{Ledger: &out}
		b := newClient(t, c)
		b.send(b.must("https://a.test/x"), 0, redirect("/1"))
		time.Sleep(DefaultDelay)
		p := b.must("https://a.test/x")
		c.Snapshot = b.gate.Snapshot()
		b.send(p, 0, redirect("/2"))
		r := replayed(t, c, out.String(), nil)
		u := b.url("https://a.test/x")
		if c := r.gate.host(u).origin(u).chain; c == nil || len(c.hops) != 2 {
			t.Errorf("%+v", c)
		}
	})
}

// TestALateReportLeavesTheRobotsRequestThatCameAfterItAlone checks that the count of redirects is kept, in a replay as well.
func TestALateReportLeavesTheRobotsRequestThatCameAfterItAlone(t *testing.T) {
	for _, withSnapshot := range []bool{false, true} {
		inBubble(t, func(t *testing.T) {
			var out bytes.Buffer
			c := Config{Ledger: &out}
			b := newClient(t, c)
			late := b.must("https://a.test/x")
			if withSnapshot {
				c.Snapshot = b.gate.Snapshot()
			}
			time.Sleep(DefaultPermitTTL + time.Microsecond)
			b.wait("https://a.test/x", someAddr)
			time.Sleep(DefaultDelay)
			b.send(b.must("https://a.test/x"), 0, redirect("/1"))
			time.Sleep(DefaultDelay)
			p := b.must("https://a.test/x")
			if g, err := p.Redeem(); err != nil || g.Begin() != nil {
				t.Fatal(err)
			}
			b.gate.Report(late, Reply{Aborted: true})
			b.gate.Report(p, redirect("/2"))
			r := replayed(t, c, out.String(), nil)
			u := b.url("https://a.test/x")
			if c := r.gate.host(u).origin(u).chain; c == nil || len(c.hops) != 2 || r.gate.Next(u) != b.gate.Next(u) {
				t.Errorf("snapshot %v: %+v, next %v", withSnapshot, c, r.gate.Next(u))
			}
		})
	}
}

// TestP9ARateOutlivesAnOlderLineBehindASnapshot: a Permit is granted before the last token of the rate is taken, expires, and is reported
// only after a snapshot, which no longer contains it. The rate must still be kept.
func TestP9ARateOutlivesAnOlderLineBehindASnapshot(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var out bytes.Buffer
		c := Config{Rate: 0.1, PermitTTL: 5 * time.Second, Ledger: &out}
		b := newClient(t, c)
		p := b.must("https://a.test/")
		time.Sleep(30 * time.Second)
		b.wait("https://a.test/", someAddr) // revokes p
		b.mustAt("https://b.test/", "192.0.2.9")
		c.Snapshot = b.gate.Snapshot()
		b.gate.Report(p, Reply{Aborted: true})
		r := replayed(t, c, out.String(), nil)
		time.Sleep(5 * time.Second)
		if w := r.wait("https://c.test/", addrOf(3)); w.Clauses[0].Name != ledger.ClauseRate {
			t.Error(w)
		}
	})
}

// BenchmarkReplay replays the ledger of a crawl of 5000 hosts, with 500,000 requests of two lines each.
func BenchmarkReplay(b *testing.B) {
	var out bytes.Buffer
	c := Config{Identity: identity(), Delay: NoDelay, DelayFactor: NoFactor, Ledger: &out, OwnHosts: func(string) int { return 1 }}
	g, err := NewGate(c)
	if err != nil {
		b.Fatal(err)
	}
	const hosts, requests = 5000, 500_000
	for i := range requests {
		u, err := weburl.Parse(fmt.Sprintf("https://host%d.some-university.edu/department/page%d?a=1&b=2", i%hosts, i))
		if err != nil {
			b.Fatal(err)
		}
		p, err := g.Admit(Request{URL: u, Next: g.Next(u), Addr: addrOf(i % hosts)})
		if err != nil {
			b.Fatal(err)
		}
		if grant, err := p.Redeem(); err != nil || grant.Begin() != nil {
			b.Fatal(err)
		}
		g.Report(p, Reply{Status: 404, Ended: time.Now(), WireBytes: 1000})
	}
	c.Ledger = nil
	b.SetBytes(int64(out.Len()))
	b.ReportAllocs()
	for b.Loop() {
		g, err := NewGate(c)
		if err != nil {
			b.Fatal(err)
		}
		if err := g.Replay(bytes.NewReader(out.Bytes()), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(2*requests*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

func FuzzReplay(f *testing.F) {
	f.Add([]byte(`{"event":"start","run":"r","id":1,"url":"http://a.test/robots.txt","for":"http://a.test/","host":"a.test:80","addr":"192.0.2.1","purpose":"robots","allowed":"2000-01-01T00:00:00Z","written":"2000-01-01T00:00:00Z","clauses":[{"clause":"delay"}]}
{"event":"end","run":"r","id":1,"ended":"2000-01-01T00:00:01Z","status":301,"location":"/x?a=1\u0026b"}
`))
	f.Add([]byte(`{"event":"unsent","run":"r","url":"http://a.test/","ended":"2000-01-01T00:00:01Z","error":"no such host"}` + "\n{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := NewGate(Config{Identity: identity(), Rate: 1, PerDomain: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Replay(bytes.NewReader(b), nil); err == nil {
			g.Snapshot()
		}
	})
}
