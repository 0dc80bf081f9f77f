package cache_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/cache"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
)

// A second crawl of the same pages requests only robots.txt.
func Example() {
	dir, err := os.MkdirTemp("", "pages")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	web := crawltest.NewWeb()
	defer web.Close()
	web.Load([]byte("-- http://a.example/ --\n<a href=/1>1</a>\n-- http://a.example/1 --\none\n"))
	for range 2 {
		pages, err := cache.Open(cache.Config{Dir: dir})
		if err != nil {
			fmt.Println(err)
			return
		}
		cfg := crawler.Config{Contact: "https://lab.university.edu/crawl", AroundFetch: pages.Around}
		cfg.Fetch.DialContext, cfg.Fetch.Resolver = web.DialContext, web
		cfg.Politeness = politeness.Config{Delay: politeness.NoDelay}
		c, err := crawler.New(cfg)
		if err != nil {
			fmt.Println(err)
			return
		}
		for v, err := range c.Pages(context.Background(), "http://a.example/") {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(v.URL, v.Page.Cached)
		}
	}
	// Output:
	// http://a.example/ false
	// http://a.example/1 false
	// http://a.example/ true
	// http://a.example/1 true
}

// crawls crawls a web with a cache and returns the requests, except those for robots.txt, and the problems.
func crawls(t *testing.T, w *crawltest.Web, c cache.Config, seed string) (requests, problems []string) {
	t.Helper()
	var mu sync.Mutex
	c.Problem = func(err error) {
		mu.Lock()
		defer mu.Unlock()
		problems = append(problems, err.Error())
	}
	pages, err := cache.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	cfg := crawler.Config{Agent: "testbot", Contact: "https://lab.university.edu/crawl", AroundFetch: pages.Around, Retries: crawler.Retries{Max: crawler.Zero}}
	w.Apply(&cfg)
	cr, err := crawler.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	before := len(w.Requests())
	if _, err := cr.Run(t.Context(), seed); err != nil {
		t.Fatal(err)
	}
	for _, r := range w.Requests()[before:] {
		if !strings.HasSuffix(r.URL, "/robots.txt") {
			requests = append(requests, strings.TrimPrefix(r.URL, "http://a.example"))
		}
	}
	return requests, problems
}

// Only complete responses without a cookie or a server error are stored. An entry stored for one Variant is not found with
// another Variant.
func TestWhatIsKept(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "testbot", Contact: "https://lab.university.edu/crawl", AllowRepeats: true})
		s := w.Site("http://a.example")
		s.Page("/", "<a href=/gone>a</a> <a href=/sets>b</a> <a href=/fails>c</a> <a href=/large>d</a>")
		s.Page("/gone", "").Status(404)
		s.Page("/sets", "").Header("Set-Cookie", "a=b")
		s.Page("/fails", "").Status(500)
		s.Page("/large", strings.Repeat("x", 3000))
		c := cache.Config{Dir: t.TempDir(), MaxBody: 2000, MaxAge: time.Hour}
		for i, want := range []string{"/ /gone /sets /fails /large", "/sets /fails /large"} {
			if got, problems := crawls(t, w, c, s.URL("/")); strings.Join(got, " ") != want || problems != nil {
				t.Errorf("crawl %d requested %v, want %s; %v", i, got, want, problems)
			}
		}
		other := c
		other.Variant = "Accept-Language: de"
		if got, _ := crawls(t, w, other, s.URL("/")); len(got) != 5 {
			t.Errorf("another variant: %v", got)
		}
		time.Sleep(2 * time.Hour)
		if got, _ := crawls(t, w, c, s.URL("/")); len(got) != 5 {
			t.Errorf("too old: %v", got)
		}
		full := cache.Config{Dir: t.TempDir(), MaxBytes: 10}
		if got, problems := crawls(t, w, full, s.URL("/")); len(got) != 5 || len(problems) != 1 || problems[0] != cache.ErrFull.Error() {
			t.Errorf("%v, %v", got, problems)
		}
	})
}

// A file that is truncated, modified, endless, a link, or for another URL is a cache miss, and is reported with the
// cause.
func TestHostileFilesAreMisses(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "testbot", Contact: "https://lab.university.edu/crawl", AllowRepeats: true})
		s := w.Site("http://a.example")
		s.Page("/", "the page")
		s.Page("/other", "another")
		c := cache.Config{Dir: t.TempDir(), MaxBody: 1 << 20}
		crawls(t, w, c, s.URL("/other"))
		file := func() string {
			list, _ := filepath.Glob(filepath.Join(c.Dir, "*", "*.page"))
			if len(list) != 1 {
				t.Fatal(list)
			}
			return list[0]
		}
		other, err := os.ReadFile(file())
		if err = errors.Join(err, os.Remove(file())); err != nil {
			t.Fatal(err)
		}
		crawls(t, w, c, s.URL("/"))
		path := file()
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for want, bad := range map[string]string{
			"cut off":            "",
			"does not begin":     "[]\n",
			"damaged":            string(good[:len(good)-1]) + "X",
			"is damaged":         strings.Replace(string(good), `"status":200`, `"status":204`, 1),
			"for another URL":    string(other),
			"longer than":        strings.Repeat("x", 6<<20),
			"not a regular file": "",
		} {
			err := os.RemoveAll(path)
			if want == "not a regular file" {
				err = errors.Join(err, os.Mkdir(path, 0o700))
			} else {
				err = errors.Join(err, os.WriteFile(path, []byte(bad), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			got, problems := crawls(t, w, c, s.URL("/"))
			if len(got) != 1 || len(problems) == 0 || !strings.Contains(problems[0], want) || !strings.Contains(problems[0], filepath.Base(path)) {
				t.Errorf("%s: requested %v, problems %q", want, got, problems)
			}
		}
		if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, good, 0o600)); err != nil {
			t.Fatal(err)
		}
		if got, _ := crawls(t, w, c, s.URL("/")); len(got) != 0 {
			t.Errorf("the unchanged file: %v", got)
		}
	})
	if _, err := cache.Open(cache.Config{}); err == nil {
		t.Error("a cache without a directory was opened")
	}
}
