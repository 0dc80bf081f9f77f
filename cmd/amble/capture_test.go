package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/amble-crawler/amble/cmd/amble/internal/demo"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

// asCrawled crawls from a seed, and returns a text with the outcome and the response of each URL.
func asCrawled(t *testing.T, seed string, apply func(*crawler.Config)) map[string]string {
	t.Helper()
	got := map[string]string{}
	var mu sync.Mutex
	cfg := crawler.Config{Follow: crawler.Follow{Sitemaps: true}, Handler: crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
		text := fmt.Sprint(v.Outcome, " ", v.Reason)
		if p := v.Page; p != nil {
			text += fmt.Sprintf(" %d %s %q %q %q", p.Status, p.ContentType, p.Header.Get("X-Robots-Tag"), p.Header.Get("Location"), p.Body)
		}
		mu.Lock()
		defer mu.Unlock()
		got[v.URL.String()] = text
		return nil
	})}
	cfg.Politeness.Delay = crawler.NoDelay
	apply(&cfg)
	c, err := crawler.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context(), seed); err != nil {
		t.Fatal(err)
	}
	return got
}

// site serves pages with properties that a fixture must preserve.
func site() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "User-agent: *\nDisallow: /private\nSitemap: http://%s/sitemap.xml\n", r.Host)
	})
	m.HandleFunc("/sitemap.xml", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		fmt.Fprintf(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://%s/listed</loc></url></urlset>`, r.Host)
	})
	m.HandleFunc("/{$}", page("Home", "/private/x", "/zipped", "/moved", "/gone", "/bytes", "/quiet", "/cut"))
	m.HandleFunc("/zipped", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, "<title>Zipped</title><a href=/deep>deep</a>")
		_ = z.Close()
	})
	m.Handle("/moved", http.RedirectHandler("/listed?x=1", http.StatusPermanentRedirect))
	m.HandleFunc("/bytes", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write([]byte("\x00\xff\r\n-- http://other.test/ --\n"))
	})
	m.HandleFunc("/quiet", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Robots-Tag", "nofollow")
		page("Quiet", "/never")(w, nil)
	})
	m.HandleFunc("/listed", page("Listed"))
	m.HandleFunc("/deep", page("Deep"))
	m.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("<p>"))
	})
	return m
}

// A crawl of a captured site has the same result as a crawl of the site itself: the same URLs with the same outcomes, statuses, header
// fields and bodies.
func TestCaptureIsCrawledAsTheSite(t *testing.T) {
	shop, err := demo.Shop(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shop.Close() })
	server := httptest.NewServer(site())
	t.Cleanup(server.Close)
	for name, x := range map[string]struct {
		seed  string
		pages int
	}{"shop": {shop.Hosts[0].Base, 21}, "site": {server.URL + "/", 11}} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "site.txtar")
			a, out, errs := testApp(nil)
			if code := a.run([]string{"capture", "-w", "0", "--retries", "0", "--follow", "sitemaps", "-o", file, x.seed}); code != 0 || out.Len() > 0 {
				t.Fatalf("exit code %d\n%s%s", code, out, errs)
			}
			if name == "site" && !strings.Contains(errs.String(), "without 1 URL that got no complete answer") {
				t.Errorf("stderr:\n%s", errs)
			}
			want := asCrawled(t, x.seed, func(c *crawler.Config) { c.Retries.Max = crawler.Zero })
			delete(want, server.URL+"/cut") // the fixture has no answer for this URL
			if len(want) != x.pages {
				t.Errorf("%d URLs on the site, want %d: %v", len(want), x.pages, want)
			}
			crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
				w.Expect(crawltest.Expect{Agent: "amble"})
				w.LoadFile(file)
				got := asCrawled(t, x.seed, func(c *crawler.Config) { w.Apply(c) })
				delete(got, server.URL+"/cut")
				if !maps.Equal(got, want) {
					t.Errorf("the fixture is crawled as\n%v\nthe site as\n%v", got, want)
				}
			})
		})
	}
}

func TestCaptureSaysWhatIsWrong(t *testing.T) {
	server := httptest.NewServer(page("Home", "/2", "/3"))
	t.Cleanup(server.Close)
	there := filepath.Join(t.TempDir(), "there.txtar")
	if err := os.WriteFile(there, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(want int, says string, args ...string) string {
		t.Helper()
		a, out, errs := testApp(nil)
		if code := a.run(append([]string{"capture", "-w", "0"}, args...)); code != want || !strings.Contains(errs.String(), says) {
			t.Errorf("%q: exit code %d, want %d and %q\n%s", args, code, want, says, errs)
		}
		return out.String()
	}
	run(2, "there.txtar is there already: remove it, or name another file with -o", "-o", there, server.URL)
	if b, err := os.ReadFile(there); string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
	nowhere := filepath.Join(t.TempDir(), "nowhere.txtar")
	closed := httptest.NewServer(nil)
	closed.Close()
	run(3, "connection refused", "-o", nowhere, "--retries", "0", "--robots-give-up", "1ms", closed.URL)
	if _, err := os.Stat(nowhere); err == nil {
		t.Error("a file of nothing was written")
	}
	run(6, "no such file", "-o", filepath.Join(nowhere, "x"), server.URL)
	out := run(0, "the limit --max-pages left 2 URLs out", "--max-pages", "1", server.URL)
	if !strings.Contains(out, "\n-- "+server.URL+"/ status=200 ") || strings.Contains(out, "/2 status") {
		t.Errorf("stdout:\n%s", out)
	}
}
