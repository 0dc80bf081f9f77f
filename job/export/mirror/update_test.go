package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export/exporttest"
	"github.com/amble-crawler/amble/weburl"
)

// crawled crawls a site in virtual time into a job with an archive.
func crawled(t *testing.T, dir string, web func(s *crawltest.Site), change func(*job.Config)) {
	t.Helper()
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		web(w.Site("http://site.example"))
		c := job.Config{Archive: true}
		c.Crawl.Contact = exporttest.Contact
		w.Apply(&c.Crawl)
		c.Crawl.Follow.Resources = true
		if change != nil {
			change(&c)
		}
		j, err := job.Create(dir, c, "http://site.example/")
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
}

// updated updates a mirror from the jobs in these directories.
func updated(t *testing.T, ctx context.Context, dir string, from ...string) (*Updated, error) {
	t.Helper()
	var jobs []*job.Reader
	for _, d := range from {
		r, err := job.Read(d)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		jobs = append(jobs, r)
	}
	return Update(ctx, dir, jobs, []weburl.URL{parsed(t, "http://site.example/")})
}

// setBack sets the times of all files back to the same old time, and returns that time.
func setBack(t *testing.T, dir string) time.Time {
	t.Helper()
	then := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, name := range files(t, dir) {
		if err := os.Chtimes(filepath.Join(dir, name), then, then); err != nil {
			t.Fatal(err)
		}
	}
	return then
}

// In the second crawl, one page has changed, one is new, one is gone, one has moved, and the rest have not changed. Update writes only
// files that differ.
func TestUpdateWritesOnlyDifferingFiles(t *testing.T) {
	tmp := t.TempDir()
	one, two, copied := filepath.Join(tmp, "1"), filepath.Join(tmp, "2"), filepath.Join(tmp, "copy")
	crawled(t, one, func(s *crawltest.Site) {
		s.Page("/", `<a href=/same>s</a> <a href=/changed>c</a> <a href=/later>l</a> <a href=/gone>g</a> <a href=/moves>m</a> <a href=http://else.example/>e</a>`).Header("ETag", `"1"`)
		s.Page("/same", "same").Header("ETag", `"1"`)
		s.Page("/changed", "before").Header("ETag", `"1"`)
		s.Page("/gone", "gone soon").Header("ETag", `"1"`)
		s.Page("/moves", "moves soon").Header("ETag", `"1"`)
	}, nil)
	res, err := updated(t, t.Context(), copied, one)
	if err != nil {
		t.Fatal(err)
	}
	if res.Files != 6 || res.Pages != 5 || res.Added != 6 || res.Changed != 0 {
		t.Errorf("%+v", res)
	}
	if len(res.Left) != 1 || res.Left[0].Status != 404 || res.Left[0].Kept || fmt.Sprint(res.Left[0].URLs) != "[http://site.example/later]" {
		t.Errorf("left out: %+v", res.Left)
	}
	if want := map[string]int{"else.example": 1}; !maps.Equal(res.Elsewhere, want) {
		t.Errorf("elsewhere: %v", res.Elsewhere)
	}
	if start := read(t, filepath.Join(copied, Start)); !strings.Contains(start, `content="0; url=site.example/index.html"`) {
		t.Error(start)
	}

	then := setBack(t, copied)
	crawled(t, two, func(s *crawltest.Site) {
		s.Page("/", `<a href=/same>s</a> <a href=/changed>c</a> <a href=/later>l</a> <a href=/gone>g</a> <a href=/moves>m</a> <a href=http://else.example/>e</a>`).Header("ETag", `"1"`)
		s.Page("/same", "same").Header("ETag", `"1"`)
		s.Page("/changed", "after").Header("ETag", `"2"`)
		s.Page("/later", "now").Header("ETag", `"2"`)
		s.Redirect("/moves", "/same")
	}, func(c *job.Config) { c.Since = one })
	res, err = updated(t, t.Context(), copied, one, two)
	if err != nil {
		t.Fatal(err)
	}
	home := read(t, filepath.Join(copied, "site.example", "index.html"))
	for _, part := range []string{"<a href=\"same.html\">m</a>", "<a href=\"gone.html\">g</a>"} {
		if !strings.Contains(home, part) {
			t.Errorf("the home page has no %s: %s", part, home)
		}
	}
	var touched []string
	for _, name := range files(t, copied) {
		if info, err := os.Stat(filepath.Join(copied, name)); err != nil {
			t.Error(err)
		} else if !strings.HasPrefix(name, OwnDir) && !info.ModTime().Equal(then) {
			touched = append(touched, name)
		}
	}
	if want := []string{"site.example/changed.html", "site.example/index.html", "site.example/later.html"}; !slices.Equal(touched, want) {
		t.Errorf("written: %q, want %q", touched, want)
	}
	if len(res.Left) != 1 || !res.Left[0].Kept || fmt.Sprint(res.Left[0].URLs) != "[http://site.example/gone]" {
		t.Errorf("left: %+v", res.Left)
	}
}

// If an Update was stopped at any point, the next Update completes the mirror with the same result.
func TestUpdateAfterOneThatWasStopped(t *testing.T) {
	tmp := t.TempDir()
	from, want, copied := filepath.Join(tmp, "1"), filepath.Join(tmp, "want"), filepath.Join(tmp, "copy")
	crawled(t, from, func(s *crawltest.Site) {
		s.Page("/", `<a href=/a>a</a><a href=/b/c>c</a>`)
		s.Page("/a", "a")
		s.Page("/b/c", "c")
	}, nil)
	if _, err := updated(t, t.Context(), want, from); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(copied, OwnDir), 0o755); err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := updated(t, stopped, copied, from); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := updated(t, t.Context(), copied, from); err != nil {
		t.Fatal(err)
	}
	if got := files(t, copied); !slices.Equal(got, files(t, want)) {
		t.Errorf("%q, want %q", got, files(t, want))
	}
}

// Update neither overwrites nor removes files that it has not written. The stored list of files cannot name files outside the mirror.
func TestUpdateLeavesOtherFiles(t *testing.T) {
	tmp := t.TempDir()
	from, copied := filepath.Join(tmp, "1"), filepath.Join(tmp, "copy")
	crawled(t, from, func(s *crawltest.Site) { s.Page("/", `home`) }, nil)
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(tmp, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	put("outside", "mine")
	put("copy/mine.html", "mine")
	put("copy/"+OwnDir+"/"+listName, "../outside\n"+OwnDir+"/crawl\nsite.example/old.html\n")
	put("copy/"+OwnDir+"/crawl", "mine")
	put("copy/site.example/old.html", "of an earlier update")
	res, err := updated(t, t.Context(), copied, from)
	if err != nil || res.Removed != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, name := range []string{"outside", "copy/mine.html", "copy/" + OwnDir + "/crawl"} {
		if read(t, filepath.Join(tmp, name)) != "mine" {
			t.Errorf("%s is lost", name)
		}
	}
	other := filepath.Join(tmp, "other")
	put("other/index.html", "mine")
	var refused *job.Error
	if _, err := updated(t, t.Context(), other, from); !errors.As(err, &refused) || !strings.Contains(err.Error(), "is in the way of the copy") {
		t.Error(err)
	}
	if read(t, filepath.Join(other, "index.html")) != "mine" {
		t.Error("it is overwritten")
	}
}

// URLs that try to leave the mirror, and names that some system forbids or confuses with others, become files below the mirror, with names
// that are distinct on every system.
func TestUpdateNamesAreValidEverywhere(t *testing.T) {
	tmp := t.TempDir()
	from, copied := filepath.Join(tmp, "1"), filepath.Join(tmp, "copy")
	paths := []string{
		"/CON", "/con", "/nul.txt", "/COM1.html", "/a.", "/a%20", "/Page", "/page", "/PAGE", "/%2e%2e/%2e%2e/evil", "/..%2f..%2fevil", "/x%00y", "/a:b", "/a%5Cb", "/a?x=1|2",
		"/" + strings.Repeat("long", 120), "/" + strings.Repeat("%C3%A4", 60), "/dir", "/dir/", "/dir/x", "/e%CC%81", "/%C3%A9",
	}
	crawled(t, from, func(s *crawltest.Site) {
		var home strings.Builder
		for _, p := range paths {
			fmt.Fprintf(&home, "<a href=%q>x</a>", p)
			s.Page(p, "the page "+p)
		}
		s.Page("/evil", "where the dots of a URL lead")
		s.Page("/", home.String())
	}, func(c *job.Config) { c.Crawl.Canonical = weburl.Exact })
	res, err := updated(t, t.Context(), copied, from)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	n := 0
	for _, name := range files(t, copied) {
		if strings.HasPrefix(name, OwnDir) {
			continue
		}
		n++
		if other, ok := seen[folded(name)]; ok {
			t.Errorf("%q is %q on some systems", name, other)
		}
		seen[folded(name)] = name
		for _, part := range strings.Split(name, "/") {
			stem, _, _ := strings.Cut(part, ".")
			if len(part) > 255 || device(stem) || strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") || strings.ContainsAny(part, "<>:\"\\|?*\x00") {
				t.Errorf("%q in %q is not valid everywhere", part, name)
			}
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 2 {
		t.Errorf("outside of the copy: %v, %v", left, err)
	}
	if n != res.Files || n < len(paths) {
		t.Errorf("%d files, %+v", n, res)
	}
	if home := read(t, filepath.Join(copied, "site.example", "index.html")); strings.Contains(home, "http://") {
		t.Errorf("a page of the copy is elsewhere: %s", home)
	}
}
