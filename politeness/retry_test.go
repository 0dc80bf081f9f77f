package politeness

import (
	"errors"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

func TestP7RetryAfterIsObeyedInFull(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		header func(now time.Time) http.Header
		want   time.Duration
	}{
		{"seconds", 429, func(time.Time) http.Header { return http.Header{"Retry-After": {"90"}} }, 90 * time.Second},
		{"date", 503, func(now time.Time) http.Header {
			return http.Header{"Retry-After": {now.Add(2 * time.Minute).UTC().Format(http.TimeFormat)}}
		}, 2 * time.Minute},
		{"date of a slow clock", 503, func(now time.Time) http.Header {
			return http.Header{
				"Retry-After": {now.Add(-58 * time.Minute).UTC().Format(http.TimeFormat)},
				"Date":        {now.Add(-time.Hour).UTC().Format(http.TimeFormat)},
			}
		}, 2 * time.Minute},
		{"200", 200, func(time.Time) http.Header { return http.Header{"Retry-After": {"90"}} }, 90 * time.Second},
		{"301", 301, func(time.Time) http.Header { return http.Header{"Retry-After": {"90"}} }, 90 * time.Second},
		{"402", 402, func(time.Time) http.Header { return http.Header{"Retry-After": {"90"}} }, 90 * time.Second},
		{"403", 403, func(time.Time) http.Header { return http.Header{"Retry-After": {"90"}} }, 90 * time.Second},
		{"404", 404, func(time.Time) http.Header { return http.Header{"Retry-After": {"90"}} }, 90 * time.Second},
		{"500", 500, func(time.Time) http.Header { return http.Header{"Retry-After": {"90"}} }, 90 * time.Second},
		{"529", 529, func(time.Time) http.Header { return http.Header{"Retry-After": {"90"}} }, 90 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newClient(t, Config{})
				time.Sleep(time.Until(b.rules("https://a.test/", "")))
				ready := b.send(b.must("https://a.test/"), 0, Reply{Status: c.status, Header: c.header(time.Now())})
				if got := time.Until(ready); got != c.want {
					t.Errorf("waits %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestP7ARobotsHopHoldsTheHostThatAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.send(b.must("https://a.test/x"), 0, Reply{Status: 302, Header: http.Header{"Location": {"https://b.test/r"}}})
		p := b.mustAt("https://a.test/x", "192.0.2.2")
		b.send(p, 0, Reply{Status: 429, Header: http.Header{"Retry-After": {"60"}}})
		_, err := b.admit("https://b.test/", netip.MustParseAddr("192.0.2.2"))
		var w *NotYet
		if !errors.As(err, &w) || time.Until(w.Until) != time.Minute || w.Clauses[0].Name != ledger.ClauseRetryAfter {
			t.Errorf("got %v", err)
		}
	})
}

func TestP7TooLongIsGivenUpNotClamped(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		time.Sleep(time.Until(b.rules("https://a.test/", "")))
		b.send(b.must("https://a.test/"), 0, Reply{Status: 429, Header: http.Header{"Retry-After": {"301"}}})
		if d := b.denied("https://a.test/"); d.Reason != ReasonRetryAfter || !d.Deferred() {
			t.Errorf("got %v", d)
		}
	})
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{MaxRetryAfter: Forever})
		time.Sleep(time.Until(b.rules("https://a.test/", "")))
		ready := b.send(b.must("https://a.test/"), 0, Reply{Status: 429, Header: http.Header{"Retry-After": {"99999999999999"}}})
		if ready.Before(time.Now().AddDate(100, 0, 0)) {
			t.Errorf("ready at %v", ready)
		}
	})
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
			inBubble(t, func(t *testing.T) {
				b := newClient(t, Config{MaxRetryAfter: Forever})
				b.ready("https://a.test/", "")
				if got := time.Until(b.send(b.must("https://a.test/"), 0, Reply{Status: 503, Header: c.header()})); got != c.want {
					t.Errorf("waits %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestP7ARetryAfterStopsWhatIsAboutToBeSent(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{OwnHosts: func(string) int { return 2 }})
		b.ready("https://a.test/", "")
		time.Sleep(DefaultDelay)
		asked, waits := b.must("https://a.test/1"), b.must("https://a.test/2")
		g, err := waits.Redeem()
		if err != nil {
			t.Fatal(err)
		}
		b.send(asked, time.Second, Reply{Status: 429, Header: http.Header{"Retry-After": {"20"}}})
		if err := g.Begin(); !errors.Is(err, ErrExpired) {
			t.Errorf("a request left before Retry-After was over: %v", err)
		}
	})
}

// TestRetryAfterOnRedirectDelaysTarget: if a redirect has a Retry-After, its target host waits for that time, and the start line of the
// next request names the reason. The same holds if a robots.txt is redirected. If Retry-After exceeds the limit of the crawl, the target is
// not requested, and nothing waits.
func TestRetryAfterOnRedirectDelaysTarget(t *testing.T) {
	const other = "192.0.2.2"
	to := func(url, wait string) Reply {
		return Reply{Status: 302, Header: http.Header{"Location": {url}, "Retry-After": {wait}}}
	}
	waits := func(t *testing.T, b *client, url string) (time.Duration, string) {
		t.Helper()
		_, err := b.admit(url, netip.MustParseAddr(other))
		var w *NotYet
		if !errors.As(err, &w) {
			return 0, ""
		}
		return time.Until(w.Until), w.Clauses[0].Name
	}
	for _, c := range []struct {
		wait   string
		want   time.Duration
		clause string
	}{{"60", time.Minute, "redirect_wait"}, {"300", 5 * time.Minute, "redirect_wait"}, {"301", 0, ""}, {"soon", 0, ""}, {"0", 0, ""}} {
		inBubble(t, func(t *testing.T) {
			b := newClient(t, Config{})
			b.ready("https://a.test/", "")
			b.send(b.must("https://a.test/"), 0, to("//b.test/target", c.wait))
			if d, clause := waits(t, b, "https://b.test/"); d != c.want || clause != c.clause {
				t.Errorf("Retry-After %s: the target waits %v for %q", c.wait, d, clause)
			}
			if left := b.gate.cfg.LeavesTarget(http.Header{"Retry-After": {c.wait}}, time.Now()); left != (c.wait == "301") {
				t.Errorf("Retry-After %s: the target is left: %v", c.wait, left)
			}
			if c.want > 0 {
				time.Sleep(c.want)
				p := b.mustAt("https://b.test/", other)
				if got := p.Clauses()[0]; got.Name != c.clause || !got.Until.Equal(time.Now()) {
					t.Errorf("the start line names %v", got)
				}
			}
		})
	}
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.send(b.must("https://a.test/x"), 0, to("https://b.test/r", "60"))
		if d, clause := waits(t, b, "https://a.test/x"); d != time.Minute || clause != "redirect_wait" {
			t.Errorf("the hop of a robots.txt waits %v for %q", d, clause)
		}
	})
	inBubble(t, func(t *testing.T) { // a request to the target that is about to be sent is stopped
		b := newClient(t, Config{})
		b.ready("https://a.test/", "")
		b.answerAt("https://b.test/", other, Reply{Status: 404})
		time.Sleep(time.Minute)
		p, q := b.must("https://a.test/"), b.mustAt("https://b.test/", other)
		grant, err := q.Redeem()
		if err != nil {
			t.Fatal(err)
		}
		b.send(p, 0, to("https://b.test/target", "60"))
		if err := grant.Begin(); !errors.Is(err, ErrExpired) {
			t.Errorf("a request left for the target: %v", err)
		}
	})
}

// TestUsedUpRateLimitRestsHost: if a RateLimit field has an item with r=0 (no requests left), its host pauses for the t seconds of the
// item, whatever the status.
func TestUsedUpRateLimitRestsHost(t *testing.T) {
	for _, c := range []struct {
		fields []string
		want   time.Duration // 0: the usual delay
	}{
		{[]string{`"default";r=0;t=60`}, time.Minute},
		{[]string{`"default";r=50;t=60`}, 0},
		{[]string{`"default";r=0`}, 0},
		{[]string{`"default";r=0;t=0`}, 0},
		{[]string{`"day";r=7;t=200,"minute";r=0;t=30`}, 30 * time.Second},
		{[]string{`"minute";r=0;t=30`, `"hour";r=0;t=90`}, 90 * time.Second},
		{[]string{`"odd, \"name;r=1";r=0;t=70;pk=:dGVzdA==:`}, 70 * time.Second},
		{[]string{`token;t=80;r=0`}, 80 * time.Second},
		{[]string{`"a";r=5;r=0;t=20`}, 20 * time.Second},
		{[]string{`"a";r=0.0;t=20`, `"a";r="0";t=20`, `"a";r=0;t=-20`, `"a";r=0;t=20.5`, `;r=0;t=20`, `"a;r=0;t=20`, `limit=10, remaining=0, reset=20`, ``, `,`}, 0},
	} {
		for _, status := range []int{200, 404, 429, 301} {
			inBubble(t, func(t *testing.T) {
				b := newClient(t, Config{})
				b.ready("https://a.test/", "")
				header := http.Header{}
				for _, f := range c.fields {
					header.Add("RateLimit", f)
				}
				ready := b.send(b.must("https://a.test/"), 0, Reply{Status: status, Header: header})
				if got := time.Until(ready); got != max(c.want, time.Second) {
					t.Errorf("%q, status %d: waits %v, want %v", c.fields, status, got, c.want)
				}
				if info := b.gate.Host("a.test:443"); c.want > 0 && info.Waits != "rate_limit" {
					t.Errorf("%q: waits for %q", c.fields, info.Waits)
				}
			})
		}
	}
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.ready("https://a.test/", "")
		b.send(b.must("https://a.test/"), 0, Reply{Status: 200, Header: http.Header{"Ratelimit": {`"day";r=0;t=301`}}})
		if d := b.denied("https://a.test/"); d.Reason != ReasonRetryAfter || !d.Deferred() {
			t.Errorf("got %v", d)
		}
	})
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		b.send(b.must("https://a.test/x"), 0, Reply{Status: 200, Header: http.Header{"Ratelimit": {`"x";r=0;t=50`}}})
		if info := b.gate.Host("a.test:443"); info.Waits != "rate_limit" || time.Until(info.NotBefore) != 50*time.Second {
			t.Errorf("after the robots.txt: %+v", info)
		}
	})
}
