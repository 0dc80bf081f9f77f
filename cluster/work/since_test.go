package work

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/sink"
)

// TestSince checks that a job visits the pages of an earlier crawl again, each once, whichever nodes own the shards, even if the shards are
// doubled. Only these pages are requested with a condition. Unchanged pages do not count towards the limit of pages.
func TestSince(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		const known = 8 // known pages of each host; those with even numbers have not changed
		var lines strings.Builder
		for h := range 4 {
			for p := range known {
				fmt.Fprintf(&lines, `{"schema":%q,"url":"http://h%d.test/%d","depth":1,"outcome":"fetched","status":200,"etag":"\"1\""}`+"\n", sink.Schema, h, p)
			}
		}
		file := filepath.Join(t.TempDir(), "visits.jsonl")
		if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		l := newLabOf(t, w, mem.New(), 2, []string{"http://h0.test/0"}, limit("since", file), limit("max-pages", "1000"))
		l.allow.Files = []string{file}
		for u := range l.pages {
			var h, p int
			_, _ = fmt.Sscanf(u, "http://h%d.test/%d", &h, &p)
			w.Site(fmt.Sprintf("h%d.test", h)).Handle(fmt.Sprintf("/%d", p), http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				asks := r.Header.Get("If-None-Match") == `"1"`
				if asks != (p < known) {
					t.Errorf("%s is requested with a condition: %t", u, asks)
				}
				rw.Header().Set("ETag", fmt.Sprintf(`"%d"`, 1+p%2))
				rw.Header().Set("Content-Type", "text/html; charset=utf-8")
				if asks && p%2 == 0 {
					rw.WriteHeader(http.StatusNotModified)
					return
				}
				fmt.Fprintf(rw, "<p>%d %d<a href=\"http://h%d.test/%d\">a</a><a href=\"/%d\">b</a>", h, p, (h+1)%4, p, (p+1)%12)
			}))
		}
		first := l.begin("a")
		time.Sleep(5 * time.Second)
		l.begin("b")
		first.stop()
		time.Sleep(5 * time.Second)
		x := &Operator{Engine: l.server.Connect(), Name: "me"}
		left := l.grow(x, 4)
		l.begin("c")
		l.begin("d")
		l.wait()
		l.nodes = append(l.nodes, left...)
		res, seen := l.collect()
		for u := range l.pages {
			if seen[u] != 1 {
				t.Errorf("%s is there %d times", u, seen[u])
			}
		}
		const unchanged = 4 * known / 2
		if len(seen) != len(l.pages) || res.Report.Pages != len(l.pages)-unchanged || res.Report.Outcomes[crawler.NotModified] != unchanged {
			t.Errorf("%d URLs, the report has %d pages and %v; want %d unchanged", len(seen), res.Report.Pages, res.Report.Outcomes, unchanged)
		}
		requests := map[string]int{}
		for _, r := range w.Requests() {
			if requests[r.URL]++; requests[r.URL] > 1 && !strings.HasSuffix(r.URL, "/robots.txt") {
				t.Errorf("%s is requested %d times", r.URL, requests[r.URL])
			}
		}
	})
}

// TestPastIsDivided checks that each page of an earlier crawl is queued only by the shard of the page's host.
func TestPastIsDivided(t *testing.T) {
	var lines strings.Builder
	for h := range 50 {
		fmt.Fprintf(&lines, `{"schema":%q,"url":"http://h%d.test/","depth":%d,"outcome":"fetched","status":200}`+"\n", sink.Schema, h, h)
	}
	all, err := crawler.ReadHistory(strings.NewReader(lines.String()), 0)
	if err != nil {
		t.Fatal(err)
	}
	j, n := &cluster.Job{Shards: 4, Key: make([]byte, 32)}, 0
	for shard, h := range dividePast(all, j) {
		for u, depth := range h.All() {
			if _, known := h.Past(u); !known || j.Shard(u.Host()) != shard || u.Host() != fmt.Sprintf("h%d.test:80", depth) {
				t.Errorf("shard %d has %s at depth %d", shard, u, depth)
			}
			n++
		}
	}
	if n != 50 || dividePast(nil, j) != nil {
		t.Errorf("%d pages, want 50", n)
	}
}
