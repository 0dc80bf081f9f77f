package crawltest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// browser is a client that is as polite or rude as the test makes it.
type browser struct {
	t *testing.T
	w *Web
	c *http.Client
}

// get requests URLs and reads the responses.
func (b *browser) get(urls ...string) {
	for _, u := range urls {
		_, _, _ = get(b.c, u)
		synctest.Wait()
	}
}

// slowly requests URLs with a second between requests.
func (b *browser) slowly(urls ...string) {
	for _, u := range urls {
		time.Sleep(time.Second)
		b.get(u)
	}
}

// with requests a URL with a header field.
func (b *browser) with(key, value, url string) {
	b.send(http.MethodGet, url, http.Header{key: {value}})
}

func (b *browser) send(method, url string, h http.Header) {
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	for k, v := range h {
		req.Header[k] = v
	}
	_, _, _ = do(b.c, req)
	synctest.Wait()
}

// raw sends text on a new connection.
func (b *browser) raw(host, text string) {
	conn, err := b.w.DialContext(b.t.Context(), "tcp", host)
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, text)
	_, _ = io.ReadAll(conn)
	synctest.Wait()
}

// abreast requests all URLs concurrently.
func (b *browser) abreast(urls ...string) {
	done := make(chan bool)
	for _, u := range urls {
		go func() { _, _, _ = get(b.c, u); done <- true }()
		synctest.Wait()
	}
	for range urls {
		<-done
	}
}

const (
	aRobots = "http://a.example/robots.txt"
	aRoot   = "http://a.example/"
	aPage   = "http://a.example/1"
	bRobots = "http://b.example/robots.txt"
	bRoot   = "http://b.example/"
	ua      = "testbot/1.0 (+https://testbot.example/)"
)

// auditCase tests one rule: a rude client breaks the rule, and a polite client only just keeps it.
type auditCase struct {
	name   string
	rule   string
	expect Expect
	web    func(w *Web)
	rude   func(b *browser)
	polite func(b *browser)
	detail string // part of the rude client's violation
}

func auditCases() []auditCase {
	second := Expect{Delay: time.Second}
	return slices.Concat(robotsCases(second), paceCases(second), retryCases(second), wireCases(second))
}

func robotsCases(second Expect) []auditCase {
	plain := func(w *Web) { w.Site("a.example").Robots(""); w.Site("a.example").Page("/", "x") }
	forbidding := func(w *Web) {
		s := w.Site("a.example")
		s.Robots("User-agent: *\nDisallow: /p/\nDisallow: /one\n").Forbids("/p/*")
		s.Page("/one", "x").Forbidden()
		s.Redirect("/", "/p/x")
		s.Page("/q", "x")
	}
	appearing := func(w *Web) {
		s := w.Site("a.example")
		s.Robots("User-agent: *\nDisallow: /1\n").At(time.Hour).Forbids("/1")
	}
	status := func(code int) func(w *Web) {
		return func(w *Web) { w.Site("a.example").RobotsStatus(code) }
	}
	recovering := func(w *Web) {
		w.Site("a.example").Robots("")
		w.Site("a.example").RobotsStatus(503).At(time.Hour)
	}
	redirected := func(w *Web) {
		w.Site("a.example").Redirect("/robots.txt", "http://b.example/r")
		w.Site("b.example").Redirect("/r", "/r2")
		w.Site("b.example").Page("/r2", "User-agent: *\nDisallow: /\n")
	}
	return []auditCase{
		{"page first", "P1", second, plain,
			func(b *browser) { b.slowly(aRoot, aRobots) },
			func(b *browser) { b.slowly(aRobots, aRoot) }, "page before robots.txt"},
		{"other origin's robots.txt", "P1", second, func(w *Web) { plain(w); w.Site("https://a.example"); w.Site("a.example:8080") },
			func(b *browser) { b.slowly(aRobots, "https://a.example/") },
			func(b *browser) {
				b.slowly(aRobots, "https://a.example/robots.txt", "https://a.example/", "http://a.example:8080/robots.txt", "http://a.example:8080/")
			}, "page before robots.txt"},
		{"robots.txt not yet answered", "P1", Expect{PerHost: 2}, func(w *Web) { plain(w); w.Site("a.example").Latency(time.Second) },
			func(b *browser) { b.abreast(aRobots, aRoot) },
			func(b *browser) { b.get(aRobots); b.abreast(aRoot, aPage) }, "before robots.txt was answered"},
		{"robots.txt redirect not followed", "P1", second, redirected,
			func(b *browser) { b.slowly(aRobots, aRoot) },
			func(b *browser) { b.slowly(aRobots, "http://b.example/r", "http://b.example/r2", aRoot) }, "before robots.txt was answered"},
		{"robots.txt stale", "P1", second, plain,
			func(b *browser) { b.slowly(aRobots); time.Sleep(25 * time.Hour); b.slowly(aRoot) },
			func(b *browser) { b.slowly(aRobots); time.Sleep(25 * time.Hour); b.slowly(aRobots, aRoot) }, "ago"},
		{"forbidden prefix", "P2", second, forbidding,
			func(b *browser) { b.slowly(aRobots, "http://a.example/p/y?z") },
			func(b *browser) { b.slowly(aRobots, "http://a.example/p", "http://a.example/q?/p/") }, "forbidden"},
		{"forbidden tree", "P2", second, func(w *Web) {
			w.Site("a.example").Handle("/t/*", http.NotFoundHandler()).Forbidden()
			w.Site("a.example").Handle("/*", http.NotFoundHandler())
		},
			func(b *browser) { b.slowly(aRobots, "http://a.example/t/x") },
			func(b *browser) { b.slowly(aRobots, "http://a.example/t", aRoot) }, "forbidden"},
		{"forbidden page in another spelling", "P2", second, forbidding,
			func(b *browser) { b.slowly(aRobots, "http://a.example/%6Fne") },
			func(b *browser) { b.slowly(aRobots, "http://a.example/one%2F") }, "forbidden"},
		{"redirect to a forbidden page", "P2", second, forbidding,
			func(b *browser) {
				b.c.CheckRedirect = func(*http.Request, []*http.Request) error { time.Sleep(time.Second); return nil }
				b.slowly(aRobots, aRoot)
			},
			func(b *browser) { b.slowly(aRobots, aRoot) }, "forbidden"},
		{"forbidden by the version last seen", "P2", second, appearing,
			func(b *browser) { time.Sleep(time.Hour); b.slowly(aRobots, aPage) },
			func(b *browser) { b.slowly(aRobots); time.Sleep(time.Hour); b.slowly(aPage) }, "forbidden"},
		{"robots.txt 503", "P8", second, status(503),
			func(b *browser) { b.slowly(aRobots, aRoot) },
			func(b *browser) { b.slowly(aRobots, aRobots) }, "unreachable"},
		{"robots.txt 429", "P8", second, status(429),
			func(b *browser) { b.slowly(aRobots, aRoot) },
			func(b *browser) { b.slowly(aRobots) }, "unreachable"},
		{"robots.txt cut short", "P8", second, func(w *Web) { w.Site("a.example").Robots("User-agent: *\nDisallow: /\n").Fault(CutShort(20).First(1)) },
			func(b *browser) { b.slowly(aRobots, aRoot) },
			func(b *browser) { b.slowly(aRobots, aRobots, aRoot) }, "unreachable"},
		{"redirected robots.txt 500", "P8", second, func(w *Web) { redirected(w); w.Site("b.example").Page("/r2", "").Status(500) },
			func(b *browser) { b.slowly(aRobots, "http://b.example/r", "http://b.example/r2", aRoot) },
			func(b *browser) { b.slowly(aRobots, "http://b.example/r", "http://b.example/r2") }, "unreachable"},
		{"robots.txt requested again at once", "P8", Expect{RobotsRetry: []time.Duration{time.Second, 5 * time.Second}}, status(503),
			func(b *browser) { b.slowly(aRobots, aRobots, aRobots) },
			func(b *browser) { b.slowly(aRobots, aRobots); time.Sleep(4 * time.Second); b.slowly(aRobots) }, "too shortly after a failure"},
		{"refused and again before the pause of its robots.txt", "P8", Expect{RobotsRetry: []time.Duration{time.Second, 5 * time.Second}}, func(w *Web) {
			w.Site("a.example").Fault(Refuse())
			w.Site("b.example").Redirect("/robots.txt", "http://a.example/b-robots")
		},
			func(b *browser) { b.slowly(aRobots, aRobots, aRobots) },
			func(b *browser) {
				b.slowly(aRobots, "http://b.example/robots.txt", "http://a.example/b-robots", aRobots)
			}, "connected again too early"},
		{"robots.txt for longer than its max-age", "P1", Expect{RobotsFreshness: true}, func(w *Web) {
			w.Site("a.example").Robots("").Header("Cache-Control", "max-age=90")
		},
			func(b *browser) { b.get(aRobots); time.Sleep(90*time.Second + 1); b.get(aRoot) },
			func(b *browser) { b.get(aRobots); time.Sleep(90 * time.Second); b.get(aRoot) }, "last looked at"},
		{"robots.txt not to be stored, for longer than a minute", "P1", Expect{RobotsFreshness: true}, func(w *Web) {
			w.Site("a.example").Robots("").Header("Cache-Control", "no-store")
		},
			func(b *browser) { b.get(aRobots); time.Sleep(time.Minute + 1); b.get(aRoot) },
			func(b *browser) { b.get(aRobots); time.Sleep(time.Minute); b.get(aRoot) }, "last looked at"},
		{"robots.txt lost for 30 days", "P8", second, recovering,
			func(b *browser) { b.slowly(aRobots); time.Sleep(31 * 24 * time.Hour); b.slowly(aRobots, aRoot) },
			func(b *browser) { b.slowly(aRobots); time.Sleep(29 * 24 * time.Hour); b.slowly(aRobots, aRoot) }, "30 days"},
		{"robots.txt 404 allows", "P1", second, status(404),
			func(b *browser) { b.slowly(aRoot) },
			func(b *browser) { b.slowly(aRobots, aRoot) }, "before"},
		{"robots.txt with too many redirects is as 404", "P1", second, func(w *Web) { w.Site("a.example").RedirectChain("/robots.txt", 9, "/x") },
			func(b *browser) { b.slowly(aRobots, aRobots+"-1", aRobots+"-2", aRobots+"-3", aRobots+"-4", aRoot) },
			func(b *browser) {
				b.slowly(aRobots, aRobots+"-1", aRobots+"-2", aRobots+"-3", aRobots+"-4", aRobots+"-5", aRoot)
			}, "before robots.txt was answered"},
	}
}

func paceCases(second Expect) []auditCase {
	slow := func(w *Web) { w.Site("a.example").Latency(3 * time.Second) }
	delayed := func(w *Web) {
		w.Site("a.example").Robots("User-agent: *\nCrawl-delay: 5\n").Delays(5 * time.Second)
	}
	shared := func(w *Web) { w.Site("a.example").Address("192.0.2.9"); w.Site("b.example").Address("192.0.2.9") }
	hanging := func(w *Web) { w.Site("a.example").Page("/", "x").Fault(Hang()) }
	return []auditCase{
		{"two in flight", "P3", second, slow,
			func(b *browser) { b.slowly(aRobots); time.Sleep(time.Second); b.abreast(aRoot, aPage) },
			func(b *browser) { b.slowly(aRobots, aRoot, aPage) }, "2 requests in flight"},
		{"three in flight of two", "P3", Expect{PerHost: 2}, slow,
			func(b *browser) { b.get(aRobots); b.abreast(aRoot, aPage, aPage+"2") },
			func(b *browser) { b.get(aRobots); b.abreast(aRoot, aPage); b.abreast(aPage+"2", aPage+"3") }, "3 requests in flight"},
		{"in flight until the client hangs up", "P3", Expect{}, hanging,
			func(b *browser) { b.get(aRobots); b.c.Timeout = time.Minute; b.abreast(aRoot, aPage) },
			func(b *browser) { b.get(aRobots); b.c.Timeout = time.Minute; b.get(aRoot, aPage) }, "in flight"},
		{"in flight at the same instant", "P3", Expect{}, func(w *Web) { w.Site("a.example").Handle("/*", http.HandlerFunc(waitForGo(w))) },
			func(b *browser) { b.get(aRobots); b.abreast(aRoot, aPage) },
			func(b *browser) { b.get(aRobots, aRoot, aPage) }, "in flight"},
		{"gap", "P4", second, nil,
			func(b *browser) { b.slowly(aRobots, aRoot); time.Sleep(time.Second - 1); b.get(aPage) },
			func(b *browser) { b.slowly(aRobots, aRoot, aPage) }, "too shortly"},
		{"gap counts from the end", "P4", second, slow,
			func(b *browser) { b.slowly(aRobots, aRoot); time.Sleep(time.Second - 1); b.get(aPage) },
			func(b *browser) { b.slowly(aRobots, aRoot, aPage) }, "too shortly"},
		{"gap after robots.txt", "P4", second, nil,
			func(b *browser) { b.get(aRobots, aRoot) },
			func(b *browser) { b.get(aRobots); b.slowly(aRoot) }, "too shortly"},
		{"gap between http and https is none", "P4", second, func(w *Web) { w.Site("a.example"); w.Site("https://a.example") },
			func(b *browser) { b.get(aRobots, aRobots) },
			func(b *browser) { b.get(aRobots, "https://a.example/robots.txt") }, "too shortly"},
		{"gap after a failure", "P4", second, func(w *Web) { w.Site("a.example").Page("/", "").Fault(Reset()) },
			func(b *browser) { b.slowly(aRobots); b.c.CloseIdleConnections(); b.slowly(aRoot); b.get(aRoot) },
			func(b *browser) { b.slowly(aRobots); b.c.CloseIdleConnections(); b.slowly(aRoot, aRoot) }, "too shortly"},
		{"net/http's own retry on a reused connection", "P4", second, func(w *Web) { w.Site("a.example").Page("/", "").Fault(Reset()) },
			func(b *browser) { b.slowly(aRobots, aRoot) },
			func(b *browser) { b.slowly(aRobots); b.c.CloseIdleConnections(); b.slowly(aRoot) }, "too shortly"},
		{"gap with two in flight", "P4", Expect{Delay: time.Second, PerHost: 2}, slow,
			func(b *browser) { b.get(aRobots); b.abreast(aRoot, aPage); b.get(aPage + "2") },
			func(b *browser) {
				b.get(aRobots)
				time.Sleep(time.Second)
				b.abreast(aRoot, aPage)
				b.slowly(aPage + "2")
			}, "too shortly"},
		{"refused and again at once", "P4", second, func(w *Web) { w.Site("a.example").Fault(Refuse()) },
			func(b *browser) { b.get(aRobots, aRobots) },
			func(b *browser) { b.slowly(aRobots, aRobots) }, "came to nothing"},
		{"Crawl-delay", "P5", second, delayed,
			func(b *browser) { b.slowly(aRobots); time.Sleep(5 * time.Second); b.slowly(aRoot, aPage) },
			func(b *browser) {
				b.slowly(aRobots)
				time.Sleep(5 * time.Second)
				b.get(aRoot)
				time.Sleep(5 * time.Second)
				b.get(aPage)
			}, "too shortly"},
		{"Crawl-delay of the page after robots.txt", "P5", second, delayed,
			func(b *browser) { b.slowly(aRobots, aRoot) },
			func(b *browser) { b.slowly(aRobots); time.Sleep(5 * time.Second); b.get(aRoot) }, "too shortly"},
		{"Crawl-delay of the own group", "P5", Expect{Agent: "TestBot"}, func(w *Web) {
			w.Site("a.example").CrawlDelay(time.Hour).CrawlDelayFor("testbot", 2*time.Second).Robots("")
		},
			func(b *browser) { b.slowly(aRobots, aRoot) },
			func(b *browser) { b.slowly(aRobots); time.Sleep(time.Second); b.slowly(aRoot) }, "too shortly"},
		{"Crawl-delay above the maximum", "P5", Expect{MaxCrawlDelay: 4 * time.Second}, delayed,
			func(b *browser) { b.get(aRobots); time.Sleep(5 * time.Second); b.get(aRoot) },
			func(b *browser) { b.get(aRobots); time.Sleep(5 * time.Second); b.get(aRobots) }, "given up"},
		{"rate", "rate", Expect{Rate: 2, RateSlack: time.Second}, nil,
			func(b *browser) { b.get(aRobots, aRoot, aPage, aPage+"2", aPage+"3") },
			func(b *browser) {
				b.get(aRobots, aRoot, aPage, aPage+"2")
				time.Sleep(500 * time.Millisecond)
				b.get(aPage + "3")
			}, "more requests"},
		{"latency", "P5", Expect{Delay: time.Second, LatencyFactor: 2}, slow,
			func(b *browser) { b.get(aRobots); time.Sleep(5 * time.Second); b.get(aRoot) },
			func(b *browser) { b.get(aRobots); time.Sleep(6 * time.Second); b.get(aRoot) }, "too shortly"},
		{"latency capped", "P5", Expect{Delay: time.Second, LatencyFactor: 2, MaxLatencyDelay: 4 * time.Second}, slow,
			func(b *browser) { b.get(aRobots); time.Sleep(3 * time.Second); b.get(aRoot) },
			func(b *browser) { b.get(aRobots); time.Sleep(4 * time.Second); b.get(aRoot) }, "too shortly"},
		{"gap on one address", "P6", Expect{Delay: time.Second, PerAddress: true}, shared,
			func(b *browser) { b.get(aRobots, bRobots) },
			func(b *browser) { b.slowly(aRobots, bRobots) }, "too shortly"},
		{"in flight on one address", "P6", Expect{PerAddress: true}, func(w *Web) { shared(w); slow(w) },
			func(b *browser) { b.abreast(aRobots, bRobots) },
			func(b *browser) { b.get(aRobots, bRobots) }, "in flight"},
		{"pipelined", "P3", Expect{}, slow, pipeline("/1", "/2"), pipeline("/1"), "2 requests in flight"},
		{"two in flight at one own host", "P3", Expect{Hosts: map[string]HostExpect{"a.example:80": {PerHost: 2}}},
			func(w *Web) { slow(w); w.Site("b.example").Latency(time.Second) },
			func(b *browser) { b.get(aRobots, bRobots); b.abreast(bRoot, bRoot+"2") },
			func(b *browser) { b.get(aRobots, bRobots); b.abreast(aRoot, aPage) }, "2 requests in flight"},
		{"delay of an own host", "P4", Expect{Delay: time.Second, PerAddress: true, Hosts: map[string]HostExpect{"a.example:80": {}}}, shared,
			func(b *browser) { b.get(aRobots, bRobots, bRoot) },
			func(b *browser) { b.get(aRobots, aRoot, bRobots, aPage); b.slowly(bRoot) }, "too shortly"},
		{"addresses not requested", "P4", second, shared,
			func(b *browser) { b.get(aRobots, aRoot) },
			func(b *browser) { b.get(aRobots, bRobots) }, "too shortly"},
	}
}

// pipeline sends requests on one connection without waiting for responses.
func pipeline(paths ...string) func(*browser) {
	return func(b *browser) {
		b.get(aRobots)
		var text strings.Builder
		for i, p := range paths {
			fmt.Fprintf(&text, "GET %s HTTP/1.1\r\nHost: a.example\r\nUser-Agent: %s\r\n", p, ua)
			if i == len(paths)-1 {
				text.WriteString("Connection: close\r\n")
			}
			text.WriteString("\r\n")
		}
		b.raw("a.example:80", text.String())
	}
}

// waitForGo returns a handler that responds when the next request has arrived, or when nothing else can happen.
func waitForGo(w *Web) func(http.ResponseWriter, *http.Request) {
	return func(rw http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Nanosecond)
		io.WriteString(rw, "x")
	}
}

func retryCases(second Expect) []auditCase {
	seconds := func(w *Web) { w.Site("a.example").Fault(RetryAfter(429, time.Minute).First(1).From(time.Hour)) }
	date := func(w *Web) { w.Site("a.example").Fault(RetryAfterDate(503, time.Minute).First(1).From(time.Hour)) }
	before := func(b *browser) { b.get(aRobots); time.Sleep(time.Hour) }
	return []auditCase{
		{"Retry-After in seconds", "P7", second, seconds,
			func(b *browser) { before(b); b.get(aRoot); time.Sleep(time.Minute - 1); b.get(aPage) },
			func(b *browser) { before(b); b.get(aRoot); time.Sleep(time.Minute); b.get(aPage) }, "Retry-After"},
		{"Retry-After as a date", "P7", second, date,
			func(b *browser) { before(b); b.get(aRoot); time.Sleep(time.Minute - 1); b.get(aPage) },
			func(b *browser) { before(b); b.get(aRoot); time.Sleep(time.Minute); b.get(aPage) }, "Retry-After"},
		{"Retry-After as a date of a slow clock", "P7", second, func(w *Web) { date(w); w.Site("a.example").Clock(-time.Hour) },
			func(b *browser) { before(b); b.get(aRoot); time.Sleep(time.Minute - 1); b.get(aPage) },
			func(b *browser) { before(b); b.get(aRoot); time.Sleep(time.Minute); b.get(aPage) }, "Retry-After"},
		{"Retry-After too long to obey", "P7", Expect{MaxRetryAfter: time.Second}, seconds,
			func(b *browser) { before(b); b.get(aRoot); time.Sleep(time.Hour); b.get(aPage) },
			func(b *browser) { before(b); b.get(aRoot) }, "given up"},
		{"Retry-After of robots.txt", "P7", second, func(w *Web) { w.Site("a.example").RobotsStatus(503).Header("Retry-After", "60") },
			func(b *browser) { b.get(aRobots); time.Sleep(30 * time.Second); b.get(aRobots) },
			func(b *browser) { b.get(aRobots); time.Sleep(60 * time.Second); b.get(aRobots) }, "Retry-After"},
		{"Retry-After of a redirect", "P7", second, func(w *Web) {
			w.Site("b.example")
			w.Site("a.example").Page("/", "").Status(302).Location("http://b.example/").Header("Retry-After", "60")
		},
			func(b *browser) {
				b.get(aRobots)
				time.Sleep(time.Hour)
				b.get(aRoot)
				time.Sleep(time.Minute - 1)
				b.get(bRobots)
			},
			func(b *browser) {
				b.get(aRobots)
				time.Sleep(time.Hour)
				b.get(aRoot)
				time.Sleep(time.Minute)
				b.get(bRobots)
			}, "redirect"},
		{"RateLimit that is used up", "P7", second, func(w *Web) {
			w.Site("a.example").Page("/", "").Header("RateLimit", `"a";r=7;t=90, "b";r=0;t=60`)
		},
			func(b *browser) { before(b); b.get(aRoot); time.Sleep(time.Minute - 1); b.get(aPage) },
			func(b *browser) { before(b); b.get(aRoot); time.Sleep(time.Minute); b.get(aPage) }, "RateLimit"},
		{"a silence that pages with 503 do not lengthen", "gone", Expect{AllowRepeats: true, MaxSilence: 3 * time.Second}, func(w *Web) {
			w.Site("a.example").Page("/", "").Status(429)
			w.Site("a.example").Page("/1", "").Status(503)
			w.Site("a.example").Page("/2", "").Status(503)
		},
			func(b *browser) { before(b); b.slowly(aRoot, aRoot, aRoot, aRoot, aRoot, aPage) },
			func(b *browser) {
				before(b)
				b.slowly(aRoot, aRoot, aRoot, aRoot, aPage, "http://a.example/2", aRoot)
			}, "not answered well"},
		{"a bot wall", "gone", Expect{AllowRepeats: true}, func(w *Web) { w.Site("a.example").Fault(Challenge(200).From(time.Hour)) },
			func(b *browser) { before(b); b.slowly(aRoot, aRoot, aRoot, aRoot, aRobots, aRoot, aPage) },
			func(b *browser) { before(b); b.slowly(aRoot, aRoot, aRoot, aRobots, aRoot, aRoot) }, "5 challenges"},
		{"a bot wall that lets one through", "gone", Expect{AllowRepeats: true}, func(w *Web) {
			w.Site("a.example").Page("/", "").Header("Cf-Mitigated", "challenge")
			w.Site("a.example").Page("/page", "x")
		},
			func(b *browser) { before(b); b.slowly(aPage, aRoot, aRoot, aRoot, aRoot, aRoot, aPage) },
			func(b *browser) { before(b); b.slowly(aRoot, aRoot, aRoot, aPage, aRoot, aRoot, aPage) }, "5 challenges"},
		{"a robots.txt that a bot wall answers", "P8", second, func(w *Web) { w.Site("a.example").Fault(Challenge(404)) },
			func(b *browser) { b.slowly(aRobots, aRoot) },
			func(b *browser) { b.slowly(aRobots) }, "unreachable"},
	}
}

func wireCases(second Expect) []auditCase {
	named := Expect{Agent: "testbot", Contact: "https://testbot.example/"}
	cookie := func(w *Web) { w.Site("a.example").Robots("").Header("Set-Cookie", "id=1; Path=/"); w.Site("b.example") }
	polite := func(b *browser) { b.slowly(aRobots, aRoot) }
	return []auditCase{
		{"no User-Agent", "P11", named, nil, func(b *browser) { b.send("GET", aRobots, http.Header{"User-Agent": {" "}}) }, polite, "no User-Agent"},
		{"no product", "P11", named, nil, func(b *browser) { b.with("User-Agent", "Mozilla/5.0 (+https://testbot.example/)", aRobots) }, polite, "does not name testbot"},
		{"no contact", "P11", named, nil, func(b *browser) { b.with("User-Agent", "testbot/1.0", aRobots) }, polite, "contact"},
		{"two User-Agents", "P11", named, nil, func(b *browser) { b.get(aRobots); b.with("User-Agent", ua+" x", aRoot) }, polite, "differs"},
		{"cookie of another host", "P11", Expect{}, cookie,
			func(b *browser) { b.get(aRobots); b.with("Cookie", "id=1", bRobots) },
			func(b *browser) { b.get(aRobots); b.with("Cookie", "id=1", aRoot) }, "cookie id=1"},
		{"Authorization", "P11", Expect{AuthHosts: []string{"b.example:80"}}, cookie,
			func(b *browser) { b.with("Authorization", "Basic eDp5", aRobots) },
			func(b *browser) { b.with("Authorization", "Basic eDp5", bRobots) }, "Authorization"},
		{"method", "method", Expect{}, nil,
			func(b *browser) { b.get(aRobots); b.send(http.MethodHead, aRoot, nil) }, polite, "HEAD instead of GET"},
		{"a login", "method", Expect{Logins: []string{aPage}}, nil,
			func(b *browser) { b.get(aRobots); b.send(http.MethodPost, aRoot, nil) },
			func(b *browser) { b.slowly(aRobots, aPage); b.send(http.MethodPost, aPage, nil) }, "POST instead of GET"},
		{"two logins", "method", Expect{Logins: []string{aPage}}, nil,
			func(b *browser) {
				b.get(aRobots)
				b.send(http.MethodPost, aPage, nil)
				b.send(http.MethodPost, aPage, nil)
			},
			func(b *browser) { b.get(aRobots); b.send(http.MethodPost, aPage, nil) }, "a POST too many"},
		{"long line", "line", Expect{}, nil,
			func(b *browser) { b.get(aRobots, aRoot+strings.Repeat("x", 8192)) },
			func(b *browser) { b.get(aRobots, aRoot+strings.Repeat("x", 8192-len("GET / HTTP/1.1"))) }, "8 KiB"},
		{"absolute form", "line", Expect{}, nil, rawTarget("http://a.example/x"), polite, "origin form"},
		{"fragment", "line", Expect{}, nil, rawTarget("/x#y"), polite, "fragment"},
		{"not ASCII", "line", Expect{}, nil, rawTarget("/\xc3\xa4"), polite, "visible ASCII"},
		{"blank", "line", Expect{}, nil, rawTarget("/a b"), polite, "visible ASCII"},
		{"repeat", "repeat", second, nil,
			func(b *browser) { b.slowly(aRobots, aRoot, aPage, aRoot) },
			func(b *browser) { b.slowly(aRobots, aRoot, aPage, aRobots) }, "answered completely"},
		{"repeat after a failure", "repeat", second, func(w *Web) { w.Site("a.example").Page("/", "x").Fault(Fail(500).First(1)) },
			func(b *browser) { b.slowly(aRobots, aRoot, aRoot, aRoot) },
			func(b *browser) { b.slowly(aRobots, aRoot, aRoot) }, "answered completely"},
		{"repeat after a cut", "repeat", second, func(w *Web) { w.Site("a.example").Page("/", "xyz").Fault(CutShort(1).First(1)) },
			func(b *browser) { b.slowly(aRobots, aRoot, aRoot, aRoot) },
			func(b *browser) { b.slowly(aRobots, aRoot, aRoot) }, "answered completely"},
		{"repeat allowed", "P1", Expect{AllowRepeats: true}, nil,
			func(b *browser) { b.get(aRoot) },
			func(b *browser) { b.get(aRobots, aRoot, aRoot) }, "before"},
	}
}

func rawTarget(target string) func(b *browser) {
	return func(b *browser) {
		b.get(aRobots)
		b.raw("a.example:80", fmt.Sprintf("GET %s HTTP/1.1\r\nHost: a.example\r\nUser-Agent: %s\r\nConnection: close\r\n\r\n", target, ua))
	}
}

// TestAuditor checks that a rude client breaks each rule, and only that rule, and a polite one keeps it.
func TestAuditor(t *testing.T) {
	for _, tt := range auditCases() {
		run := func(t *testing.T, f func(*browser)) (vs []Violation) {
			bubble(t, func(t *testing.T, w *Web) {
				w.Site("a.example")
				if tt.web != nil {
					tt.web(w)
				}
				f(&browser{t, w, client(t, w)})
				w.Close()
				vs = w.Audit(tt.expect)
			})
			return vs
		}
		t.Run(tt.rule+"/"+tt.name, func(t *testing.T) {
			vs := run(t, tt.rude)
			if len(vs) == 0 {
				t.Error("rude client not caught")
			}
			for _, v := range vs {
				if v.Rule != tt.rule || !strings.Contains(v.Detail, tt.detail) || v.Host == "" {
					t.Errorf("rude client: %v", v)
				}
			}
			for _, v := range run(t, tt.polite) {
				t.Errorf("polite client: %v", v)
			}
		})
	}
}

func TestViolationNamesRequestsAndGap(t *testing.T) {
	bubble(t, func(t *testing.T, w *Web) {
		w.Site("a.example")
		b := &browser{t, w, client(t, w)}
		b.get(aRobots)
		time.Sleep(300 * time.Millisecond)
		b.get(aRoot)
		w.Close()
		vs := w.Audit(Expect{Delay: time.Second})
		want := "P4 a.example:80: too shortly after the one before: request 2 http://a.example/, after request 1 http://a.example/robots.txt, gap 300ms of 1s"
		if len(vs) != 1 || vs[0].String() != want {
			t.Errorf("got  %v\nwant %s", vs, want)
		}
	})
}

// notingTB is a testing.TB that records failures instead of failing.
type notingTB struct {
	testing.TB
	errors []string
}

func (n *notingTB) Helper() {}

func (n *notingTB) Errorf(format string, args ...any) {
	n.errors = append(n.errors, fmt.Sprintf(format, args...))
}

func TestAuditInCleanupFailsTheTest(t *testing.T) {
	Test(t, func(t *testing.T, w *Web) {
		w.ExpectViolations()
		w.Site("a.example")
		(&browser{t, w, client(t, w)}).get(aRoot)
		noting := &notingTB{}
		audited := &Web{tb: noting, log: w.log, expect: Expect{Agent: "other"}}
		audited.auditInCleanup()
		if got := strings.Join(noting.errors, "\n"); !strings.Contains(got, "P1 ") || !strings.Contains(got, "P11 ") {
			t.Errorf("got %q", got)
		}
		audited.ExpectViolations()
		noting.errors = nil
		if audited.auditInCleanup(); len(noting.errors) != 0 {
			t.Errorf("audited despite ExpectViolations: %q", noting.errors)
		}
	})
}

func TestAPoliteCrawlPassesTest(t *testing.T) {
	Test(t, func(t *testing.T, w *Web) {
		w.Expect(Expect{Delay: time.Second, Agent: "testbot", Contact: "https://testbot.example/", PerAddress: true})
		w.Site("a.example")
		(&browser{t, w, client(t, w)}).slowly(aRobots, aRoot, aPage)
		w.MustRequest(aRoot, aPage)
		w.MustNotRequest(bRoot)
	})
}
