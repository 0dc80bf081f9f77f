package live

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/metrics"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/politeness/audit"
)

const contact = "https://lab.university.edu/crawl"

// watching represents a crawl of a simulated web in virtual time, with its live page. Requests for the page need no connection.
type watching struct {
	t       *testing.T
	web     *crawltest.Web
	live    *Live
	guard   *guard
	crawler *crawler.Crawler
	handler http.Handler
	ended   chan error
}

// watch begins a crawl, which ends with the test at the latest.
func watch(t *testing.T, w *crawltest.Web, change func(c *crawler.Config, l *Config), seeds ...string) *watching {
	t.Helper()
	w.Expect(crawltest.Expect{Delay: time.Second, PerAddress: true, Agent: "testbot", Contact: contact})
	o := &Opening{server: &Server{guard: newGuard("127.0.0.1:0", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4000})}, metrics: metrics.New()}
	queue := frontier.NewMemory(frontier.MemoryConfig{})
	c := crawler.Config{Agent: "testbot/1.0", Contact: contact, Frontier: queue, Trace: &crawler.Trace{}}
	c.Fetch.DialContext, c.Fetch.Resolver, c.Fetch.RootCAs = w.DialContext, w, w.RootCAs()
	c.Fetch.AllowAddresses = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	l := Config{Seeds: seeds, Agent: c.Agent}
	if change != nil {
		change(&c, &l)
	}
	look := plan.NewOutlook(0)
	look.Trace(c.Trace)
	o.feed = new(Feed)
	o.configure(&c)
	x, err := crawler.New(c)
	if err != nil {
		t.Fatal(err)
	}
	look.Watch(queue, x.Gate())
	l.Crawler, l.Outlook, l.Control, l.Limits = x, look, Over{x}, c.Limits
	l.Source, l.Metrics = o.feed, o.metrics
	l.Digest = digest.New(digest.Config{Audit: audit.Config{Product: "testbot", UserAgent: x.Gate().UserAgent(), Contact: contact, Delay: 1}})
	o.metrics.Watch(x, look)
	o.live = New(l)
	ctx, cancel := context.WithCancel(t.Context())
	h := &watching{t: t, web: w, live: o.live, guard: o.server.guard, crawler: x, handler: o.server.guard.protect(o.live.handler()), ended: make(chan error, 1)}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		o.live.Run(ctx)
	}()
	go func() {
		_, err := x.Run(ctx, seeds...)
		h.ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		<-h.ended
		<-stopped
		_ = queue.Close()
	})
	return h
}

// do makes a request of the page with a valid token. If with is not nil, it changes the request before it is sent.
func (h *watching) do(method, path, body string, with func(r *http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:4000"
	r.Header.Set("Authorization", "Bearer "+h.guard.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if with != nil {
		with(r)
	}
	rec := httptest.NewRecorder()
	h.handler.ServeHTTP(rec, r)
	return rec
}

// page returns the current HTML of the page.
func (h *watching) page() string {
	h.t.Helper()
	rec := h.do("GET", "/", "", nil)
	if rec.Code != http.StatusOK {
		h.t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

// since returns the number of requests to a host, or to any host if host is "", from the time d after the start.
func (h *watching) since(d time.Duration, host string) (n int) {
	for _, r := range h.web.Requests() {
		if (host == "" || r.Host == host) && !r.Start.Before(h.web.Start().Add(d)) {
			n++
		}
	}
	return n
}

// endless makes a site whose home page links to n pages.
func endless(w *crawltest.Web, origin string, n int) *crawltest.Site {
	s := w.Site(origin)
	var links strings.Builder
	for i := range n {
		fmt.Fprintf(&links, "<a href=/%d>page</a>", i)
		s.Page(fmt.Sprintf("/%d", i), "text")
	}
	s.Page("/", links.String())
	return s
}
