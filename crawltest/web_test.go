package crawltest

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// client returns an HTTP client for the simulated web that does not follow redirects.
func client(t testing.TB, w *Web) *http.Client {
	tr := &http.Transport{DialContext: w.DialContext, TLSClientConfig: &tls.Config{RootCAs: w.RootCAs()}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// get requests a URL and reads the response.
func get(c *http.Client, url string) (*http.Response, string, error) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, "", err
	}
	return do(c, req)
}

func do(c *http.Client, req *http.Request) (*http.Response, string, error) {
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "testbot/1.0 (+https://testbot.example/)")
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

// bubble runs f with a Web that is not audited.
func bubble(t *testing.T, f func(t *testing.T, w *Web)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, New(t)) })
}

func TestPagesAreServed(t *testing.T) {
	bubble(t, func(t *testing.T, w *Web) {
		s := w.Site("a.example")
		s.Page("/", "hello")
		s.Page("/q?x=1", "query").Type("text/plain").Header("X-Robots-Tag", "noindex")
		s.Page("/gone", "").Status(410)
		s.Redirect("/old", "/new")
		s.Handle("/tree/*", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, r.URL.Path) }))
		w.Site("https://a.example").Page("/", "secure")
		w.Site("a.example:8080").Page("/~x", "port")
		c := client(t, w)
		for _, tt := range []struct {
			url    string
			status int
			body   string
		}{
			{"http://a.example/", 200, "hello"},
			{"http://a.example/q?x=1", 200, "query"},
			{"http://a.example/q", 404, "404 page not found\n"},
			{"http://a.example/gone", 410, ""},
			{"http://a.example/old", 302, ""},
			{"http://a.example/tree/a/b?c", 200, "/tree/a/b"},
			{"https://a.example/", 200, "secure"},
			{"http://a.example:8080/%7ex", 200, "port"},
			{"http://a.example/robots.txt", 404, "404 page not found\n"},
		} {
			resp, body, err := get(c, tt.url)
			if err != nil || resp.StatusCode != tt.status || body != tt.body {
				t.Errorf("%s: %v %q %v", tt.url, resp, body, err)
			}
		}
		if got := w.Visited("a.example")[3]; got != "http://a.example/gone" {
			t.Errorf("visited %q", got)
		}
	})
}

func TestLogHasVirtualTimes(t *testing.T) {
	bubble(t, func(t *testing.T, w *Web) {
		s := w.Site("a.example").Latency(200 * time.Millisecond)
		s.Page("/", "hello").Fault(Slow(1, time.Second))
		c := client(t, w)
		time.Sleep(time.Hour)
		if _, _, err := get(c, "http://a.example/"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r := w.Requests()[0]
		if r.Start.Sub(w.Start()) != time.Hour || r.End.Sub(r.Start) != 4200*time.Millisecond {
			t.Errorf("start %v end %v", r.Start, r.End)
		}
		if !r.Complete || r.Status != 200 || r.Bytes != 5 || r.Line != "GET / HTTP/1.1" || r.Conn != 1 || r.Host != "a.example:80" {
			t.Errorf("%+v", r)
		}
	})
}

func TestFaults(t *testing.T) {
	isTimeout := func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
	isDNS := func(f func(*net.DNSError) bool) func(error) bool {
		return func(err error) bool {
			var d *net.DNSError
			return errors.As(err, &d) && f(d)
		}
	}
	text := func(s string) func(error) bool {
		return func(err error) bool { return strings.Contains(err.Error(), s) }
	}
	for name, tt := range map[string]struct {
		fault Fault
		want  func(error) bool
	}{
		"refuse":           {Refuse(), func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }},
		"no-connect":       {NoConnect(), isTimeout},
		"slow-connect":     {SlowConnect(11 * time.Second), isTimeout},
		"reset-on-connect": {ResetOnConnect(), func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }},
		"nxdomain":         {NXDomain(), isDNS(func(d *net.DNSError) bool { return d.IsNotFound })},
		"dns-failure":      {DNSFailure(), isDNS(func(d *net.DNSError) bool { return d.IsTemporary })},
		"dns-timeout":      {DNSTimeout(), isTimeout},
		"tls-alert":        {TLSAlert(), text("tls: internal error")},
		"wrong-cert":       {WrongCertificate(), text("certificate is valid for wrong.invalid")},
		"expired-cert":     {ExpiredCertificate(), text("expired")},
		"hang":             {Hang(), isTimeout},
		"reset":            {Reset(), func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }},
		"cut":              {CutShort(3), func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		"reset-after":      {ResetAfter(3), func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }},
		"stall":            {Stall(3), isTimeout},
		"slow":             {Slow(1, 5*time.Second), isTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *Web) {
				w.Site("https://a.example").Fault(tt.fault.Until(time.Minute)).Page("/", "hello")
				c := client(t, w)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://a.example/", nil)
				if _, _, err := do(c, req); err == nil || !tt.want(err) {
					t.Errorf("got %v", err)
				}
				time.Sleep(time.Minute)
				if _, body, err := get(c, "https://a.example/"); body != "hello" || err != nil {
					t.Errorf("after the fault: %q %v", body, err)
				}
			})
		})
	}
}

func TestFailFirstThenRetryAfter(t *testing.T) {
	bubble(t, func(t *testing.T, w *Web) {
		s := w.Site("a.example").Fault(Fail(503).First(2))
		s.Page("/s", "x").Fault(RetryAfter(429, 90*time.Second).First(1))
		s.Page("/d", "x").Fault(RetryAfterDate(503, 90*time.Second).First(1))
		c := client(t, w)
		var got []string
		for _, u := range []string{"/", "/", "/", "/s", "/d", "/d"} {
			resp, _, err := get(c, "http://a.example"+u)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, itoa(resp.StatusCode)+resp.Header.Get("Retry-After"))
		}
		want := "503 503 404 42990 503Sat, 01 Jan 2000 00:01:30 GMT 200"
		if strings.Join(got, " ") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestRobotsChanges(t *testing.T) {
	bubble(t, func(t *testing.T, w *Web) {
		s := w.Site("a.example")
		s.RobotsStatus(503)
		s.Robots("v2").At(time.Minute)
		c := client(t, w)
		r1, _, _ := get(c, "http://a.example/robots.txt")
		time.Sleep(time.Minute)
		r2, b2, _ := get(c, "http://a.example/robots.txt")
		if r1.StatusCode != http.StatusServiceUnavailable || r2.StatusCode != http.StatusOK || b2 != "v2" {
			t.Errorf("%d, %d %q", r1.StatusCode, r2.StatusCode, b2)
		}
	})
}

func TestLargeBodyForAReaderThatStops(t *testing.T) {
	bubble(t, func(t *testing.T, w *Web) {
		big := strings.Repeat("x", 1<<20)
		w.Site("a.example").Page("/", big)
		c := client(t, w)
		resp, err := c.Get("http://a.example/")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		resp.Body.Close()
		synctest.Wait()
		if r := w.Requests()[0]; r.Complete || r.End.Sub(r.Start) != time.Hour {
			t.Errorf("complete %v after %v", r.Complete, r.End.Sub(r.Start))
		}
		if _, body, err := get(c, "http://a.example/"); err != nil || body != big {
			t.Errorf("%d bytes, %v", len(body), err)
		}
	})
}

func TestDeadlines(t *testing.T) {
	bubble(t, func(t *testing.T, w *Web) {
		w.Site("a.example")
		conn, err := w.DialContext(t.Context(), "tcp", "a.example:80")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(time.Minute))
		begun := time.Now()
		_, err = conn.Read(make([]byte, 1))
		var ne net.Error
		if !errors.As(err, &ne) || !ne.Timeout() || time.Since(begun) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		if _, err = conn.Write([]byte("x")); !errors.As(err, &ne) || !ne.Timeout() {
			t.Errorf("write: %v", err)
		}
	})
}

func TestNamesOnOneAddress(t *testing.T) {
	bubble(t, func(t *testing.T, w *Web) {
		a := w.Site("a.example")
		w.Site("b.example").Address(a.Addr().String()).Page("/", "b")
		a.Page("/", "a")
		ips, err := w.LookupNetIP(t.Context(), "ip", "b.example")
		if err != nil || ips[0] != a.Addr() {
			t.Errorf("%v %v", ips, err)
		}
		c := client(t, w)
		_, ba, _ := get(c, "http://a.example/")
		_, bb, _ := get(c, "http://b.example/")
		r, _, _ := get(c, "http://"+a.Addr().String()+"/")
		if ba != "a" || bb != "b" || r.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("%q %q %d", ba, bb, r.StatusCode)
		}
	})
}

func TestMalformedRequestIsLogged(t *testing.T) {
	bubble(t, func(t *testing.T, w *Web) {
		w.Site("a.example")
		conn, _ := w.DialContext(t.Context(), "tcp", "a.example:80")
		io.WriteString(conn, "GET /\x01 HTTP/1.1\r\n\r\n")
		b, _ := io.ReadAll(conn)
		conn.Close()
		synctest.Wait()
		rs := w.Requests()
		if !bytes.HasPrefix(b, []byte("HTTP/1.1 400")) || len(rs) != 1 || rs[0].Status != 400 || rs[0].Line != "GET /\x01 HTTP/1.1" {
			t.Errorf("%q %+v", b, rs)
		}
	})
}

const fixtureText = `a comment
-- http://a.example/robots.txt crawl-delay=5s forbids=/p/* --
User-agent: *
Disallow: /p/
Crawl-delay: 5
-- http://a.example/ header="Link: </x>; rel=next" latency=1s --
<a href="/p/1">
-- http://a.example/p/1 forbidden --
-- http://a.example/old location=/new --
-- http://a.example/bad status=503 type= fault=cut:3+first:1 --
oops, down
`

func TestLoad(t *testing.T) {
	bubble(t, func(t *testing.T, w *Web) {
		w.Load([]byte(fixtureText))
		c := client(t, w)
		begun := time.Now()
		r, body, _ := get(c, "http://a.example/")
		if r.Header.Get("Link") != "</x>; rel=next" || body != "<a href=\"/p/1\">\n" || time.Since(begun) != time.Second {
			t.Errorf("%v %q %v", r.Header, body, time.Since(begun))
		}
		if r, _, _ = get(c, "http://a.example/old"); r.StatusCode != http.StatusFound || r.Header.Get("Location") != "/new" {
			t.Errorf("%v", r)
		}
		if _, body, err := get(c, "http://a.example/bad"); body != "oop" || err == nil {
			t.Errorf("%q %v", body, err)
		}
		if r, body, _ = get(c, "http://a.example/bad"); body != "oops, down\n" || r.StatusCode != http.StatusServiceUnavailable || r.Header["Content-Type"] != nil {
			t.Errorf("%v %q", r, body)
		}
		s := w.Site("a.example")
		r0 := s.robots(0)
		if !s.forbids("/p/1", nil) || !s.forbids("/p/2", r0) || s.forbids("/old", r0) || s.crawlDelay("x", r0) != 5*time.Second {
			t.Error("truth lost")
		}
	})
}

func TestLoadErrorsNameTheLine(t *testing.T) {
	_, noURL := weburl.Parse("/path")
	w := NewWeb()
	defer w.Close()
	for archive, want := range map[string]string{
		"nothing":          "f.txtar: no files in the archive: each begins with a line such as -- https://a.example/ --",
		"x\n-- /path --\n": "f.txtar:2: " + noURL.Error(),
		"-- http://a/ --\nx\n-- http://a/b q=1 --\n": `f.txtar:3: attribute "q=1": unknown`,
		"-- http://a --\n":                           "f.txtar:1: http://a must be written http://a/",
		"-- http://a/ status=20 --\n":                `f.txtar:1: attribute "status=20": "20" is not a final status code`,
		"-- http://a/ forbidden=1 --\n":              `f.txtar:1: attribute "forbidden=1": takes no value`,
		"-- http://a/ status --\n":                   `f.txtar:1: attribute "status": needs a value`,
		"-- http://a/ header=x --\n":                 `f.txtar:1: attribute "header=x": wants Name:value`,
		"-- http://a/ \"x --\n":                      `f.txtar:1: quote not closed in "http://a/ \"x"`,
		"-- http://a/ fault=refuse --\n":             `f.txtar:1: attribute "fault=refuse": belongs to a site: write site-fault`,
		"-- http://a/ fault=hang:3 --\n":             `f.txtar:1: attribute "fault=hang:3": unknown fault "hang:3"`,
		"-- http://a/ fault=cut:x --\n":              `f.txtar:1: attribute "fault=cut:x": "x" is not a count`,
		"-- http://a/ at=-1s --\n":                   `f.txtar:1: attribute "at=-1s": negative duration "-1s"`,
	} {
		if err := w.load("f.txtar", []byte(archive)); err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %v", archive, err, want)
		}
	}
}

func TestCloseEndsHangingRequests(t *testing.T) {
	bubble(t, func(t *testing.T, w *Web) {
		w.Site("a.example").Fault(Hang()).Page("/", "")
		c := client(t, w)
		done := make(chan error)
		go func() {
			_, _, err := get(c, "http://a.example/")
			done <- err
		}()
		synctest.Wait()
		w.Close()
		if err := <-done; err == nil {
			t.Error("answered")
		}
		if _, err := w.DialContext(t.Context(), "tcp", "a.example:80"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("dial after Close: %v", err)
		}
	})
}

func TestLoadFile(t *testing.T) {
	Test(t, func(t *testing.T, w *Web) {
		w.Expect(Expect{Delay: time.Second, Agent: "testbot"})
		w.LoadFile("testdata/small.txtar")
		b := &browser{t, w, client(t, w)}
		b.get("http://small.example/robots.txt")
		for _, path := range []string{"/", "/old", "/new", "/busy"} {
			time.Sleep(2 * time.Second)
			b.get("http://small.example" + path)
		}
		time.Sleep(30 * time.Second)
		b.get("http://small.example/busy")
		time.Sleep(2 * time.Second)
		_, gif, err := get(b.c, "http://small.example/pixel.gif")
		if err != nil || !strings.HasPrefix(gif, "GIF89a") {
			t.Errorf("%q %v", gif, err)
		}
		w.MustOrder("http://small.example/robots.txt", "http://small.example/", "http://small.example/old", "http://small.example/new")
		ips, err := w.LookupNetIP(t.Context(), "ip4", "small.example")
		if err != nil || ips[0].String() != "192.31.196.9" {
			t.Errorf("%v %v", ips, err)
		}
		if ips, err = w.LookupNetIP(t.Context(), "ip6", "small.example"); err == nil {
			t.Errorf("%v", ips)
		}
	})
}

// TestMistakesInFixturesFailTheTest checks that each mistake fails the test with a message that names it.
func TestMistakesInFixturesFailTheTest(t *testing.T) {
	for want, mistake := range map[string]func(w *Web){
		"no such file":                 func(w *Web) { w.LoadFile("testdata/none.txtar") },
		"fixture:1: weburl":            func(w *Web) { w.Load([]byte("-- \"\" --\n")) },
		"neither a host nor an origin": func(w *Web) { w.Site("a.example/path") },
		"must begin with a slash":      func(w *Web) { w.Site("a.example").Page("path", "") },
		"have no fragment":             func(w *Web) { w.Site("a.example").Forbid("/x#y") },
		"cannot belong to a page":      func(w *Web) { w.Site("a.example").Page("/", "").Fault(Refuse()) },
		`address "x"`:                  func(w *Web) { w.Site("a.example").Address("x") },
		"not a URL of the random web":  func(w *Web) { w.Random(1, RandomConfig{}).Truth(nil, "http://x/") },
		"no address left":              func(w *Web) { w.Addresses(netip.MustParsePrefix("10.0.0.0/30")); w.Site("a"); w.Site("b"); w.Site("c") },
	} {
		func() {
			w := NewWeb()
			defer w.Close()
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}()
			mistake(w)
		}()
	}
}

func TestEveryAndTimesLimitAFault(t *testing.T) {
	bubble(t, func(t *testing.T, w *Web) {
		w.Site("a.example").Page("/", "").Fault(Fail(500).Every(3).From(time.Hour).Until(2 * time.Hour))
		c := client(t, w)
		var got []string
		for range 2 {
			for range 4 {
				r, _, err := get(c, "http://a.example/")
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, itoa(r.StatusCode))
			}
			time.Sleep(time.Hour)
		}
		r, _, _ := get(c, "http://a.example/")
		if s := strings.Join(got, " "); s != "200 200 200 200 200 200 500 200" || r.StatusCode != http.StatusOK {
			t.Errorf("got %s, then %d", s, r.StatusCode)
		}
	})
}

// TestEveryFaultCanBeLoaded parses each fault in the fixture grammar and compares it with the function of the same
// name.
func TestEveryFaultCanBeLoaded(t *testing.T) {
	for text, want := range map[string]Fault{
		"hang": Hang(), "reset": Reset(), "cut:3": CutShort(3), "reset-after:4": ResetAfter(4), "stall:5": Stall(5),
		"slow:6/7s": Slow(6, 7*time.Second), "fail:503": Fail(503), "retry-after:429/1m": RetryAfter(429, time.Minute),
		"retry-date:503/2m": RetryAfterDate(503, 2*time.Minute), "too-fast:1s/2s": TooFast(time.Second, 2*time.Second),
		"nxdomain": NXDomain(), "dns-failure": DNSFailure(), "dns-timeout": DNSTimeout(), "refuse": Refuse(), "no-connect": NoConnect(),
		"slow-connect:3s": SlowConnect(3 * time.Second), "reset-on-connect": ResetOnConnect(), "tls-alert": TLSAlert(), "wrong-certificate": WrongCertificate(),
		"expired-certificate":                         ExpiredCertificate(),
		"hang+first:2+every:3+from:4s+until:5s":       Hang().First(2).Every(3).From(4 * time.Second).Until(5 * time.Second),
		"retry-after:503/1s+from:1h+until:2h+first:1": RetryAfter(503, time.Second).From(time.Hour).Until(2 * time.Hour).First(1),
	} {
		if got, err := parseFault(text); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "hung", "slow:1", "slow:/1s", "fail:x", "retry-after:429", "too-fast:1s", "hang+last:1", "hang+first:-1", "hang+from:x", "cut"} {
		if _, err := parseFault(text); err == nil {
			t.Errorf("%q taken", text)
		}
	}
}

func TestLookupsAndDialsAreLogged(t *testing.T) {
	bubble(t, func(t *testing.T, w *Web) {
		s := w.Site("a.example").Fault(DNSFailure().First(1)).Fault(Refuse().First(1))
		for range 2 {
			_, _ = w.LookupNetIP(t.Context(), "ip", "A.example.")
			time.Sleep(time.Second)
		}
		for range 2 {
			if conn, err := w.DialContext(t.Context(), "tcp", net.JoinHostPort(s.Addr().String(), "80")); err == nil {
				time.Sleep(time.Minute)
				_ = conn.Close()
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.DialContext(ended, "tcp", net.JoinHostPort(s.Addr().String(), "80")); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of its context: %v", err)
		}
		ls, ds := w.Lookups(), w.Dials()
		if len(ls) != 2 || ls[0].Name != "a.example" || ls[0].Err == "" || ls[1].Err != "" || ls[1].Time.Sub(ls[0].Time) != time.Second {
			t.Errorf("%+v", ls)
		}
		if len(ds) != 2 || ds[0].Err != "connect: connection refused" || ds[1].Err != "" || ds[1].End.Sub(ds[1].Start) != time.Minute {
			t.Errorf("%+v", ds)
		}
	})
}
