package job

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/rendertest"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// app makes a site whose pages are built by scripts, and calls at with each requested path. The function count returns requests by path.
func app(t *testing.T, at func(path string)) (seed string, count func(path string) int) {
	t.Helper()
	var mu sync.Mutex
	seen := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.URL.Path]++
		mu.Unlock()
		at(r.URL.Path)
		switch path := r.URL.Path; {
		case path == "/robots.txt":
			http.NotFound(w, r)
		case path == "/app.js":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, "text of the script\n")
		case strings.HasPrefix(path, "/api"):
			w.Header().Set("Cache-Control", "no-store")
			fmt.Fprintf(w, "<p>answer %s</p>", path)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!doctype html><title>%[1]s</title><body><div id=root></div><script src=/app.js></script><script>fetch /api%[1]s\nfetch /api/last%[1]s\nlink /a\nlink /b</script></body>", path)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/", func(path string) int {
		mu.Lock()
		defer mu.Unlock()
		return seen[path]
	}
}

func rendered() Config {
	return Config{Archive: true, Crawl: crawler.Config{
		Contact: "https://lab.university.edu/crawl", Render: render.Policy{Mode: render.Auto}, Renderer: &rendertest.Fake{},
		Politeness: politeness.Config{Delay: politeness.MinDelay},
	}}
}

// If the process of a job ends while pages wait to be rendered, the next process renders them. Nothing is requested twice.
func TestRenderedJobResumes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seed, count := app(t, func(path string) {
		if path == "/api/last/" {
			cancel()
		}
	})
	dir := filepath.Join(t.TempDir(), "job")
	j, err := Create(dir, rendered(), seed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if j, err = Start(dir, rendered(), seed); err != nil {
		t.Fatal(err)
	}
	rep, err := j.Run(t.Context())
	if err = errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	if rep.Rendering == nil || rep.Rendering.Pages != 3 || rep.Pages != 3 {
		t.Errorf("%+v", rep)
	}
	for path, want := range map[string]int{"/": 1, "/app.js": 1, "/api/": 1, "/api/a": 1, "/api/last/a": 1, "/b": 1} {
		if n := count(path); n != want {
			t.Errorf("%s was requested %d times", path, n)
		}
	}
	for path, want := range map[string]string{"": "", "app.js": "", "a": ""} {
		if got := staticOf(t, dir, seed+path); got != want {
			t.Errorf("%s is static because %q, want %q", path, got, want)
		}
	}
	names, err := openedFiles(t, dir).recorded()
	if err != nil || slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, resourcesName) }) {
		t.Errorf("the record of the job is %v, %v", names, err)
	}
	foreign := filepath.Join(dir, resourcesName, "notes")
	if err := os.WriteFile(foreign, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := openedFiles(t, dir).checkJob(); err == nil || !strings.Contains(err.Error(), "resources/notes, which no crawl made") {
		t.Errorf("%v", err)
	}
}

func staticOf(t *testing.T, dir, url string) string {
	t.Helper()
	r, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	u, err := weburl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Explain(u)
	if err != nil {
		t.Fatal(err)
	}
	return s.Static
}

func TestStatic(t *testing.T) {
	whole := sink.Record{Outcome: "fetched", Status: 200, Type: "text/html"}
	for want, change := range map[string]func(*sink.Record){
		"":                               func(r *sink.Record) { r.Rendered = &sink.Rendered{} },
		"it is no HTML":                  func(r *sink.Record) { r.Type = "image/png" },
		"its status is 404":              func(r *sink.Record) { r.Status = 404 },
		"it is not complete (cut_short)": func(r *sink.Record) { r.Truncated = "cut_short" },
		"it has its content without its scripts, as far as the rules of auto can tell": func(*sink.Record) {},
	} {
		r := whole
		if change(&r); static(&r) != want {
			t.Errorf("%q, want %q", static(&r), want)
		}
	}
}

func openedFiles(t *testing.T, dir string) jobFiles {
	t.Helper()
	d, err := openJobFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.close() })
	return d
}
