package crawltest_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/html"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run the random web of this seed alone")
	seedsFlag = flag.Uint64("seeds", uint64(long.Seeds(20, 40)), "how many random webs to crawl")
)

const agent = "simplebot"

// simple is a minimal crawler that keeps every rule. It sends one request at a time.
type simple struct {
	w     *crawltest.Web
	c     *http.Client
	delay time.Duration
	queue []weburl.URL
	seen  map[weburl.Key]bool
	tries map[weburl.Key]int
	rules map[string]*robots.Group
	bad   map[string]int // failed attempts at a robots.txt, by origin
	ready map[string]time.Time
	gone  map[string]bool
	wish  map[string]time.Duration // Crawl-delay by host
}

func newSimple(w *crawltest.Web, delay time.Duration) *simple {
	s := &simple{
		w: w, delay: delay, seen: make(map[weburl.Key]bool), tries: make(map[weburl.Key]int),
		rules: make(map[string]*robots.Group), bad: make(map[string]int), ready: make(map[string]time.Time),
		wish: make(map[string]time.Duration), gone: make(map[string]bool),
	}
	s.c = &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			DialContext: s.dial, TLSClientConfig: &tls.Config{RootCAs: w.RootCAs()}, DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s
}

// dial has a timeout of ten seconds, because net/http does not cancel a connection attempt with its request.
func (s *simple) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	host, port, _ := net.SplitHostPort(addr)
	ips, err := s.w.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	return s.w.DialContext(ctx, network, net.JoinHostPort(ips[0].String(), port))
}

func (s *simple) run(seeds ...string) {
	for _, raw := range seeds {
		u, _ := weburl.Parse(raw)
		s.add(u, nil)
	}
	for len(s.queue) > 0 {
		u := s.queue[0]
		s.queue = s.queue[1:]
		s.visit(u)
	}
}

func (s *simple) add(u weburl.URL, err error) {
	if err == nil && !s.seen[u.Key()] {
		s.seen[u.Key()] = true
		s.queue = append(s.queue, u)
	}
}

func (s *simple) visit(u weburl.URL) {
	if s.gone[u.Host()] {
		return
	}
	g := s.rules[u.Origin()]
	if g == nil {
		if s.bad[u.Origin()]++; s.bad[u.Origin()] > 8 {
			return
		}
		s.queue = append(s.queue, u)
		s.fetchRobots(u)
		return
	}
	if !g.Test(u.PathQuery()).Allowed {
		return
	}
	resp, body, err := s.get(u)
	if err != nil || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 {
		if s.tries[u.Key()]++; s.tries[u.Key()] < 3 {
			s.queue = append(s.queue, u)
		}
		return
	}
	if to := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && to != "" {
		s.add(u.Resolve(to))
		return
	}
	mt, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && mt == "text/html" && !strings.Contains(resp.Header.Get("X-Robots-Tag"), "nofollow") {
		s.links(u, body)
	}
}

func (s *simple) fetchRobots(u weburl.URL) {
	at := u.RobotsURL()
	for range 6 {
		resp, body, err := s.get(at)
		if err != nil || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 {
			s.hold(u, time.Minute)
			return
		}
		if resp.StatusCode/100 == 3 {
			at, _ = at.Resolve(resp.Header.Get("Location"))
			continue
		}
		if resp.StatusCode != http.StatusOK {
			body = nil
		}
		s.learn(u, body)
		return
	}
	s.learn(u, nil)
}

func (s *simple) learn(u weburl.URL, body []byte) {
	g := robots.Parse(body).For(agent)
	s.rules[u.Origin()] = g
	s.wish[u.Host()], _ = g.CrawlDelay()
	s.hold(u, s.wish[u.Host()])
}

// get requests a URL when its host and address are ready, and marks both busy for the delay afterwards.
func (s *simple) get(u weburl.URL) (*http.Response, []byte, error) {
	addr, err := s.addr(u)
	if err != nil {
		return nil, nil, err
	}
	time.Sleep(time.Until(s.ready[addr]))
	time.Sleep(time.Until(s.ready[u.Host()]))
	req, _ := http.NewRequest(http.MethodGet, u.String(), nil)
	req.Header.Set("User-Agent", agent+"/1.0 (+https://simplebot.example/)")
	resp, err := s.c.Do(req)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	s.ready[addr] = time.Now().Add(s.delay)
	s.hold(u, max(s.delay, s.wish[u.Host()]))
	if resp != nil {
		wait := retryAfter(resp.Header.Get("Retry-After"))
		s.gone[u.Host()] = wait > time.Hour
		s.hold(u, wait)
	}
	return resp, body, err
}

func (s *simple) addr(u weburl.URL) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ips, err := s.w.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return "", err
	}
	return ips[0].String(), nil
}

func (s *simple) hold(u weburl.URL, d time.Duration) {
	if t := time.Now().Add(d); t.After(s.ready[u.Host()]) {
		s.ready[u.Host()] = t
	}
}

func retryAfter(v string) time.Duration {
	if n, err := strconv.Atoi(v); err == nil {
		return time.Duration(n) * time.Second
	}
	at, _ := http.ParseTime(v)
	return time.Until(at)
}

// links queues the targets of <a href>.
func (s *simple) links(u weburl.URL, body []byte) {
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return
	}
	base := u
	var found []string
	for n := range doc.Descendants() {
		attr := func(key string) string {
			for _, a := range n.Attr {
				if a.Key == key {
					return a.Val
				}
			}
			return ""
		}
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "meta" && attr("name") == "robots" && strings.Contains(strings.ToLower(attr("content")), "nofollow"):
			return
		case n.Data == "base":
			base, _ = u.Resolve(attr("href"))
		case n.Data == "a" && attr("href") != "":
			found = append(found, attr("href"))
		}
	}
	for _, href := range found {
		s.add(base.Resolve(href))
	}
}

// TestRandomWebs crawls random webs of every fault level, politely and completely. It compares the requests with those
// that the generator expects.
func TestRandomWebs(t *testing.T) {
	first, last := uint64(1), *seedsFlag
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	for seed := first; seed <= last; seed++ {
		t.Run("seed="+strconv.FormatUint(seed, 10), func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				w.Expect(crawltest.Expect{Delay: time.Second, Agent: agent, Contact: "https://simplebot.example/", PerAddress: true})
				r := w.Random(seed, crawltest.RandomConfig{
					Hosts: 2 + int(seed%6), Agent: agent, HTTPS: seed%2 == 0, Faults: crawltest.FaultLevel(seed % 3),
				})
				s := newSimple(w, time.Second)
				s.run(r.Seeds()...)
				synctest.Wait()
				if *seedFlag != 0 {
					for _, q := range w.Requests() {
						t.Log(q.ID, q.URL, q.Status, q.Start.Sub(w.Start()))
					}
				}
				truth := r.Truth(nil, r.Seeds()...)
				for _, wrong := range truth.Check(w.Requests()) {
					t.Error(wrong)
				}
				if len(truth.Pages) < 10 {
					t.Errorf("only %d pages can be reached", len(truth.Pages))
				}
			})
		})
	}
}
