package watch_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export/exporttest"
	"github.com/amble-crawler/amble/job/watch"
	"github.com/amble-crawler/amble/sink/warc/warctest"
)

// A watch finds changed, new and missing pages within the daily budget, with conditional requests where possible. Each visit whose page
// differs says so, and the archive has revisit records that other programs can read.
func TestWatch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	notModified := 0
	crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
		s := newSite(web, 16)
		s.page("/plain", 0)
		for i := range 6 {
			s.page(fmt.Sprintf("/now/%d", i), 0)
		}
		s.page("/late", 0)
		s.from["/late"], s.until["/p/4"] = 12*time.Hour, 20*time.Hour
		s.crawl(t, dir, nil)
		w, found := s.watch(t.Context(), t, dir, 60, days(3))
		if err := s.overBudget(60); err != nil {
			t.Error(err)
		}
		notModified = checkConditional(t, web.Requests())
		changes, _ := checkLines(t, dir)
		n := len(web.Requests())
		t.Logf("%d requests, %d answers 304, changes: %v", n, notModified, changes)
		if n < 3*50 || notModified < n/4 || changes[watch.New] != 1 || changes[watch.Gone] != 1 || changes[watch.Changed] < 10 {
			t.Errorf("%d requests, %d answers 304, changes: %v", n, notModified, changes)
		}
		if in := changesIn(t, dir); !slices.Equal(in, found) {
			t.Errorf("%d changes in visits.jsonl, %d were told", len(in), len(found))
		}
		h := w.Status().Hosts[0]
		if url, due := w.Next(); len(w.Status().Hosts) != 1 || h.Pages != 24 || h.Gone != 1 || url == "" || due.Before(time.Now().Add(-day)) {
			t.Errorf("%+v, next is %s at %v", h, url, due)
		}
		if h.Fast < 5 || h.Fast != len(h.TooFast) || slices.ContainsFunc(h.TooFast, func(url string) bool { return !strings.HasPrefix(url, "https://a.test/now/") }) {
			t.Errorf("too fast to follow: %d, %v", h.Fast, h.TooFast)
		}
		if v, err := verify(dir); err != nil || v.Damaged() != 0 {
			t.Errorf("verify: %v %+v", err, v)
		}
	})
	records, err := warctest.Read(filepath.Join(dir, "warc"))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, r := range records {
		count[r.Type()+" "+r.Get("WARC-Profile")]++
	}
	const profile = "revisit http://netpreserve.org/warc/1.1/revisit/" // ISO 28500 section 6.7
	const identical, unmodified = profile + "identical-payload-digest", profile + "server-not-modified"
	if count[identical] < 3 || count[unmodified] != notModified {
		t.Errorf("records: %v, of %d answers 304", count, notModified)
	}
	t.Run("warcio", func(t *testing.T) {
		out := exporttest.Node(t, fmt.Sprintf(revisitScript, filepath.Join(dir, "warc")), "warcio")
		var theirs map[string]int
		if err := json.Unmarshal([]byte(out), &theirs); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, kind := range []string{identical, unmodified, "response "} {
			if theirs[kind] != count[kind] {
				t.Errorf("warcio reads %v, want %v", theirs, count)
			}
		}
	})
}

// revisitScript is a program that counts the records of an archive by type and profile.
const revisitScript = `
import { WARCParser } from "warcio";
import fs from "node:fs";
import path from "node:path";
const count = {}, dir = %q;
for (const name of fs.readdirSync(dir).filter((n) => n.endsWith(".warc.gz"))) {
	for await (const r of new WARCParser(fs.createReadStream(path.join(dir, name)))) {
		const kind = r.warcType + " " + (r.warcHeader("WARC-Profile") || "");
		count[kind] = (count[kind] || 0) + 1;
		if (r.warcType === "revisit" && (r.httpHeaders.statusCode === 304) !== kind.endsWith("server-not-modified")) throw new Error(kind + r.httpHeaders.statusCode);
	}
}
console.log(JSON.stringify(count));`

// checkConditional checks that each repeated request names the version that the crawler has. It returns the number of 304 responses.
func checkConditional(t *testing.T, all []crawltest.Request) (notModified int) {
	t.Helper()
	tags := map[string]string{}
	for _, r := range all {
		if got, want := r.Header.Get("If-None-Match"), tags[r.URL]; got != want {
			t.Errorf("%s is requested with If-None-Match %s, and was answered with %s", r.URL, got, want)
		}
		switch r.Status {
		case http.StatusNotModified:
			notModified++
		case http.StatusOK:
			tags[r.URL] = r.Answer.Get("ETag")
		default: // the page is gone
			delete(tags, r.URL)
		}
	}
	return notModified
}

// Announcements in a sitemap or a feed are trusted if earlier ones were right, so that changes are found soon. Sources whose announcements
// are never right are not trusted.
func TestSignalsAreLearnt(t *testing.T) {
	for name, set := range map[string]func(s *site){
		"sitemap": func(s *site) { s.signals = true },
		"feed":    func(s *site) { s.feed = true; s.page("/feed.xml", 0) },
		"lies":    func(s *site) { s.signals, s.lies = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			crawltest.Test(t, func(t *testing.T, web *crawltest.Web) {
				s := newSite(web, 0)
				set(s)
				for i := range 24 {
					every := 7 * time.Hour
					if s.lies {
						every *= time.Duration(i % 4 / 3)
					}
					s.page(fmt.Sprintf("/p/%d", i), every)
				}
				dir := filepath.Join(t.TempDir(), "job")
				s.crawl(t, dir, func(c *job.Config) { c.Crawl.Follow.Sitemaps = s.signals })
				w, found := s.watch(t.Context(), t, dir, 120, days(1))
				x := w.Status().Hosts[0].Signals
				signals := map[string]int{}
				var late []time.Duration
				for _, c := range found {
					signals[c.Signal]++
					if c.Change == watch.Changed && c.At.Sub(s.begin) > day/2 {
						late = append(late, c.At.Sub(s.changed(c.URL[len("https://a.test"):], c.At)))
					}
				}
				slices.Sort(late)
				t.Logf("%+v, precision %.2f, recall %.2f, %v, found after %v", x, x.Precision(), x.Recall(), signals, late[len(late)/2])
				if x.Believed() == s.lies || x.Right+x.Wrong < 10 || signals[watch.Announced] != x.Right {
					t.Errorf("signals: %+v, changes by signal: %v", x, signals)
				}
				if err := s.overBudget(120); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
