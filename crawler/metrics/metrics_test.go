package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/metrics"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/long"
)

// names are the metrics of this package. Renaming one breaks dashboards and alerts.
var names = []string{
	"amble_build_info", "amble_commit_seconds", "amble_connections_total", "amble_early_requests_total", "amble_end_seconds", "amble_hosts",
	"amble_last_answer_timestamp_seconds", "amble_pause_ratio", "amble_pause_seconds_total", "amble_received_bytes_total",
	"amble_request_seconds", "amble_requests_total", "amble_urls", "amble_visits_total",
}

// text returns the output of m's handler.
func text(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if rec.Code != http.StatusOK {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

// crawled crawls n hosts, some of them failing if faulty is set, and returns the metrics.
func crawled(t *testing.T, w *crawltest.Web, n int, faulty bool) *metrics.Metrics {
	t.Helper()
	m, seeds := metrics.New(), []string(nil)
	for i := range n {
		s := w.Site(fmt.Sprintf("http://h%d.example", i))
		home := s.Page("/", "<a href=/b>b</a><a href=/none>none</a>")
		if faulty {
			home.Fault(crawltest.Fail(503).First(i % 2))
			s.Page("/b", "text").Fault(crawltest.Reset().First(i % 3))
		}
		seeds = append(seeds, s.URL("/"))
	}
	c := simulated(w)
	c.Trace, c.Limits.Pages = m.Trace(), crawler.Unlimited
	look := plan.NewOutlook(0)
	look.Trace(c.Trace)
	x, err := crawler.New(c)
	if err != nil {
		t.Fatal(err)
	}
	m.Watch(x, look)
	m.Audited(func() metrics.Audit {
		return metrics.Audit{
			Early: 1, Pauses: map[string]time.Duration{"delay": time.Second, "no clause": 2 * time.Second},
			Ratios: map[float64]uint64{1: 0, 1.001: 2, 1.01: 3, 1.1: 3, 2: 3, 5: 3}, Count: 4, Sum: 12,
		}
	})
	if _, err := x.Run(t.Context(), seeds...); err != nil {
		t.Fatal(err)
	}
	return m
}

func simulated(w *crawltest.Web) crawler.Config {
	const contact = "https://lab.university.edu/crawl"
	w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact})
	c := crawler.Config{Agent: "testbot/1.0", Contact: contact}
	c.Fetch.DialContext, c.Fetch.Resolver, c.Fetch.RootCAs = w.DialContext, w, w.RootCAs()
	c.Fetch.AllowAddresses = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	return c
}

// TestNames: the metrics have exactly these names, pass Prometheus's own lint, and count what the servers saw.
func TestNames(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		m := crawled(t, w, 6, true)
		out := text(t, m)
		var got []string
		for _, l := range regexp.MustCompile(`(?m)^# TYPE (amble_\S+)`).FindAllStringSubmatch(out, -1) {
			got = append(got, l[1])
		}
		slices.Sort(got)
		if !slices.Equal(got, names) {
			t.Errorf("%q\nwant\n%q", got, names)
		}
		problems, err := promlint.New(strings.NewReader(out)).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("%v %v", problems, err)
		}
		requests := w.Requests()
		classes, bytes := map[string]int{}, int64(0)
		for _, r := range requests {
			purpose, class := "page", fmt.Sprintf("%dxx", r.Status/100)
			if strings.HasSuffix(r.URL, "/robots.txt") {
				purpose = "robots"
			}
			if !r.Complete {
				class = "error"
			} else {
				bytes += r.Bytes
			}
			classes[fmt.Sprintf(`amble_requests_total{class=%q,purpose=%q}`, class, purpose)]++
		}
		for series, n := range classes {
			has(t, out, series, float64(n))
		}
		has(t, out, "amble_received_bytes_total", float64(bytes))
		has(t, out, `amble_visits_total{outcome="fetched",reason=""}`, 11)
		has(t, out, `amble_visits_total{outcome="failed",reason="reset"}`, 1)
		has(t, out, "amble_early_requests_total", 1)
		has(t, out, `amble_pause_seconds_total{clause="delay"}`, 1)
		has(t, out, `amble_pause_seconds_total{clause="other"}`, 2)
		has(t, out, `amble_pause_ratio_bucket{le="1"}`, 0)
		has(t, out, `amble_pause_ratio_bucket{le="1.01"}`, 3)
		has(t, out, "amble_pause_ratio_count", 4)
		if strings.Contains(out, "amble_last_answer_timestamp_seconds 0") {
			t.Error("no answer has a time")
		}
	})
}

func has(t *testing.T, out, series string, want float64) {
	t.Helper()
	for line := range strings.Lines(out) {
		var got float64
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			if _, err := fmt.Sscan(value, &got); err != nil || got != want {
				t.Errorf("%s is %s, want %v", series, strings.TrimSpace(value), want)
			}
			return
		}
	}
	t.Errorf("there is no %s", series)
}

// TestCardinality: thousands of hosts have the same time series as ten, and each of their requests is counted once.
func TestCardinality(t *testing.T) {
	var series [][]string
	for _, n := range []int{10, long.N(2000, 10_000)} {
		if n > 1000 && testing.Short() {
			n = 1000
		}
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			out := text(t, crawled(t, w, n, false))
			has(t, out, `amble_requests_total{class="4xx",purpose="robots"}`, float64(n))
			has(t, out, `amble_request_seconds_count{purpose="page"}`, float64(3*n))
			has(t, out, `amble_visits_total{outcome="fetched",reason=""}`, float64(3*n))
			series = append(series, regexp.MustCompile(`(?m)^amble_\S+`).FindAllString(out, -1))
		})
	}
	if !slices.Equal(series[0], series[1]) || len(series[0]) > 200 {
		t.Errorf("%d series for 10 hosts, %d for thousands: %q", len(series[0]), len(series[1]), slices.DeleteFunc(series[1], func(s string) bool { return slices.Contains(series[0], s) }))
	}
}

// forgetful is a queue that hands out no more URLs after a given time.
type forgetful struct {
	*frontier.Memory
	after time.Time
}

func (f *forgetful) Claim(ctx context.Context) (frontier.Claim, error) {
	if time.Now().Before(f.after) {
		return f.Memory.Claim(ctx)
	}
	<-ctx.Done()
	return frontier.Claim{}, ctx.Err()
}

// TestReady: a crawl that waits for pauses, or is paused, is ready. A crawl that is stuck is not ready, and says so.
func TestReady(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		m, c := metrics.New(), simulated(w)
		s := w.Site("http://a.example")
		s.Page("/", "<a href=/b>b</a><a href=/c>c</a>")
		s.Page("/b", "").Fault(crawltest.RetryAfter(503, 4*time.Minute).First(1))
		q := &forgetful{frontier.NewMemory(frontier.MemoryConfig{}), time.Now().Add(5 * time.Minute)}
		c.Trace, c.Frontier, c.Concurrency = m.Trace(), q, 1
		x, err := crawler.New(c)
		if err != nil {
			t.Fatal(err)
		}
		ready := func() string {
			rec := httptest.NewRecorder()
			metrics.HealthHandler(func() error { return m.Ready(time.Now(), 0) }).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			body, _ := io.ReadAll(rec.Body)
			return fmt.Sprint(rec.Code, " ", strings.TrimSpace(string(body)))
		}
		if got := ready(); got != "200 ok" {
			t.Errorf("before the crawl: %s", got)
		}
		m.Watch(x, nil)
		check := func(at time.Duration, want string) {
			defer time.AfterFunc(at, func() {
				if got := ready(); got != want {
					t.Errorf("after %v: %s, want %s", at, got, want)
				}
			})
		}
		check(2*time.Minute, "200 ok") // the crawl waits for a Retry-After
		check(3*time.Minute, "200 ok")
		check(5*time.Minute+30*time.Second, "200 ok") // stuck, but only briefly
		check(8*time.Minute, "503 stuck: 1 URL left, but since 2000-01-01T00:04:02Z nothing has been in flight and nothing is owed to any host")
		time.AfterFunc(9*time.Minute, x.Pause)
		check(10*time.Minute, "200 ok")
		time.AfterFunc(11*time.Minute, x.Drain)
		if _, err := x.Run(t.Context(), s.URL("/")); err != nil {
			t.Error(err)
		}
		m.Trace().Committed(crawler.Commit{Err: errors.New("disk full")})
		if got := ready(); got != "503 a commit failed: disk full" {
			t.Error(got)
		}
	})
}
