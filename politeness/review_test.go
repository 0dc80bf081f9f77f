package politeness

import (
	"errors"
	"math"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// ready takes a host through a robots.txt with this body and waits until its first page may be asked for.
func (b *bench) ready(raw, body string) {
	b.Helper()
	time.Sleep(time.Until(b.rules(raw, body)))
}

func redirect(to string) Reply {
	return Reply{Status: 302, Header: http.Header{"Location": {to}}}
}

func TestAHostIsGivenUpAfterSoManyFailuresOrSoLong(t *testing.T) {
	timeout := Reply{Err: os.ErrDeadlineExceeded}
	for _, c := range []struct {
		config   Config
		reply    Reply
		failures int
	}{
		{Config{MaxFailures: 3, MaxSilence: None}, timeout, 3},
		{Config{MaxFailures: 3, MaxSilence: None}, Reply{Status: 429}, 3},
		{Config{MaxFailures: 3, MaxSilence: None}, Reply{Status: 200, Truncated: CutIdle}, 3},
		{Config{MaxFailures: 3, MaxSilence: None}, Reply{Status: 500}, 6}, // of pages twice as many
		{Config{MaxFailures: 3, MaxSilence: None}, Reply{Status: 200, Truncated: CutShort}, 6},
		{Config{MaxFailures: 3, MaxSilence: None}, Reply{Err: errors.New("reset")}, 6},
		{Config{MaxFailures: None, MaxSilence: 10 * time.Second}, timeout, 5}, // at 0, 1, 3, 7 and 15 s
		{Config{MaxFailures: None, MaxSilence: 10 * time.Second}, Reply{Status: 429}, 5},
		{Config{MaxFailures: None, MaxSilence: 10 * time.Second}, Reply{Status: 500}, 0},
		{Config{MaxFailures: None, MaxSilence: None}, timeout, 0},
	} {
		in(t, func(t *testing.T) {
			b := open(t, c.config)
			b.ready("https://a.test/", "")
			n := 0
			for n < 50 && b.gate.Host("a.test:443").GivenUp == "" {
				time.Sleep(time.Until(b.send(b.must("https://a.test/"), 0, c.reply)))
				n++
			}
			if n != c.failures && c.failures > 0 || c.failures == 0 && n < 50 {
				t.Errorf("%+v: given up after %d failures, want %d", c.reply, n, c.failures)
			}
		})
	}
}

// TestFailuresOfOnePageAreNotThoseOfItsHost lets one URL fail again and again: that lengthens the pause, and ends nothing,
// not in a process that goes on from the ledger or a snapshot either. What fails before anything was sent is the host's
// failure at every attempt.
func TestFailuresOfOnePageAreNotThoseOfItsHost(t *testing.T) {
	refused, broken := Reply{Err: errors.New("connection refused")}, Reply{Status: 500}
	for _, c := range []struct {
		name    string
		reply   Reply
		sent    bool
		attempt func(i int) int
		want    int32
	}{
		{"one page", broken, true, func(i int) int { return i }, 1},
		{"as many pages", broken, true, func(int) int { return 0 }, 3},
		{"one page that is refused for the time being", Reply{Status: 429}, true, func(i int) int { return i }, 6},
		{"one page that comes too late", Reply{Err: os.ErrDeadlineExceeded}, true, func(i int) int { return i }, 6},
		{"one page that resets", Reply{Err: errors.New("reset")}, true, func(i int) int { return i }, 1},
		{"one page that breaks off", Reply{Status: 200, Truncated: CutShort}, true, func(i int) int { return i }, 1},
		{"nobody there", refused, false, func(i int) int { return i }, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				var l past
				b := l.process(t, Config{MaxFailures: 4})
				l.keep(b, "https://a.test/", "")
				var between []byte
				for i := range 3 {
					u := b.url("https://a.test/")
					p, err := b.gate.Admit(Request{URL: u, Next: b.gate.Next(u), Addr: someAddr, Attempt: c.attempt(i)})
					if err != nil {
						t.Fatal(err)
					}
					if i == 2 { // with a request under way
						between = b.gate.Snapshot()
					}
					if c.sent {
						g, err := p.Redeem()
						if err != nil || g.Begin() != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(time.Until(b.gate.Report(p, c.reply)))
				}
				l.snapshot = nil
				replayed := l.process(t, Config{MaxFailures: 4})
				l.snapshot = between
				restored := l.process(t, Config{MaxFailures: 4})
				for name, g := range map[string]*Gate{"lived": b.gate, "replayed": replayed.gate, "restored": restored.gate} {
					if h := g.hosts["a.test:443"]; h.failures != c.want || h.backoff != 4*time.Second {
						t.Errorf("%s: %d faults and a back-off of %v, want %d and 4s", name, h.failures, h.backoff, c.want)
					}
				}
			})
		})
	}
}

func TestAPermitThatIsNeverReportedIsTakenBackWhenItExpires(t *testing.T) {
	for _, redeem := range []bool{false, true} {
		in(t, func(t *testing.T) {
			b := open(t, Config{})
			b.ready("https://a.test/", "")
			p := b.must("https://a.test/1")
			var g Grant
			if redeem {
				g, _ = p.Redeem()
			}
			time.Sleep(DefaultPermitTTL)
			b.wait("https://a.test/2", someAddr)
			time.Sleep(time.Nanosecond)
			if c := b.wait("https://a.test/2", someAddr).Clauses; time.Until(c[len(c)-1].Until) != time.Second || c[len(c)-1].Name != ledger.ClauseDelay {
				t.Errorf("taken back, then a delay: %v", c)
			}
			time.Sleep(time.Second)
			b.must("https://a.test/2")
			if _, err := p.Redeem(); !errors.Is(err, ErrExpired) {
				t.Errorf("Redeem: %v", err)
			}
			if err := g.Begin(); redeem && !errors.Is(err, ErrExpired) {
				t.Errorf("Begin: %v", err)
			}
			b.gate.Report(p, Reply{Status: 200})
			b.wait("https://a.test/2", someAddr) // the second Permit is out still
		})
	}
}

// TestALateReportHoldsClocksThatWereForgottenMeanwhile: a Permit is taken back, its clocks come to rest and
// are forgotten, and only then its holder gives up connecting.
func TestALateReportHoldsClocksThatWereForgottenMeanwhile(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		p := b.must("https://a.test/")
		time.Sleep(DefaultPermitTTL + time.Microsecond)
		b.wait("https://a.test/", someAddr)
		time.Sleep(time.Minute)
		SweepNext(b.gate)
		b.gate.Next(b.url("https://other.test/"))
		b.rules("http://a.test:443/", "User-agent: *\nCrawl-delay: 9\n") // of a host that has been forgotten and met again
		time.Sleep(9 * time.Second)
		b.gate.Report(p, Reply{Err: errors.New("timeout")})
		for _, raw := range []string{"https://a.test/", "https://b.test/"} {
			if w := b.wait(raw, someAddr); time.Until(w.Until) < 9*time.Second {
				t.Errorf("%s: %v", raw, w)
			}
		}
	})
}

func TestAnUnreportedPermitOfAnAddressIsTakenBack(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.must("https://a.test/")
		time.Sleep(DefaultPermitTTL + time.Microsecond)
		time.Sleep(time.Until(b.wait("https://b.test/", someAddr).Until))
		b.must("https://b.test/")
	})
}

func TestRobotsIsAskedForByOneAtATime(t *testing.T) {
	in(t, func(t *testing.T) { // an own host may have several requests, but not for this
		b := open(t, Config{Delay: None, OwnHosts: func(string) int { return 4 }})
		p := b.must("https://a.test/1")
		if w := b.wait("https://a.test/2", someAddr); w.Clauses[0].Name != ledger.ClauseBusy || !w.Until.After(time.Now()) {
			t.Errorf("got %v", w)
		}
		b.send(p, 0, Reply{Status: 404})
		for range 4 {
			b.must("https://a.test/2")
		}
	})
	in(t, func(t *testing.T) { // a hop on another host leaves the origin's own clock free
		b := open(t, Config{})
		b.send(b.must("https://a.test/1"), 0, redirect("https://b.test/r"))
		time.Sleep(time.Second)
		b.must2("https://a.test/1", "192.0.2.2")
		_, err := b.admit("https://a.test/2", netip.MustParseAddr("192.0.2.3"))
		var w *NotYet
		if !errors.As(err, &w) || w.Clauses[0].Name != ledger.ClauseBusy {
			t.Errorf("got %v", err)
		}
	})
}

func TestAnUnreportedRobotsPermitIsTakenBackAlsoFromItsOrigin(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.send(b.must("https://a.test/x"), 0, redirect("https://b.test/r"))
		b.must2("https://a.test/x", "192.0.2.2")
		b.wait("https://a.test/x", someAddr)
		time.Sleep(DefaultPermitTTL + time.Microsecond)
		if p := b.must("https://a.test/x"); p.URL().String() != "https://a.test/robots.txt" {
			t.Errorf("begins anew, not with %v", p.URL())
		}
	})
}

func TestP3ABegunRequestIsNeverTakenBack(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		p := b.must("https://a.test/")
		g, _ := p.Redeem()
		if err := g.Begin(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Hour)
		b.wait("https://a.test/", someAddr)
	})
}

func TestP1APermitEndsWithTheRulesItWasJudgedBy(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		p := b.must("https://a.test/")
		b.send(p, 0, Reply{Status: 200, Header: http.Header{"Cache-Control": {"max-age=60"}}})
		time.Sleep(50 * time.Second)
		p = b.must("https://a.test/")
		if got := time.Until(p.Expires()); got != 10*time.Second {
			t.Errorf("expires in %v, the rules in 10s", got)
		}
	})
	in(t, func(t *testing.T) {
		end := time.Now().Add(10 * time.Second)
		b := open(t, Config{Overrides: []Override{{Origin: "https://a.test", Skip: true, Reason: "x", Until: end}}})
		if p := b.must("https://a.test/"); !p.Expires().Equal(end) {
			t.Errorf("expires %v, the override %v", p.Expires(), end)
		}
	})
}

func TestP1RulesAgeFromTheEndOfTheirAnswer(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		p := b.must("https://a.test/")
		g, _ := p.Redeem()
		if err := g.Begin(); err != nil {
			t.Fatal(err)
		}
		ended := time.Now()
		time.Sleep(time.Minute)
		b.gate.Report(p, Reply{Status: 404, Ended: ended})
		if got := b.gate.Origin(b.url("https://a.test/")).Expires; !got.Equal(ended.Add(24 * time.Hour)) {
			t.Errorf("expires %v after the answer", got.Sub(ended))
		}
	})
}

func TestP2APageCannotPassForRobots(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.ready("https://a.test/", "User-agent: *\nDisallow: /no\n")
		u := b.url("https://a.test/upload")
		p, err := b.gate.Admit(Request{URL: u, Next: u, Addr: someAddr, Purpose: Robots})
		if err != nil || p.Purpose() != Page {
			t.Fatal(p.Purpose(), err)
		}
		b.send(p, 0, Reply{Status: 200, Body: []byte("User-agent: *\nAllow: /\n")})
		b.denied("https://a.test/no")
	})
}

func TestP2AnAddressIsNeeded(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		for _, a := range []Request{{}, {URL: b.url("https://a.test/")}, {Addr: someAddr}} {
			if _, err := b.gate.Admit(a); !errors.Is(err, ErrRequest) {
				t.Errorf("%+v: %v", a, err)
			}
		}
		b.gate.Failed(weburl.URL{}, weburl.URL{}, nil)
		if !b.gate.Next(weburl.URL{}).IsZero() || b.gate.Origin(weburl.URL{}).Known {
			t.Error("the zero URL is nobody's")
		}
	})
}

func TestP5TwoOriginsOfOneHostKeepBothTheirWishes(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.ready("http://a.test:8080/", "User-agent: *\nCrawl-delay: 5\n")
		b.ready("https://a.test:8080/", "User-agent: *\nDisallow: /x\n")
		if got := time.Until(b.send(b.must("https://a.test:8080/"), 0, Reply{Status: 200})); got != 5*time.Second {
			t.Errorf("waits %v: one host, the longer wish", got)
		}
	})
	in(t, func(t *testing.T) {
		b := open(t, Config{Overrides: []Override{{Origin: "https://a.test:8080", Body: "User-agent: *\nCrawl-delay: 9", Reason: "x"}}})
		b.ready("http://a.test:8080/", "User-agent: *\nCrawl-delay: 5\n")
		time.Sleep(time.Until(b.wait("https://a.test:8080/", someAddr).Until))
		if got := time.Until(b.send(b.must("https://a.test:8080/"), 0, Reply{Status: 200})); got != 9*time.Second {
			t.Errorf("waits %v", got)
		}
	})
}

func TestAnOverridesCrawlDelayThatIsTooLongEndsTheHostAtOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{Overrides: []Override{{Origin: "https://a.test", Body: "User-agent: *\nCrawl-delay: 3600", Reason: "x"}}})
		if d := b.denied("https://a.test/"); d.Reason != ReasonCrawlDelay {
			t.Error(d)
		}
	})
}

func TestP5LatencyIsMeasuredAsTheLedgerHasIt(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{Ledger: slow{}})
		b.ready("https://a.test/", "")
		if got := time.Until(b.send(b.must("https://a.test/"), 3*time.Second, Reply{Status: 200})); got != 4*time.Second {
			t.Errorf("waits %v after 1 s of ledger and 3 s of answer", got)
		}
	})
}

// slow is a ledger on a slow disk.
type slow struct{}

func (slow) Write(b []byte) (int, error) {
	if strings.Contains(string(b), `"start"`) {
		time.Sleep(time.Second)
	}
	return len(b), nil
}

func TestAnAnswerThatBreaksOffIsAFailure(t *testing.T) {
	for cut, failures := range map[string]int{CutShort: 1, CutIdle: 1, CutByLength: 0, "unwanted": 0, "": 0} {
		in(t, func(t *testing.T) {
			b := open(t, Config{})
			b.ready("https://a.test/", "")
			b.send(b.must("https://a.test/"), 0, Reply{Status: 200, Truncated: cut})
			if got := b.gate.Host("a.test:443").Failures; got != failures {
				t.Errorf("%q: %d failures", cut, got)
			}
		})
	}
}

func TestP7OddRetryAfters(t *testing.T) {
	date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, c := range []struct {
		name   string
		header func() http.Header
		want   time.Duration
	}{
		{"more seconds than a number holds", func() http.Header { return http.Header{"Retry-After": {"99999999999999999999999"}} }, (1 << 32) * time.Second},
		{"of several the longest", func() http.Header { return http.Header{"Retry-After": {"5", "70", "6"}} }, 70 * time.Second},
		{"a server's clock years behind", func() http.Header {
			return http.Header{"Retry-After": {date(120*time.Second - 9000*time.Hour)}, "Date": {date(-9000 * time.Hour)}}
		}, 2 * time.Minute},
		{"a server's clock ahead", func() http.Header {
			return http.Header{"Retry-After": {date(time.Hour + time.Minute)}, "Date": {date(time.Hour)}}
		}, time.Hour + time.Minute},
		{"nonsense", func() http.Header { return http.Header{"Retry-After": {"soon"}} }, time.Second},
		{"negative", func() http.Header { return http.Header{"Retry-After": {"-60"}} }, time.Second},
		{"past", func() http.Header { return http.Header{"Retry-After": {date(-time.Hour)}} }, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := open(t, Config{MaxRetryAfter: None})
				b.ready("https://a.test/", "")
				if got := time.Until(b.send(b.must("https://a.test/"), 0, Reply{Status: 503, Header: c.header()})); got != c.want {
					t.Errorf("waits %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestP8ACopyTooOldIsGivenUpLikeNone(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.rules("https://a.test/", "User-agent: *\nDisallow: /no\n")
		start := time.Now()
		time.Sleep(24 * time.Hour)
		for {
			p, err := b.admit("https://a.test/", someAddr)
			var w *NotYet
			var d *Denied
			switch {
			case errors.As(err, &w):
				time.Sleep(time.Until(w.Until))
			case errors.As(err, &d):
				if age := time.Since(start); age < 30*24*time.Hour || age > 31*24*time.Hour || d.Reason != ReasonRobotsUnreachable {
					t.Errorf("given up after %v: %v", age, d)
				}
				return
			case p.Purpose() == Page:
				if time.Since(start) >= 30*24*time.Hour {
					t.Fatal("a copy older than 30 days served")
				}
				b.gate.Report(p, Reply{Aborted: true})
				time.Sleep(10 * time.Minute)
			default:
				b.send(p, 0, Reply{Status: 503})
			}
		}
	})
}

func TestChangedRulesApplyToWhatIsQueued(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.ready("https://a.test/x", "")
		b.gate.Report(b.must("https://a.test/x"), Reply{})
		time.Sleep(25 * time.Hour)
		b.ready("https://a.test/x", "User-agent: *\nDisallow: /x\n")
		b.denied("https://a.test/x")
	})
}

func TestARobotsHopToAHostThatOptedOutIsNotMade(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{OptOut: func(h string) bool { return h == "b.test" }})
		b.send(b.must("https://a.test/x"), 0, redirect("https://b.test/r"))
		if d := b.denied("https://a.test/x"); d.Reason != ReasonOptOut {
			t.Error(d)
		}
	})
}

func TestARobotsHopToAHostThatIsGoneIsNotMade(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.rules("https://b.test/", "User-agent: *\nCrawl-delay: 3600\n")
		time.Sleep(time.Second)
		b.send(b.must2("https://a.test/x", "192.0.2.2"), 0, redirect("https://b.test/r"))
		time.Sleep(time.Hour)
		if d := b.denied("https://a.test/x"); d.Reason != ReasonRobotsUnreachable {
			t.Error(d)
		}
	})
}

func TestRatesAndFactorsThatAreNoNumbers(t *testing.T) {
	for _, c := range []Config{
		{Rate: math.NaN()}, {Rate: math.Inf(1)}, {Rate: 1e-300}, {DelayFactor: math.Inf(1)}, {DelayFactor: math.NaN()}, {DelayFactor: -0.5},
		{MaxRulesBytes: -2}, {Delay: -2}, {MaxFailures: -2},
	} {
		c.Identity = identity()
		if _, err := NewGate(c); err == nil {
			t.Errorf("%+v accepted", c)
		}
	}
	in(t, func(t *testing.T) {
		b := open(t, Config{DelayFactor: 1e300})
		b.ready("https://a.test/", "")
		if got := time.Until(b.send(b.must("https://a.test/"), time.Second, Reply{Status: 200})); got != DefaultMaxDelay {
			t.Errorf("waits %v", got)
		}
	})
}

func TestHostsAreFoundUnderTheirKeys(t *testing.T) {
	g := open(t, Config{}).gate
	for _, raw := range []string{
		"http://a.test/", "https://a.test/", "http://a.test:443/", "https://a.test:80/", "http://[::1]/", "https://[2001:db8::1]:8443/x:1",
		"http://192.0.2.7/", "https://" + strings.Repeat("a.", 120) + "test/",
	} {
		u, err := weburl.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		h := g.host(u)
		if g.hosts[u.Host()] != h || g.hosts.find(u) != h || len(g.hosts) == 0 {
			t.Errorf("%s: not under %s", raw, u.Host())
		}
	}
}

func TestP6AddressesAreOneInEitherForm(t *testing.T) {
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		b.must("https://a.test/")
		_, err := b.admit("https://b.test/", netip.MustParseAddr("::ffff:192.0.2.1"))
		var w *NotYet
		if !errors.As(err, &w) {
			t.Error(err)
		}
	})
}

func TestLintsOfOddAnswers(t *testing.T) {
	for _, c := range []struct {
		name string
		r    Reply
		want string
	}{
		{"plain", Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /x\n")}, ""},
		{"missing", Reply{Status: 404}, ""},
		{"forbidden", Reply{Status: 403}, "forbidden"},
		{"HTML", Reply{Status: 200, Body: []byte("<!DOCTYPE html><html><body>home</body></html>")}, "html"},
		{"nowhere", Reply{Status: 302}, "redirect_nowhere"},
		{"nowhere to go", redirect("mailto:x@y.z"), "redirect_nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := open(t, Config{})
				b.send(b.must("https://a.test/"), 0, c.r)
				var got []string
				for _, l := range b.gate.Origin(b.url("https://a.test/")).Lints() {
					got = append(got, string(l.Code))
				}
				if c.want == "" && len(got) > 0 || c.want != "" && !slices.Contains(got, c.want) {
					t.Errorf("lints %q, want %q", got, c.want)
				}
			})
		})
	}
	in(t, func(t *testing.T) {
		b := open(t, Config{})
		for range 6 {
			time.Sleep(time.Until(b.send(b.must("https://a.test/"), 0, redirect("/robots.txt"))))
		}
		if l := b.gate.Origin(b.url("https://a.test/")).Lints(); len(l) != 1 || l[0].Code != LintRedirectLimit {
			t.Errorf("lints %v", l)
		}
	})
}
