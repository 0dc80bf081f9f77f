// Package exporttest makes jobs for the tests of exports.
package exporttest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
)

// Contact is the contact of the crawls.
const Contact = "https://lab.university.edu/crawl"

// Hostile is a title of a page of [Job]: a formula, a quote, markup, and characters that reverse the direction of text.
const Hostile = "=1+2\"'<script>alert(1)</script>, \u202Eabc"

// Shop crawls two pages on loopback into the new job directory dir. It is used by examples.
func Shop(dir string, config job.Config) (*job.Reader, error) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>Shop</title><a href=/pen>a pen</a>")
	}))
	defer site.Close()
	config.Crawl.Politeness.Delay = crawler.NoDelay // on loopback
	j, err := job.Create(dir, config, site.URL+"/")
	if err != nil {
		return nil, err
	}
	_, err = j.Run(context.Background())
	if err = errors.Join(err, j.Close()); err != nil {
		return nil, err
	}
	return job.Read(dir)
}

// Job crawls a simulated web of two hosts with an archive, if archive is true, and otherwise keeps the links: pages, a redirect,
// resources, errors, a rule of robots.txt, identical pages and hostile names. The first process stops after a few pages, and
// another one resumes the job.
func Job(t *testing.T, archive bool) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "job")
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: Contact})
		Web(w)
		config := func(pages crawler.Limit) job.Config {
			cfg := job.Config{Archive: archive, Links: !archive}
			cfg.Crawl.Contact, cfg.Crawl.Limits.Pages, cfg.Crawl.Follow.Resources = Contact, pages, true
			cfg.Crawl.Scope.Kind = crawler.ScopeAny
			w.Apply(&cfg.Crawl)
			return cfg
		}
		run := func(j *job.Job, err error) {
			t.Helper()
			if err == nil {
				_, err = j.Run(t.Context())
			}
			if err == nil {
				err = j.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		run(job.Create(dir, config(4), "https://www.one.example/"))
		// The resumed job removes data that a killed process left after its last commit.
		f, err := os.OpenFile(filepath.Join(dir, job.VisitsName), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = fmt.Fprintln(f, `{"schema":"amble.visit/1","url":"https://www.one.example/never-committed","depth":0,"outcome":"fetched"}`)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		run(job.Start(dir, config(100), "https://www.one.example/"))
	})
	return dir
}

// Web sets up the web of [Job].
func Web(w *crawltest.Web) {
	one, two := w.Site("https://www.one.example"), w.Site("http://two.example")
	one.Robots("User-agent: *\nDisallow: /private\n")
	one.Page("/", `<!doctype html><title>One</title><link rel=stylesheet href=/style.css><h1>Home</h1>
		<a href="/a?x=1&amp;y=2">a</a> <a href="/same">same</a> <a href="/private/p">private</a> <a rel=nofollow href="/gone">gone</a>
		<a href="/moved">moved</a> <a href="http://two.example/">two</a> <a href="/dir/deep/page.html">deep</a> <a href="/hostile">h</a>
		<img src="/logo.png" srcset="/logo.png 1x, /logo2.png 2x"><a href="/gone">again</a>`)
	one.Page("/style.css", `body { background: url(logo.png) } @import "more.css";`).Type("text/css")
	one.Page("/more.css", `b { color: red }`).Type("text/css")
	one.Page("/logo.png", "\x89PNG\r\n\x1a\n a picture").Type("image/png")
	one.Page("/logo2.png", "\x89PNG\r\n\x1a\n a larger picture").Type("image/png")
	one.Page("/a?x=1&y=2", `<title>A</title><a href="/">home</a><a href="b">b</a>`)
	one.Page("/b", `<title>B</title><a href="http://two.example/x">x</a>`)
	one.Page("/same", `<title>A</title><a href="/">home</a><a href="b">b</a>`)
	one.Redirect("/moved", "/target")
	one.Page("/target", `<title>Target</title>`)
	one.Page("/dir/deep/page.html", `<base href="/dir/"><title>Deep</title><a href="deep/page.html#top">self</a><a href="other">other</a>`)
	one.Page("/dir/other", `<title>Other</title><p style="background: url('/logo.png')">x</p>`)
	one.Page("/hostile", "<title>"+strings.NewReplacer("<", "&lt;").Replace(Hostile)+"</title><a href='javascript:alert(1)'>x</a>")
	two.Page("/", `<title>Two</title><a href="https://www.one.example/">one</a><a href=/x>x</a><a href=/error>e</a>`)
	two.Page("/x", `<title>X</title>`)
	two.Page("/error", "broken").Status(http.StatusInternalServerError)
}

// Visits returns the lines of visits.jsonl.
func Visits(t *testing.T, dir string) (list []sink.Record) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, job.VisitsName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read, so an error of closing loses nothing
	for d := json.NewDecoder(f); ; {
		var v sink.Record
		if err := d.Decode(&v); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
}

// Found returns the total number of links in the visits.
func Found(visits []sink.Record) (n int) {
	for _, v := range visits {
		if v.Links != nil {
			n += v.Links.Found
		}
	}
	return n
}

// Summary counts visits and their bytes by outcome, host and status, in one line. Each kind of export must agree with it.
func Summary(visits []sink.Record) string {
	type sums struct{ n, bytes int }
	all := map[string]sums{}
	for _, v := range visits {
		host := ""
		if u, err := url.Parse(v.URL); err == nil {
			host = u.Hostname()
		}
		key := fmt.Sprintf("%s %s %d", v.Outcome, host, v.Status)
		s := all[key]
		all[key] = sums{s.n + 1, s.bytes + v.Bytes}
	}
	var lines []string
	for key, s := range all {
		lines = append(lines, fmt.Sprintf("%s %d %d", key, s.n, s.bytes))
	}
	slices.Sort(lines)
	return strings.Join(lines, ";")
}

// SummaryLines is the SQL that computes the parts of [Summary] from the table visits, as a column named line.
const SummaryLines = `SELECT outcome || ' ' || url_host_name || ' ' || coalesce(fetch_status, 0) || ' ' || count(*) || ' ' || coalesce(sum(bytes), 0) AS line
	FROM visits GROUP BY outcome, url_host_name, fetch_status`

// Large makes a job of n visits and requests to many hosts, without crawling. It has only the files that an export reads, and no queue.
func Large(dir string, n int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m := job.Manifest{Schema: "amble.job/1", Created: start, Seeds: []string{"https://www.site-1.example/"}, Settings: map[string]string{}, Runs: []job.Run{{Software: "amble", Started: start, Ended: start}}}
	b, err := json.Marshal(m)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "manifest.json"), b, 0o644)
	}
	if err != nil {
		return err
	}
	err = lines(filepath.Join(dir, job.VisitsName), n, func(w *bufio.Writer, i int) {
		at := start.Add(time.Duration(i) * time.Millisecond).Format(time.RFC3339Nano)
		host := fmt.Sprintf("www.site-%d.example", i*7919%20_000)
		fmt.Fprintf(w, `{"schema":"amble.visit/1","url":"https://%s/some/path/page-%d.html?q=%d","via":"https://%s/","depth":%d,"status":200,"outcome":"fetched","type":"text/html","charset":"utf-8","bytes":%d,"sha256":"%064x","title":"Title number %d","links":{"found":20,"follow":12},"queued":"%s","started":"%s","ended":"%s"}`+"\n",
			host, i, i%7, host, i%9, 5000+i%999, i, i, at, at, at)
	})
	if err != nil {
		return err
	}
	return lines(filepath.Join(dir, job.LedgerName), n, func(w *bufio.Writer, i int) {
		host := fmt.Sprintf("www.site-%d.example", i*7919%20_000)
		at := start.Add(time.Duration(i) * time.Millisecond)
		fmt.Fprintf(w, `{"event":"start","run":"r","id":%d,"url":"https://%s/some/path/page-%d.html","host":"%s:443","addr":"192.0.2.1","purpose":"page","agent":"amble (+https://lab.university.edu/crawl)","allowed":"%s","written":"%s","clauses":[{"clause":"delay","until":"%s","delay":1}]}`+"\n", i+1, host, i, host, at.Format(time.RFC3339Nano), at.Format(time.RFC3339Nano), at.Format(time.RFC3339Nano))
		fmt.Fprintf(w, `{"event":"end","run":"r","id":%d,"ended":"%s","took":0.1,"status":200,"bytes":4000}`+"\n", i+1, at.Add(100*time.Millisecond).Format(time.RFC3339Nano))
	})
}

// LargeLinks adds n*each links to a job of [Large] with n visits, most of them to pages of other hosts.
func LargeLinks(dir string, n, each int) error {
	return lines(filepath.Join(dir, job.LinksName), n, func(w *bufio.Writer, i int) {
		page := func(i int) string {
			return fmt.Sprintf("https://www.site-%d.example/some/path/page-%d.html?q=%d", i*7919%20_000, i, i%7)
		}
		for k := range each {
			fmt.Fprintf(w, `{"from":%q,"to":%q,"text":"Link number %d","kind":"anchor","fate":"follow"}`+"\n", page(i), page((i*31+k*k*977)%(2*n)), k)
		}
	})
}

func lines(path string, n int, line func(w *bufio.Writer, i int)) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20) // bufio.Writer keeps the first error for Flush
	for i := range n {
		line(w, i)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// Node runs a script of Node.js with packages of the npm registry and returns what it prints. The test is skipped where they
// are not installed: TEST_NODE_MODULES in the environment names the directory node_modules.
func Node(t *testing.T, script string, packages ...string) string {
	t.Helper()
	modules := os.Getenv("TEST_NODE_MODULES")
	if modules == "" {
		t.Skipf("TEST_NODE_MODULES names no directory with %s: npm install %s", strings.Join(packages, ", "), strings.Join(packages, " "))
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no Node.js here")
	}
	for _, p := range packages {
		if _, err := os.Stat(filepath.Join(modules, filepath.FromSlash(p))); err != nil {
			t.Skipf("%s is not installed in %s", p, modules)
		}
	}
	// Node looks up modules relative to the script.
	f, err := os.CreateTemp(filepath.Dir(modules), "script-*.mjs")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // a temporary file
	if _, err := f.WriteString(script); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), node, f.Name()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
