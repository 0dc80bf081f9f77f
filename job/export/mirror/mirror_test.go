package mirror

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/exporttest"
)

// mirrored exports a job as a mirror.
func mirrored(t *testing.T, dir string) (string, *export.Result) {
	t.Helper()
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := filepath.Join(t.TempDir(), "mirror")
	res, err := export.Write(t.Context(), r, Kind(), path, func(export.Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	return path, res
}

// files returns the paths of all files below a directory, with slashes.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			path, err = filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// visited crawls a mirror on a plain file server and returns the status of each URL.
func visited(t *testing.T, dir, first string) map[string]int {
	t.Helper()
	srv := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer srv.Close()
	host := strings.TrimPrefix(srv.URL, "http://")
	cfg := crawler.Config{Contact: exporttest.Contact}
	cfg.Politeness.OwnHosts = func(h string) int { return map[bool]int{true: 4}[h == host] }
	cfg.Politeness.Delay = crawler.NoDelay
	cfg.Follow.Resources, cfg.Scope.Kind = true, crawler.ScopeHost
	var mu sync.Mutex
	all := map[string]int{}
	cfg.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
		mu.Lock()
		defer mu.Unlock()
		all[strings.TrimPrefix(v.URL.String(), srv.URL+"/")] = v.Status()
		return nil
	})
	c, err := crawler.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context(), srv.URL+"/"+first); err != nil {
		t.Fatal(err)
	}
	return all
}

// Every page and resource of a crawl is a file of the mirror. A crawl of these files on a file server finds all of them, and nothing else.
func TestMirror(t *testing.T) {
	dir := exporttest.Job(t, true)
	out, res := mirrored(t, dir)
	names := files(t, out)
	want := []string{
		"two.example/index.html", "two.example/x.html",
		"www.one.example/a@x=1&y=2.html", "www.one.example/b.html", "www.one.example/dir/deep/page.html", "www.one.example/dir/other.html",
		"www.one.example/hostile.html", "www.one.example/index.html", "www.one.example/logo.png", "www.one.example/logo2.png",
		"www.one.example/same.html", "www.one.example/style.css", "www.one.example/target.html",
	}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if text := fmt.Sprint(res.Notes); !strings.Contains(text, "the first page is www.one.example/index.html") || len(res.Notes) != 1 {
		t.Errorf("notes: %s", text)
	}
	home := read(t, filepath.Join(out, "www.one.example", "index.html"))
	for _, part := range []string{
		`<link rel=stylesheet href="style.css">`, `<a href="a%40x%3D1%26y%3D2.html">`, `<a href="https://www.one.example/private/p">`, `<a rel=nofollow href="https://www.one.example/gone">`,
		`<a href="target.html">moved</a>`, `<a href="../two.example/index.html">`, `srcset="logo.png 1x, logo2.png 2x"`, `<!doctype html><title>One</title>`,
	} {
		if !strings.Contains(home, part) {
			t.Errorf("the home page has no %s:\n%s", part, home)
		}
	}
	if css := read(t, filepath.Join(out, "www.one.example", "style.css")); css != `body { background: url(logo.png) } @import "more.css";` {
		t.Error(css)
	}
	if deep := read(t, filepath.Join(out, "www.one.example", "dir", "deep", "page.html")); !strings.Contains(deep, `<base href="">`) || !strings.Contains(deep, `<a href="page.html#top">`) || !strings.Contains(deep, `<a href="../other.html">`) {
		t.Error(deep)
	}
	seen := visited(t, out, "www.one.example/index.html")
	for url, status := range seen {
		if status >= 400 || status == 0 {
			t.Errorf("%s: %d", url, status)
		}
	}
	if len(seen) < len(want) {
		t.Errorf("%d of %d files were found: %v", len(seen), len(want), seen)
	}
}

// hostilePaths are paths of pages whose file names would be harmful, or are not allowed on some systems.
var hostilePaths = []string{
	"/..%2f..%2fetc%2fpasswd", "/%2e%2e%5c%2e%2e%5cwindows", "/a/..%00/b", "/CON", "/aux.txt", "/com1/nul.html", "/trail./x.", "/space%20/y%20",
	"/.htaccess", "/.git/config", "/Case", "/case", "/CASE/", "/case/page", "/file.html", "/file.html/below", "/x.php", "/colon:name", "/q?a=../../b", "/q?a=../../B", "/q?a=%2F..%2F",
	"/" + strings.Repeat("long", 100), "/" + strings.Repeat("d/", 150) + "end", "/caf%C3%A9", "/cafe%CC%81", "/caf%E9", "/%E2%80%AEevil", "//double//slash", "/percent%25", "/percent%2525", "/hash%23", "/index.html", "/_aside/x", "/~tilde", "/a&b\"c'd",
}

func utf16le(s string) (b []byte) {
	for _, c := range []byte(s) {
		b = append(b, c, 0)
	}
	return b
}

// Whatever their names, all pages become files below the directory of their host, and a file server can serve them.
func TestHostileNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: exporttest.Contact})
		site := w.Site("http://one.example:8080")
		home := "<title>Home</title>"
		for i, p := range hostilePaths {
			home += fmt.Sprintf(`<a href="%s">%d</a>`, strings.ReplaceAll(p, `"`, "%22"), i)
			site.Page(strings.ReplaceAll(p, `"`, "%22"), fmt.Sprintf("<title>Page %d</title><a href='/'>home</a>", i))
		}
		foreign := string(utf16le("<title>Foreign</title><a href='/'>home</a>"))
		site.Page("/foreign", foreign).Type("text/html; charset=utf-16le")
		site.Page("/", home+"<a href=/foreign>f</a>")
		cfg := job.Config{Archive: true}
		cfg.Crawl.Contact = exporttest.Contact
		w.Apply(&cfg.Crawl)
		j, err := job.Create(dir, cfg, "http://one.example:8080/")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	})
	fetched := 0
	for _, v := range exporttest.Visits(t, dir) {
		if v.Outcome == "fetched" && v.Status == 200 {
			fetched++
		}
	}
	out, res := mirrored(t, dir)
	names := files(t, out)
	if len(names) != fetched || fetched < len(hostilePaths)-5 || fmt.Sprint(res.Notes) != "[the first page is one.example+8080/index.html 1 page in a charset that is not a superset of ASCII: the links are as they were]" {
		t.Errorf("%d files of %d pages: %v", len(names), fetched, res.Notes)
	}
	if got := read(t, filepath.Join(out, "one.example+8080", "foreign.html")); got != string(utf16le("<title>Foreign</title><a href='/'>home</a>")) {
		t.Errorf("a page in UTF-16 became %q", got)
	}
	folds := map[string]bool{}
	for _, name := range names {
		if len(name) > maxPath || !strings.HasPrefix(name, "one.example+8080/") || folds[folded(name)] {
			t.Errorf("%q is too long, in the wrong place or there twice", name)
		}
		folds[folded(name)] = true
		for part := range strings.SplitSeq(name, "/") {
			stem, _, _ := strings.Cut(part, ".")
			if part[0] == '.' || strings.ContainsAny(part, "<>:\"\\|?*\x00\u202e") || strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") || device(stem) || len(part) > maxName {
				t.Errorf("%q has the name %q", name, part)
			}
		}
		if ext := filepath.Ext(name); ext != ".html" {
			t.Errorf("%q is HTML", name)
		}
	}
	seen := visited(t, out, "one.example+8080/index.html")
	for url, status := range seen {
		if status != 200 && status != 301 {
			t.Errorf("%s: %d", url, status)
		}
	}
	if len(seen) < len(names) {
		t.Errorf("%d of %d files were found", len(seen), len(names))
	}
}

// A mirror needs an archive.
func TestWithoutAnArchive(t *testing.T) {
	r, err := job.Read(exporttest.Job(t, false))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := export.Write(t.Context(), r, Kind(), filepath.Join(t.TempDir(), "x"), nil); err == nil || !strings.Contains(err.Error(), "crawl with the format warc") {
		t.Error(err)
	}
}
