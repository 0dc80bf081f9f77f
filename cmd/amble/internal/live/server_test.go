package live

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

// TestUnauthorizedClientsAreRefused checks that the page refuses requests without a token, under another host name, from another site or by
// a link, and that the crawl continues.
func TestUnauthorizedClientsAreRefused(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
		h := watch(t, web, nil, endless(web, "http://a.example", 100).URL("/"))
		time.Sleep(10 * time.Second)
		none := func(r *http.Request) { r.Header.Del("Authorization") }
		header := func(name, value string) func(r *http.Request) {
			return func(r *http.Request) { r.Header.Set(name, value) }
		}
		host := func(name string) func(r *http.Request) { return func(r *http.Request) { r.Host = name } }
		for _, c := range []struct {
			what, method, path string
			with               func(r *http.Request)
			status             int
		}{
			{"the page", "GET", "/", nil, 200},
			{"no token", "GET", "/", none, 401},
			{"no token for an order", "POST", "/pause", none, 401},
			{"a wrong token", "GET", "/?token=WRONG", none, 401},
			{"a wrong token for metrics", "GET", "/metrics", header("Authorization", "Bearer "+h.guard.token[1:]), 401},
			{"the token in the address of an order", "POST", "/pause?token=" + h.guard.token, none, 401},
			{"another host", "GET", "/", host("evil.test"), 421},
			{"another host with the port", "GET", "/", host("evil.test:4000"), 421},
			{"another host for an order", "POST", "/drain", host("evil.test:4000"), 421},
			{"another port", "GET", "/", host("127.0.0.1:1"), 421},
			{"another host asks for health", "GET", "/healthz", host("evil.test:4000"), 421},
			{"no host", "GET", "/", host(""), 421},
			{"localhost", "GET", "/", host("localhost:4000"), 200},
			{"IPv6", "GET", "/", host("[::1]:4000"), 200},
			{"health without a token", "GET", "/healthz", none, 200},
			{"readiness without a token", "GET", "/readyz", none, 200},
			{"an order from another site", "POST", "/drain", header("Sec-Fetch-Site", "cross-site"), 403},
			{"an order from another origin", "POST", "/drain", header("Origin", "https://evil.test"), 403},
			{"an order by a link", "GET", "/drain", nil, 405},
			{"an order by a link", "GET", "/pause", nil, 405},
			{"an order by a link", "GET", "/leave-out?host=a.example", nil, 405},
			{"profiles without --debug", "GET", "/debug/pprof/", nil, 404},
			{"an unknown path", "GET", "/nothing", nil, 404},
			{"metrics", "GET", "/metrics", nil, 200},
			{"style", "GET", "/style.css", nil, 200},
			{"script", "GET", "/live.js", nil, 200},
		} {
			rec := h.do(c.method, c.path, "", c.with)
			if rec.Code != c.status {
				t.Errorf("%s: %s %s: %d, want %d", c.what, c.method, c.path, rec.Code, c.status)
			}
			hd := rec.Header()
			if csp := hd.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self';") ||
				!strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") || hd.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v", c.what, hd)
			}
		}
		if h.crawler.Paused() {
			t.Error("somebody has paused the crawl")
		}
		time.Sleep(10 * time.Second)
		if h.since(11*time.Second, "") == 0 {
			t.Error("the crawl does not go on")
		}
	})
}

// TestAnOrderIsShownAtOnce checks that the page shows the effect of an order at once, and not only with the next snapshot.
func TestAnOrderIsShownAtOnce(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
		h := watch(t, web, nil, endless(web, "http://a.example", 100).URL("/"))
		if err := h.live.stream.enter(); err != nil {
			t.Fatal(err)
		}
		defer h.live.stream.leave()
		time.Sleep(10*time.Second + time.Second/4)
		shown := make(chan time.Time, 1)
		go func() {
			h.live.stream.next(t.Context())
			shown <- time.Now()
		}()
		synctest.Wait()
		ordered := time.Now()
		h.do("POST", "/pause", "", nil)
		if d := (<-shown).Sub(ordered); d > 0 {
			t.Errorf("it is shown %v later", d)
		}
	})
}

// TestTokenBecomesACookieAndAPath checks that the token does not stay in the address of the page. The cookie is sent to every port of the
// address, so neither the cookie alone nor the path alone opens the page or gives orders.
func TestTokenBecomesACookieAndAPath(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
		h := watch(t, web, nil, endless(web, "http://a.example", 1).URL("/"))
		none := func(r *http.Request) { r.Header.Del("Authorization") }
		rec := h.do("GET", "/?token="+h.guard.token+"&url=x", "", none)
		cookie, err := http.ParseSetCookie(rec.Header().Get("Set-Cookie"))
		to, ok := strings.CutSuffix(rec.Header().Get("Location"), "?url=x")
		if err != nil || rec.Code != 303 || !ok || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || len(cookie.Value) < 26 ||
			!strings.HasPrefix(to, "/s/") || len(to) < 26 || cookie.Path != to || strings.Contains(to+cookie.Value, h.guard.token) || strings.Contains(to, cookie.Value) {
			t.Fatalf("%d %v %+v %v", rec.Code, rec.Header(), cookie, err)
		}
		for _, path := range []string{"//evil.test/", "/%5cevil.test/", "/%2f/evil.test/", to} {
			got := h.do("GET", path+"?token="+h.guard.token, "", none).Header().Get("Location")
			if !strings.HasPrefix(got, to) || strings.Count(got, "/s/") != 1 {
				t.Errorf("%s leads to %s", path, got)
			}
		}
		both := func(r *http.Request) { none(r); r.AddCookie(cookie) }
		bearer := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+cookie.Value) }
		other := func(r *http.Request) { none(r); r.AddCookie(&http.Cookie{Name: cookie.Name, Value: h.guard.token}) }
		for _, c := range []struct {
			what, method, path string
			with               func(r *http.Request)
			status             int
		}{
			{"both", "GET", to, both, 200},
			{"both for the script", "GET", to + "live.js", both, 200},
			{"the cookie alone", "GET", "/", both, 401},
			{"the cookie alone for an order", "POST", "/pause", both, 401},
			{"the cookie with a wrong path", "GET", "/s/WRONG/", both, 401},
			{"the cookie as a token", "GET", "/?token=" + cookie.Value, none, 401},
			{"the cookie as a bearer", "GET", "/", bearer, 401},
			{"the path alone", "GET", to, none, 401},
			{"the path alone for an order", "POST", to + "pause", none, 401},
			{"the path with the token as a cookie", "GET", to, other, 401},
			{"another port of the same address", "POST", to + "pause", func(r *http.Request) { both(r); r.Header.Set("Sec-Fetch-Site", "same-site") }, 403},
		} {
			if rec := h.do(c.method, c.path, "", c.with); rec.Code != c.status {
				t.Errorf("%s: %s %s: %d, want %d", c.what, c.method, c.path, rec.Code, c.status)
			}
		}
		if h.crawler.Paused() {
			t.Error("the crawl is paused")
		}
		if rec := h.do("POST", to+"pause", "", both); rec.Code != 303 || rec.Header().Get("Location") != "./" || !h.crawler.Paused() {
			t.Errorf("an order with both: %d %v", rec.Code, rec.Header())
		}
		if text := h.page(); strings.Contains(text, `="/`) {
			t.Error("an address on the page leads out of its path: " + text)
		}
	})
}

// TestOrders checks that each order has its effect, and that orders are refused if they would make the crawl faster.
func TestOrders(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
		h := watch(t, web, nil, endless(web, "http://a.example", 300).URL("/"), endless(web, "http://b.example", 300).URL("/"))
		order := func(path, body, says string) {
			t.Helper()
			rec := h.do("POST", path, body, nil)
			if want := map[bool]int{true: 303, false: 400}[says == ""]; rec.Code != want || !strings.Contains(rec.Body.String(), says) {
				t.Errorf("%s %.60s: %d %s, want %d %s", path, body, rec.Code, rec.Body, want, says)
			}
		}
		time.Sleep(20 * time.Second)
		order("/slower", "host=a.example:80&delay=1ms", "can only be lengthened")
		order("/slower", "host=a.example:80&delay=soon", "want a delay such as 5s")
		order("/slower", "host=a.example:80&delay=-1s", "want a delay such as 5s")
		order("/slower", "host=a/b&delay=5s", "is not a host")
		order("/leave-out", "host=", "is not a host")
		order("/leave-out", "host="+strings.Repeat("x", 20<<10), "too large")
		order("/pause", "", "")
		time.Sleep(time.Minute)
		if n := h.since(20*time.Second+time.Millisecond, ""); n > 0 {
			t.Errorf("%d requests in the pause", n)
		}
		if text := h.page(); !strings.Contains(text, ">paused<") || !strings.Contains(text, `action="resume"`) || strings.Contains(text, `action="pause"`) {
			t.Error("the page does not show the pause")
		}
		order("/leave-out", "host=b.example:80", "")
		order("/slower", "host=a.example:80&delay=4", "")
		order("/resume", "", "")
		time.Sleep(100 * time.Second)
		if n := h.since(80*time.Second, "b.example:80"); n > 0 {
			t.Errorf("%d requests to the host that was left out", n)
		}
		if n := h.since(80*time.Second, "a.example:80"); n < 20 || n > 26 {
			t.Errorf("%d requests to the slower host in 100 s", n)
		}
		if text := h.page(); !strings.Contains(text, "none too early") || !strings.Contains(text, "left out") || !strings.Contains(text, "4 s, our setting for it") {
			t.Error("the page does not show what was done: " + text)
		}
		order("/drain", "", "")
		if err := <-h.ended; err != nil {
			t.Error(err)
		}
		h.ended <- nil
	})
}

// reader represents a client that reads snapshots until the test stops it.
type reader struct {
	*httptest.ResponseRecorder
	mu      sync.Mutex
	flushed int
	stop    chan struct{} // Write waits until this is closed; nil: Write does not wait
}

func (r *reader) Write(b []byte) (int, error) {
	if r.stop != nil {
		<-r.stop
	}
	return r.ResponseRecorder.Write(b)
}

func (r *reader) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushed++
}

func (r *reader) SetWriteDeadline(time.Time) error { return nil }

// TestReaders checks that eight clients can watch, that each of them gets a snapshot a second, and that clients that read nothing do not
// delay the others.
func TestReaders(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
		h := watch(t, web, nil, endless(web, "http://a.example", 300).URL("/"))
		ctx, cancel := context.WithCancel(t.Context())
		open := func(r *reader, encoding string) {
			q := httptest.NewRequestWithContext(ctx, http.MethodGet, "/events", nil)
			q.Host = "127.0.0.1:4000"
			q.Header.Set("Authorization", "Bearer "+h.guard.token)
			q.Header.Set("Accept-Encoding", encoding)
			h.handler.ServeHTTP(r, q)
		}
		var all []*reader
		var open8 sync.WaitGroup
		stop := make(chan struct{})
		for i := range maxReaders {
			r := &reader{ResponseRecorder: httptest.NewRecorder()}
			if i > 1 {
				r.stop = stop
			}
			all = append(all, r)
			open8.Go(func() { open(r, map[bool]string{true: "gzip", false: ""}[i == 1]) })
		}
		time.Sleep(20*time.Second + time.Millisecond)
		ninth := &reader{ResponseRecorder: httptest.NewRecorder()}
		open(ninth, "")
		if ninth.Code != 503 {
			t.Errorf("a ninth reader: %d", ninth.Code)
		}
		for _, r := range all[:2] {
			r.mu.Lock()
			if r.flushed < 19 || r.flushed > 22 {
				t.Errorf("%d snapshots in 20 seconds", r.flushed)
			}
			r.mu.Unlock()
		}
		cancel()
		close(stop)
		open8.Wait()
		plain, zipped := all[0].Body.Len(), all[1].Body.Len()
		t.Logf("20 snapshots of a host: %d bytes, compressed %d", plain, zipped)
		if zipped > 20*2048 {
			t.Errorf("%d bytes compressed", zipped)
		}
		z, err := gzip.NewReader(all[1].Body)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(z)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || strings.Count(string(b), "\n\n") < 19 {
			t.Errorf("%d events, %v", strings.Count(string(b), "\n\n"), err)
		}
		if h.live.stream.watched() {
			t.Error("readers that left still count")
		}
	})
}

// TestHostileTexts checks that texts from sites are shown as text, everywhere on the page.
func TestHostileTexts(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
		s := web.Site("http://a.example")
		s.Robots("User-agent: *\nDisallow: /x</td><script>alert(1)</script>\u202e\n").Forbids("/x</td><script>alert(1)</script>\u202e")
		s.Page("/", `<title></title><script>alert(2)</script></title><a href='/x</td><script>alert(1)</script>&#x202e;'>x</a><a href='/"onload=alert(3)'>y</a>`)
		h := watch(t, web, func(_ *crawler.Config, l *Config) {
			l.Agent, l.Dir, l.Seeds = `<b>"agent"</b>`, "job/<i>\u202e", []string{"http://<img src=x>/"}
			l.Why = func(url string, w io.Writer) error {
				_, err := io.WriteString(w, "<script>alert(4)</script>\x1b[31m\u202e "+url+strings.Repeat("x", 1<<20))
				return err
			}
		}, s.URL("/"))
		time.Sleep(20 * time.Second)
		rec := h.do("GET", "/?url=%3Cscript%3Ealert(5)%3C/script%3E", "", nil)
		text := rec.Body.String()
		for _, bad := range []string{"<script>alert", "<img", "<b>", "<i>", "\u202e", "\x1b", `"onload=alert(3)"`} {
			if strings.Contains(text, bad) {
				t.Errorf("%q is on the page", bad)
			}
		}
		if !strings.Contains(text, "&lt;script&gt;alert(1)") || !strings.Contains(text, "alert(4)") || len(text) > 200<<10 {
			t.Errorf("%d bytes: %.3000s", len(text), text)
		}
	})
}

// TestWaitingAsItMust checks that while a crawl can only wait for a robots.txt, its page shows the reason and the end of the wait.
func TestWaitingAsItMust(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
		s := web.Site("http://a.example")
		s.RobotsStatus(503)
		h := watch(t, web, nil, s.URL("/"))
		time.Sleep(20 * time.Second)
		text := h.page()
		for _, want := range []string{
			"Waiting, as it must", "a.example:80: robots.txt could not be fetched (503), next try in 16 s, at 00:00:36 UTC", "robots.txt 503",
			"a.example:80 decides: robots.txt could not be fetched, next try in 16 s",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the page does not say %q: %s", want, text)
			}
		}
		if rec := h.do("GET", "/readyz", "", nil); rec.Code != 200 {
			t.Errorf("not ready: %s", rec.Body)
		}
	})
}

// TestHostsOfOneKindAreOneRow checks that many hosts with the same outcome are grouped in one row until the user opens it, that the hosts
// that determine the end of the crawl are shown, and that no host is shown twice.
func TestHostsOfOneKindAreOneRow(t *testing.T) {
	var rows []row
	for i := range 12 {
		rows = append(rows, row{Host: fmt.Sprint("open", i), Open: true})
	}
	for i := range 20 {
		rows = append(rows, row{Host: fmt.Sprint("done", i), State: "complete"})
	}
	rows = append(rows, row{Host: "wall", State: "bot wall"})
	var shown []string
	for _, g := range grouped(rows) {
		shown = append(shown, fmt.Sprintf("%s: %d, %s", g.Title, len(g.Rows), g.Rows[0].Host))
	}
	if got, want := strings.Join(shown, "; "), ": 9, open0; 4 more sites under way: 4, open8; 20 sites complete: 20, done0"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	page := &page{Sites: grouped(rows)}
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, "live", page); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Count(text, "<details id=\"g-") != 2 || strings.Contains(text, "<details open") || strings.Count(text, `<th role="rowheader">`) != len(rows) ||
		strings.Index(text, `id="results"`) > strings.Index(text, `id="answers"`) {
		t.Errorf("%s", text)
	}
}
