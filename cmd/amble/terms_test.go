package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/amble-crawler/amble/cmd/amble/internal/demo"
	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// termsPage is a page of one test vector of package consent, with the statements of its site about uses.
type termsPage struct {
	Name, Want, Robots, Header, Metas, TDM, RSL, Body, Path string
	Status                                                  int

	url, marker string // marker is a text that only the body of this page contains
}

// alone reports whether files of the origin make statements about the page. No other vector can then be served at the same origin.
func (p *termsPage) alone() bool { return p.Robots+p.TDM+p.RSL != "" }

// termsVectors returns the test vectors of package consent.
func termsVectors(t *testing.T) (all []*termsPage) {
	t.Helper()
	b, err := os.ReadFile("../../consent/testdata/vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		p := &termsPage{Path: "/a", Status: http.StatusOK, marker: fmt.Sprintf("marker-%d-", len(all))}
		if err := json.Unmarshal(line, p); err != nil {
			t.Fatal(err)
		}
		if !p.alone() {
			p.Path = fmt.Sprintf("/v%d", len(all))
		}
		all = append(all, p)
	}
	return all
}

// termsOrigin is a server for either one vector with files about its whole origin, or several vectors without such files.
type termsOrigin struct {
	*httptest.Server
	mu    sync.Mutex
	pages []*termsPage
	log   []string // requested paths
}

// termsOrigins starts n servers, each at its own loopback address where the system has several.
func termsOrigins(t *testing.T, n int) (all []*termsOrigin) {
	t.Helper()
	for i := range n {
		l, err := demo.Listen(i)
		if err != nil {
			t.Fatal(err)
		}
		o := &termsOrigin{}
		o.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: o}}
		o.Start()
		t.Cleanup(o.Close)
		all = append(all, o)
	}
	return all
}

// show replaces the pages of the origin and clears its log. It returns the URLs of the pages.
func (o *termsOrigin) show(pages ...*termsPage) (urls []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pages, o.log = pages, nil
	for _, p := range pages {
		p.url = o.URL + p.Path
		p.RSL = strings.ReplaceAll(p.RSL, "https://a.example", o.URL)
		if p.RSL != "" && !strings.Contains(p.Robots, "License:") {
			p.Robots = cmp.Or(p.Robots, "User-agent: *\nAllow: /\n") + "\nLicense: /license.xml\n"
		}
		urls = append(urls, p.url)
	}
	return urls
}

// requested returns how often a path was requested since the last call of show.
func (o *termsOrigin) requested(path string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return count(o.log, path)
}

func (o *termsOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.log = append(o.log, r.URL.Path)
	pages := o.pages
	o.mu.Unlock()
	file := func(text string) {
		if text == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = fmt.Fprint(w, text)
	}
	switch r.URL.Path {
	case "/robots.txt":
		w.Header().Set("Content-Type", "text/plain")
		file(pages[0].Robots)
		return
	case consent.TDMPath:
		file(pages[0].TDM)
		return
	case "/license.xml":
		_, _ = fmt.Fprint(w, `<rsl xmlns="https://rslstandard.org/rsl" max-age="7">`+pages[0].RSL+`</rsl>`)
		return
	}
	at := slices.IndexFunc(pages, func(p *termsPage) bool { return p.Path == r.URL.Path })
	if at < 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	p := pages[at]
	w.Header().Set("Content-Type", "text/html")
	for line := range strings.Lines(p.Header) {
		name, value, _ := strings.Cut(line, ":")
		w.Header().Add(name, strings.TrimSpace(value))
	}
	w.WriteHeader(p.Status)
	_, _ = fmt.Fprint(w, p.Body)
	if p.Body == "" {
		_, _ = fmt.Fprintf(w, "<p>%s</p>", p.marker)
	}
	for line := range strings.Lines(p.Metas) {
		name, content, _ := strings.Cut(strings.TrimSpace(line), "=")
		_, _ = fmt.Fprintf(w, "<meta name=%q content=%q>", name, content)
	}
}

// before returns the verdict for a purpose, as far as it is known before the page is requested.
func (p *termsPage) before(t *testing.T, purpose consent.Purpose) consent.Verdict {
	t.Helper()
	u, err := weburl.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	page := consent.Page{URL: u, Robots: robots.Parse([]byte(p.Robots)).For("amble")}
	if p.TDM != "" {
		page.TDM, _ = consent.ParseTDM("", []byte(p.TDM))
	}
	if p.RSL != "" {
		page.Licenses = append(page.Licenses, consent.ParseLicense("", []byte(`<rsl xmlns="https://rslstandard.org/rsl">`+p.RSL+`</rsl>`)))
	}
	return consent.Read(page).For(purpose)
}

// TestVectorsThroughTheCommand crawls all test vectors with the command, for each purpose. On 24 of 25 origins, each crawl has one vector
// with files about the whole origin; the last origin has some of the other vectors. Every visit, report.json, the export and verify agree.
// Pages that their site forbids in advance are not requested; of pages that are refused after the request, no byte is stored.
func TestVectorsThroughTheCommand(t *testing.T) {
	t.Parallel()
	if long.Race {
		t.Skip("starts many processes")
	}
	for i, purpose := range consent.Purposes() {
		t.Run(purpose.String(), func(t *testing.T) {
			t.Parallel()
			if testing.Short() && purpose != consent.TrainAI {
				t.Skip("starts processes")
			}
			origins, last := termsOrigins(t, 25), 24
			var alone, others []*termsPage
			for _, p := range termsVectors(t) {
				if p.alone() {
					alone = append(alone, p)
				} else {
					others = append(others, p)
				}
			}
			rounds := (len(alone) + last - 1) / last
			for round := range rounds {
				var pages []*termsPage
				var seeds []string
				for k := range last {
					if at := round*last + k; at < len(alone) {
						seeds = append(seeds, origins[k].show(alone[at])...)
						pages = append(pages, alone[at])
					}
				}
				if some := others[round*len(others)/rounds : (round+1)*len(others)/rounds]; len(some) > 0 {
					seeds = append(seeds, origins[last].show(some...)...)
					pages = append(pages, some...)
				}
				dir := filepath.Join(t.TempDir(), "job")
				args := append([]string{"crawl", "-q", "-o", dir, "-w", "0s", "--depth", "0", "--format", "jsonl,warc", "--purpose", purpose.String()}, seeds...)
				if out, err := exec.Command("amble", args...).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				checkTermsOf(t, dir, purpose, i, pages, origins)
			}
		})
	}
}

// checkTermsOf checks a crawl of the pages for a purpose, which has the index i in Purposes.
func checkTermsOf(t *testing.T, dir string, purpose consent.Purpose, i int, pages []*termsPage, origins []*termsOrigin) {
	t.Helper()
	visits, kept := termsOf(t, dir), keptBytes(t, dir)
	verdicts, left := map[string]int{}, 0
	for _, p := range pages {
		v := visits[p.url]
		o := origins[slices.IndexFunc(origins, func(o *termsOrigin) bool { return strings.HasPrefix(p.url, o.URL+"/") })]
		want := map[byte]string{'.': "", '+': "allows", '?': "conditional", '$': "unmet", '!': "forbids"}[p.Want[i]]
		got := ""
		if v.Terms != nil && v.Terms.By > 0 {
			got = v.Terms.Effect
			verdicts[v.Terms.Purpose+" "+v.Terms.Effect]++
		}
		refused := want == "unmet" || want == "forbids"
		if v.Reason == politeness.ReasonRobots { // a refusal by robots.txt has no verdict about uses
			got = "forbids"
			left--
		}
		if got != want || refused != (v.Outcome == "refused") {
			t.Errorf("%s: %s %s, the verdict is %q, want %q", p.Name, v.Outcome, v.Reason, got, want)
		}
		if refused {
			left++
		}
		if n := o.requested(p.Path); p.before(t, purpose).Refused() != (n == 0) || n > 1 {
			t.Errorf("%s: the page was requested %d times", p.Name, n)
		}
		if p.Body == "" && bytes.Contains(kept, []byte(p.marker)) == refused {
			t.Errorf("%s: refused %t, and its body is kept %t", p.Name, refused, !refused)
		}
		if n := o.requested(consent.TDMPath); n > 1 || n == 1 && purpose != consent.TrainAI && purpose != consent.AIInput {
			t.Errorf("%s: tdmrep.json was requested %d times", p.Name, n)
		}
		if n, named := o.requested("/license.xml"), p.RSL != ""; n > 1 || named != (n == 1) {
			t.Errorf("%s: the licence was requested %d times", p.Name, n)
		}
	}
	sameAsReport(t, dir, verdicts, left)
	a, out, _ := testApp(nil)
	if code := a.run([]string{"verify", dir}); code != cli.ExitDone {
		t.Errorf("verify: %d\n%s", code, out)
	}
}

// keptBytes returns the uncompressed content of the files of a job.
func keptBytes(t *testing.T, dir string) (all []byte) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(path, ".gz") {
			var z *gzip.Reader
			if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
				b, err = io.ReadAll(z)
			}
		}
		all = append(all, b...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func count(log []string, path string) (n int) {
	for _, p := range log {
		if p == path {
			n++
		}
	}
	return n
}

// termsOf returns a job's visits, by URL.
func termsOf(t *testing.T, dir string) map[string]visitWithTerms {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, job.VisitsName))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]visitWithTerms{}
	for line := range bytes.Lines(b) {
		var v visitWithTerms
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		all[v.URL] = v
	}
	return all
}

type visitWithTerms struct {
	URL, Outcome, Reason string
	Terms                *struct {
		Effect, Purpose string
		By              int
	}
}

// sameAsReport checks that report.json and a query of the export agree with the visits.
func sameAsReport(t *testing.T, dir string, verdicts map[string]int, left int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report crawler.Report
	if err := json.Unmarshal(b, &report); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(report.Verdicts) != fmt.Sprint(verdicts) {
		t.Errorf("report.json: %v, the visits: %v", report.Verdicts, verdicts)
	}
	out := 0
	for _, by := range report.LeftOut {
		for _, n := range by {
			out += n
		}
	}
	if out != left {
		t.Errorf("%d pages are left out in report.json, want %d", out, left)
	}
	file := filepath.Join(t.TempDir(), "job.sqlite")
	a, _, errs := testApp(nil)
	if code := a.run([]string{"export", dir, "--to", "sqlite", "-o", file}); code != cli.ExitDone {
		t.Fatal(code, errs)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT purpose || ' ' || effect, count(*) FROM usage WHERE decides GROUP BY 1")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	asked := map[string]int{}
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		asked[name] = n
	}
	if rows.Err() != nil || fmt.Sprint(asked) != fmt.Sprint(verdicts) {
		t.Errorf("SQL over usage: %v, the visits: %v, %v", asked, verdicts, rows.Err())
	}
}
