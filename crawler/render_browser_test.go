package crawler_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/rendertest"
)

// listener is a site on loopback that records all requests.
type listener struct {
	*httptest.Server
	mu          sync.Mutex
	connections int
	requests    []string
	times       []time.Time
}

func listen(t *testing.T, pages map[string]string) *listener {
	t.Helper()
	l := &listener{}
	l.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.requests, l.times = append(l.requests, r.Method+" "+r.URL.Path+" "+r.UserAgent()), append(l.times, time.Now())
		l.mu.Unlock()
		body, ok := pages[r.URL.Path]
		switch {
		case !ok:
			http.NotFound(w, r)
			return
		case strings.HasSuffix(r.URL.Path, ".js"):
			w.Header().Set("Content-Type", "text/javascript")
		case strings.HasPrefix(body, "{"):
			w.Header().Set("Content-Type", "application/json")
		case strings.HasPrefix(body, "<"):
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		fmt.Fprint(w, body)
	}))
	l.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			l.mu.Lock()
			l.connections++
			l.mu.Unlock()
		}
	}
	l.Start()
	t.Cleanup(l.Close)
	return l
}

// A real browser renders the pages of a crawl, but only the crawler contacts their site. robots.txt comes first, all
// requests keep the pause, and disallowed URLs are not requested.
func TestBrowserRendersACrawl(t *testing.T) {
	browser := rendertest.Browser(t)
	l := listen(t, map[string]string{
		"/robots.txt": "User-agent: *\nDisallow: /secret",
		"/":           `<!doctype html><title>shell</title><div id=root></div><script type=module src=/app.js></script>`,
		"/app.js": `import { links } from "./lib.js"; navigator.sendBeacon("/beacon"); new WebSocket("ws://" + location.host + "/socket");
			const no = await fetch("/secret").then(r => "answered", e => "failed"); const j = await (await fetch("/api")).json();
			document.title = j.title; root.innerHTML = links.map(l => "<a href=" + l + ">x</a>").join("") + "<p>" + no + "</p>"; history.pushState(0, "", "/pushed")`,
		"/lib.js": `export const links = ["/one", "/two"]`,
		"/api":    `{"title": "made by a script"}`,
		"/one":    "<!doctype html><p>one" + strings.Repeat(" word", 100), "/two": "<!doctype html><p>two" + strings.Repeat(" word", 100),
		"/pushed": "<!doctype html><p>pushed" + strings.Repeat(" word", 100),
	})
	v := &visits{}
	const pause = 150 * time.Millisecond
	x, err := crawler.New(crawler.Config{
		Agent: "testbot/1.0", Contact: contact, Handler: v, Render: render.Policy{Mode: render.Auto}, Renderer: browser,
		Politeness: politeness.Config{Delay: pause},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Run(t.Context(), l.URL+"/"); err != nil {
		t.Fatal(err)
	}
	home := v.by[l.URL+"/"]
	if home.Rendered == nil || home.Rendered.Cut != "" || home.Doc.Title != "made by a script" || !strings.Contains(string(home.Rendered.DOM), "<p>failed</p>") {
		t.Fatalf("%s, %+v", v.line(l.URL+"/"), home.Rendered)
	}
	v.expect(t, map[string]string{l.URL + "/": "fetched 200", l.URL + "/one": "fetched 200", l.URL + "/two": "fetched 200", l.URL + "/pushed": "fetched 200"})
	l.check(t, pause)
}

// check checks that the listener received only requests from the crawler.
func (l *listener) check(t *testing.T, pause time.Duration) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var paths []string
	for _, r := range l.requests {
		f := strings.Fields(r)
		if f[0] != "GET" || !strings.HasPrefix(f[2], "testbot/1.0") {
			t.Errorf("a stranger: %s", r)
		}
		paths = append(paths, f[1])
	}
	if want := []string{"/robots.txt", "/", "/app.js", "/lib.js", "/api"}; len(paths) != 8 || !slices.Equal(paths[:5], want) {
		t.Errorf("requests %q, at first want %q", paths, want)
	}
	if l.connections > len(l.requests) {
		t.Errorf("%d connections for %d requests", l.connections, len(l.requests))
	}
	for i := 1; i < len(l.times); i++ {
		if gap := l.times[i].Sub(l.times[i-1]); gap < pause-time.Millisecond {
			t.Errorf("%v between %s and %s", gap, l.requests[i-1], l.requests[i])
		}
	}
}
