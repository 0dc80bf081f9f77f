package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/robots"
)

const contact = "https://lab.university.edu/crawl"

// robotsStudy runs the program on w and returns its exit code and what it printed.
func robotsStudy(ctx context.Context, w *crawltest.Web, args ...string) (code int, stdout, stderr string) {
	w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble-robots-study", Contact: contact})
	var cfg crawler.Config
	w.Apply(&cfg)
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"-contact", contact}, args...), &out, &errs, cfg)
	return code, out.String(), errs.String()
}

const full = `User-agent: *
Disallow: /admin/
Allow: /admin/public
Crawl-delay: 2.5
Content-Signal: search=yes, ai-train=no
Disalow: /x
Sitemap: https://full.example/map.xml
`

// hosts creates one host of every kind, and returns the list of hosts.
func hosts(w *crawltest.Web) []string {
	w.Site("https://full.example").Robots(full).Forbids("/admin/", "/x").Delays(2500 * time.Millisecond)
	w.Site("https://none.example").Page("/", "home")
	w.Site("https://moved.example").Redirect("/robots.txt", "https://www.moved.example/robots.txt")
	w.Site("https://www.moved.example").Robots("User-agent: *\nDisallow:\n")
	w.Site("https://down.example").RobotsStatus(503)
	w.Site("http://plain.example").Robots("<html>Not found</html>").Type("text/html")
	return []string{"full.example", "none.example", "moved.example", "down.example", "http://plain.example/page", "nowhere.example", "full.example/again"}
}

func rows(t *testing.T, out string) map[string]row {
	t.Helper()
	m := map[string]row{}
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var r row
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if _, twice := m[r.Origin]; twice {
			t.Errorf("two lines for %s", r.Origin)
		}
		m[r.Origin] = r
	}
	return m
}

func TestEachHostHasItsLine(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		code, out, errs := robotsStudy(t.Context(), w, hosts(w)...)
		got := rows(t, out)
		states := map[string]string{
			"https://full.example": "file", "https://none.example": "none", "https://moved.example": "file",
			"https://down.example": "robots_unreachable", "http://plain.example": "file", "https://nowhere.example": "dns_not_found",
		}
		for origin, want := range states {
			if got[origin].State != want {
				t.Errorf("%s is %+v, want %s", origin, got[origin], want)
			}
		}
		if len(got) != len(states) || code != 0 || !strings.HasPrefix(errs, "6 hosts: 1 dns_not_found, 3 file, 1 none, 1 robots_unreachable\n") {
			t.Errorf("exit %d, %d lines, said %s", code, len(got), errs)
		}
	})
}

func TestOnlyRobotsIsRequested(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		robotsStudy(t.Context(), w, hosts(w)...)
		for _, u := range w.Visited("") {
			if !strings.HasSuffix(u, "/robots.txt") {
				t.Errorf("requested %s", u)
			}
		}
		if n := w.Count("https://full.example/robots.txt"); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestWhatAFileSays(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		_, out, _ := robotsStudy(t.Context(), w, append([]string{"-paths", "/,/admin/public"}, hosts(w)...)...)
		all := rows(t, out)
		r := all["https://full.example"]
		if r.Status != 200 || r.Bytes != len(full) || r.Type != "text/plain" || r.Agent != "*" || r.Rules != 3 || len(r.SHA256) != 64 {
			t.Errorf("%+v", r)
		}
		if r.CrawlDelay == nil || *r.CrawlDelay != 2.5 || !slices.Equal(r.Sitemaps, []string{"https://full.example/map.xml"}) {
			t.Errorf("%+v", r)
		}
		if r.Lints["misspelt_field"] != 1 || r.Usage["train-ai"] != "disallow" || r.Usage["search"] != "allow" || len(r.Usage) != 2 {
			t.Errorf("lints %v, usage %v", r.Lints, r.Usage)
		}
		if p := r.Paths[0]; !p.Allowed || len(p.Differ) != 0 {
			t.Errorf("%+v", p)
		}
		// The drafts of 1994 and 1996 have no Allow; in the draft of 1997 the first matching line decides.
		want := []robots.Dialect{robots.Original1994, robots.Draft1997, robots.Revisited1996, robots.Strictest}
		if p := r.Paths[1]; !p.Allowed || !slices.Equal(p.Differ, want) {
			t.Errorf("%+v", p)
		}
		if r := all["https://moved.example"]; !slices.Equal(r.Redirects, []string{"https://www.moved.example/robots.txt"}) || r.Bytes != 24 {
			t.Errorf("%+v", r)
		}
		if r := all["http://plain.example"]; r.Lints["html"] == 0 {
			t.Errorf("%+v", r)
		}
		if r := all["https://down.example"]; r.Status != 503 {
			t.Errorf("%+v", r)
		}
	})
}

func TestTableIsInTheOrderOfTheList(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		dir := t.TempDir()
		list, table := filepath.Join(dir, "hosts"), filepath.Join(dir, "study.csv")
		if err := os.WriteFile(list, []byte("# hosts\n\n"+strings.Join(hosts(w), "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		robotsStudy(t.Context(), w, "-f", list, "-csv", table, "-paths", "/,/admin/public")
		text, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		got, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil || len(got) != 7 {
			t.Fatalf("%v: %s", err, text)
		}
		want := "https://full.example,file,200,0," // beginning of the row of the first host
		if !strings.HasPrefix(strings.Join(got[1], ","), want) || got[1][6] != "2.5" || got[1][16] != "allow" ||
			got[1][17] != "Original1994 Draft1997 Revisited1996 Strictest" || got[6][0] != "https://nowhere.example" {
			t.Errorf("%q", got)
		}
	})
}

func TestInterruptedStudyIsReported(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		table := filepath.Join(t.TempDir(), "study.csv")
		code, _, errs := robotsStudy(ctx, w, append([]string{"-csv", table}, hosts(w)...)...)
		text, _ := os.ReadFile(table)
		if code != 1 || !strings.Contains(errs, "5 of 6 hosts") || !strings.Contains(string(text), "https://down.example,not_reached") {
			t.Errorf("exit %d, said %s, wrote %s", code, errs, text)
		}
	})
}

func TestUsage(t *testing.T) {
	for args, code := range map[string]int{
		"-help":                      0,
		"":                           2,
		"ftp://a.example/":           2,
		"-paths x a.example":         2,
		"-give-up 0 a.example":       2,
		"-f /no/such/file a.example": 2,
		"a.example":                  1, // the contact is missing
	} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), &out, &errs, crawler.Config{}); got != code || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: exit %d, want %d; wrote %q, said %q", args, got, code, &out, &errs)
		}
	}
}
