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
		b := newClient(t, Config{MaxRetryAfter: None})
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
				b := newClient(t, Config{MaxRetryAfter: None})
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
