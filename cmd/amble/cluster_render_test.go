//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/render/chromium"
	"github.com/amble-crawler/amble/render/rendertest"
)

// apps represents sites on loopback whose pages are built by scripts. All load a library from one site. The sites count their requests.
type apps struct {
	mu    sync.Mutex
	count map[string]int
	bases []string
	cdn   string
}

const appsEach = 4

func serveApps(t *testing.T, sites int) *apps {
	t.Helper()
	a := &apps{count: map[string]int{}}
	serve := func(h http.HandlerFunc) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a.mu.Lock()
			a.count["http://"+r.Host+r.URL.Path]++
			a.mu.Unlock()
			h(w, r)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	a.cdn = serve(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /no/\n")
		default:
			w.Header().Set("Content-Type", "text/javascript")
			w.Header().Set("Access-Control-Allow-Origin", "*")
			fmt.Fprint(w, "export function show(links, own) { document.title = own; root.innerHTML = links.map(l => `<a href='${l}'>x</a>`).join('') + `<p>${own}</p>` }\n")
		}
	})
	for range sites {
		h := len(a.bases)
		a.bases = append(a.bases, serve(func(w http.ResponseWriter, r *http.Request) {
			var page int
			switch path := r.URL.Path; {
			case path == "/robots.txt":
				http.NotFound(w, r)
			case strings.HasPrefix(path, "/own"):
				w.Header().Set("Cache-Control", "no-store")
				fmt.Fprintf(w, "own %s", path)
			case path == "/":
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<!doctype html><title>start</title>")
				for _, base := range a.bases {
					fmt.Fprintf(w, "<a href=%s/0>x</a> ", base)
				}
				fmt.Fprint(w, strings.Repeat("words that make it long enough ", 20))
			default:
				_, _ = fmt.Sscanf(path, "/%d", &page)
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, `<!doctype html><div id=root></div><script type=module>import { show } from "%s/lib.js"; fetch("%[1]s/no/1").catch(() => 0);
					show(["/%d", "%s/%d"], await (await fetch("/own%[5]d")).text())</script>`, a.cdn, (page+1)%appsEach, a.bases[(h+1)%len(a.bases)], page, page)
			}
		}))
	}
	return a
}

func (a *apps) of(url string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count[url]
}

// TestClusterRenders runs processes that render the pages of a job in their browsers. One process is killed and starts again. The collected
// job has each page once, rendered, with a screenshot; verify finds no violation; and each process has requested the library once.
func TestClusterRenders(t *testing.T) {
	if testing.Short() {
		t.Skip("takes real time")
	}
	skipUnderRace(t)
	t.Parallel()
	if r, err := chromium.New(t.Context(), chromium.Config{}); err != nil {
		rendertest.Unavailable(t, err)
	} else if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	web, dir := serveApps(t, 4), t.TempDir()
	at := []string{"--cluster", serveEngine(t, filepath.Join(dir, "engine")), "--job", "test"}
	do := func(command string, args ...string) *proc {
		return launch(t, append(append([]string{"cluster", command}, at...), args...)...)
	}
	do("create", "--shards", "6", "--replicas", "1", "--lease", "6s", "--delay", "200ms", "--depth", "1000", "--scope", "any", "--max-time", "1h",
		"--archive", "--render", "auto", "--screenshot", web.bases[0]+"/").ends(0)
	node := func(name string) *proc {
		return do("work", "--name", name, "-o", filepath.Join(dir, name), "--verbose")
	}
	do("pause").ends(0)
	a, b := node("a"), node("b")
	until(t, "both own shards", func() bool {
		return strings.Contains(a.says.String(), "taken") && strings.Contains(b.says.String(), "taken")
	})
	do("resume").ends(0)
	until(t, "a page loads its own data", func() bool {
		return web.of(web.bases[0]+"/own0")+web.of(web.bases[1]+"/own0")+web.of(web.bases[2]+"/own0") > 0
	})
	if err := b.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-b.done
	b = node("b")
	a.ends(0)
	b.ends(0)
	out := filepath.Join(dir, "out")
	do("check", filepath.Join(dir, "a"), filepath.Join(dir, "b")).ends(0)
	do("collect", "-o", out, filepath.Join(dir, "a"), filepath.Join(dir, "b")).ends(0)
	launch(t, "verify", out).ends(0)
	launch(t, "report", out).ends(0)
	web.check(t, out)
}

// check compares the collected job with the sites.
func (a *apps) check(t *testing.T, out string) {
	t.Helper()
	r, err := job.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pages := map[string]int{}
	for v, err := range r.Visits() {
		if err != nil {
			t.Fatal(err)
		}
		if pages[v.URL]++; strings.HasSuffix(v.URL, "/") {
			continue
		}
		if x := v.Rendered; x == nil || x.Cut != "" || x.WARC == nil || !strings.HasPrefix(v.Title, "own /own") {
			t.Errorf("%s: title %q, %+v", v.URL, v.Title, x)
		}
	}
	if n := len(a.bases)*appsEach + 1; len(pages) != n {
		t.Errorf("%d pages, want %d: %v", len(pages), n, pages)
	}
	for u, n := range pages {
		if n != 1 {
			t.Errorf("%s is there %d times", u, n)
		}
	}
	if n := a.of(a.cdn + "/lib.js"); n < 1 || n > 3 { // a restarted process lacks the uncommitted files of the killed one
		t.Errorf("the library was requested %d times, want once by each process", n)
	}
	if n := a.of(a.cdn + "/no/1"); n > 0 {
		t.Errorf("what robots.txt forbids was requested %d times", n)
	}
	m, err := r.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Runs {
		if m.Runs[i].Browser == "" {
			t.Errorf("run %d names no browser", i)
		}
	}
	pictures := 0
	archives, err := filepath.Glob(filepath.Join(out, "warc", "*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range archives {
		pictures += strings.Count(readGzip(name), "WARC-Target-URI: urn:view:")
	}
	if want := len(a.bases) * appsEach; pictures != want {
		t.Errorf("%d pictures, want %d", pictures, want)
	}
}

// readGzip returns the decompressed content of a file.
func readGzip(name string) string {
	return string(must(io.ReadAll(must(gzip.NewReader(bytes.NewReader(must(os.ReadFile(name))))))))
}

// TestClusterNodeWithoutBrowser checks that a node without a browser refuses the job and names the flag.
func TestClusterNodeWithoutBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("takes real time")
	}
	t.Parallel()
	dir := t.TempDir()
	at := []string{"--cluster", serveEngine(t, filepath.Join(dir, "engine")), "--job", "test"}
	do := func(command string, args ...string) *proc {
		return launch(t, append(append([]string{"cluster", command}, at...), args...)...)
	}
	for _, flag := range []string{"--browser=chromium", "--render-isolation=flags"} {
		p := do("create", "--replicas", "1", "--render", "auto", flag, "http://127.0.0.1:9/")
		if p.ends(2); !strings.Contains(p.says.String(), "each node") {
			t.Errorf("%s: %s", flag, p.says)
		}
	}
	do("create", "--shards", "2", "--replicas", "1", "--render", "auto", "http://127.0.0.1:9/").ends(0)
	p := do("work", "--name", "a", "-o", filepath.Join(dir, "a"), "--browser", filepath.Join(dir, "none"))
	if p.ends(2); !strings.Contains(p.says.String(), "renders pages") || !strings.Contains(p.says.String(), "--browser") {
		t.Errorf("%s", p.says)
	}
}
