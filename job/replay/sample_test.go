package replay

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/draw"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// sampledJob crawls a sample of 5 of 40 pages into a job directory. Each process crawls a few pages; if finish is set, the last one crawls
// until the job is done.
func sampledJob(t *testing.T, w *crawltest.Web, finish bool) string {
	t.Helper()
	s := w.Site("http://a.example")
	s.Robots("User-agent: *\nDisallow: /p1\nSitemap: /map.xml\n").Forbids("/p1")
	var b strings.Builder
	for i := range 40 {
		at := fmt.Sprint("/p", i)
		s.Page(at, `<a href="/linked">x</a>`)
		fmt.Fprintf(&b, "<url><loc>%s</loc></url>", at)
	}
	s.Page("/map.xml", "<urlset>"+b.String()+"</urlset>").Type("application/xml")
	dir := filepath.Join(t.TempDir(), "job")
	var c job.Config
	c.Archive = true
	c.Crawl.Agent, c.Crawl.Contact = "testbot/1", "https://crawl.university.edu/"
	c.Crawl.Sample = crawler.Sample{N: 5, Seed: "x"}
	c.Crawl.Fetch.DialContext, c.Crawl.Fetch.Resolver, c.Crawl.Fetch.RootCAs = w.DialContext, w, w.RootCAs()
	for pages := crawler.Limit(3); ; pages++ {
		c.Crawl.Limits.Pages = pages
		j, err := job.Start(dir, c, s.URL("/"))
		if err != nil {
			t.Fatal(err)
		}
		rep, err := j.Run(t.Context())
		if err = errors.Join(err, j.Close()); err != nil {
			t.Fatal(err)
		}
		if !finish || rep.Finish == crawler.FinishDone {
			return dir
		}
	}
}

func TestSampleIsRepeated(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		if res := replayed(t, sampledJob(t, w, true)); res.Differ > 0 || res.Visits != 7 || res.Left != 0 {
			t.Errorf("%s %+v", res.Text(), res)
		}
	})
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		r, err := job.Read(sampledJob(t, w, false))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := Run(t.Context(), r); err == nil || !strings.Contains(err.Error(), "has not come to its end") {
			t.Errorf("%v", err)
		}
	})
}

// TestExplainSample checks that a drawn page is explained from robots.txt on, and by their tickets why other pages were not drawn.
func TestExplainSample(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		dir := sampledJob(t, w, true)
		r, err := job.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		m, err := r.Manifest()
		if err != nil || m.Settings["sample"] != "5:x" {
			t.Errorf("%v, %v", m.Settings["sample"], err)
		}
		lots := &draw.Bottom{N: 5, Seed: "x"}
		for i := range 40 {
			url := fmt.Sprintf("http://a.example/p%d", i)
			lots.Add(url, url, "")
		}
		drawn := map[string]bool{}
		for _, it := range lots.Drawn() {
			drawn[it.URL] = true
		}
		for i := range 60 {
			url := fmt.Sprintf("http://a.example/p%d", i)
			s := explained(t, r, url)
			below, _ := lots.Bound()
			switch {
			case drawn[url]:
				if s.State != "visited" || len(s.Chain) != 3 || s.Chain[1].URL != "http://a.example/map.xml" {
					t.Errorf("%s: %s %+v", url, s.State, s.Chain)
				}
			case draw.Ticket("x", url) < below:
				if !strings.Contains(s.Note, "no sitemap that was read lists it") {
					t.Errorf("%s: %s, %s", url, s.State, s.Note)
				}
			case s.State != "not requested" || !strings.Contains(s.Note, "drawn were the 5 with a ticket below") || !strings.Contains(s.Note, "of 40 entries"):
				t.Errorf("%s: %s, %s", url, s.State, s.Note)
			}
		}
		if s := explained(t, r, "http://b.example/"); !strings.Contains(s.Note, "its site is not that of a seed") {
			t.Errorf("%s", s.Note)
		}
	})
}

func explained(t *testing.T, r *job.Reader, url string) *job.Story {
	t.Helper()
	u, err := weburl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Explain(u)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
