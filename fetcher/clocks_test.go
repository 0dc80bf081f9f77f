package fetcher_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// TestClocksOfOthers: without the clocks that other processes share nothing is requested; they are given back with the
// host's pause, at once if nothing was admitted; a request whose clock is lost is broken off.
func TestClocksOfOthers(t *testing.T) {
	withClient(t, func(t *testing.T, w *crawltest.Web, c *fetcher.Client) {
		s := w.Site("http://a.example").CrawlDelay(7 * time.Second).Latency(2 * time.Second)
		s.Robots("User-agent: *\nCrawl-delay: 7\n")
		s.Page("/", "hello")
		u := url(t, s.URL("/"))
		var taken []string
		var given []time.Duration
		var not error
		ctx, lose := context.WithCancel(t.Context())
		until := time.Time{}
		c.Clocks = func(_ context.Context, u weburl.URL, addr netip.Addr) (*fetcher.Clock, error) {
			if not != nil {
				return nil, not
			}
			taken = append(taken, u.Path()+" "+addr.String())
			return &fetcher.Clock{Context: ctx, Until: until, Done: func(rest time.Duration) { given = append(given, rest) }}, nil
		}
		try := func() (*fetcher.Answer, error) { return c.Try(t.Context(), politeness.Request{URL: u}) }
		not = &politeness.NotYet{Until: time.Now().Add(time.Hour)}
		if _, err := try(); !errors.Is(err, not) || len(w.Requests()) != 0 {
			t.Fatalf("%v, %d requests; want the clocks' error and none", err, len(w.Requests()))
		}
		not = nil
		if a, err := try(); err != nil || a.Permit.Purpose() != politeness.Robots {
			t.Fatal(err)
		}
		if _, err := try(); err == nil {
			t.Fatal("the host was requested twice")
		}
		if len(given) != 2 || given[0] != 7*time.Second || given[1] != 0 {
			t.Errorf("given back to rest %v, want 7s, and 0 when nothing was admitted", given)
		}
		if want := "/robots.txt " + s.Addr().String(); taken[0] != want {
			t.Errorf("taken for %q, want %q", taken[0], want)
		}
		time.Sleep(8 * time.Second)
		until = time.Now().Add(-time.Nanosecond)
		if a, err := try(); err == nil && a.Err == nil {
			t.Error("the request began after the clock's time")
		}
		time.Sleep(8 * time.Second)
		until = time.Time{}
		time.AfterFunc(time.Second, lose)
		if a, err := try(); err != nil || a.Err == nil || !a.Aborted {
			t.Errorf("a request whose clock was lost: %+v, %v", a, err)
		}
	})
}
