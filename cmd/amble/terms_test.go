package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// termsSite is a site of one vector of package consent: a page, and what its site says about uses.
type termsSite struct {
	Name, Want, Robots, Header, Metas, TDM, RSL, Body, Path string
	Status                                                  int

	url string // of the page
	mu  sync.Mutex
	log []string // paths
}

// sites returns the vectors, each with a server.
func sites(t *testing.T) (all []*termsSite) {
	t.Helper()
	b, err := os.ReadFile("../../consent/testdata/vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		s := &termsSite{Path: "/a", Status: http.StatusOK}
		if err := json.Unmarshal(line, s); err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(s)
		t.Cleanup(server.Close)
		s.url = server.URL + s.Path
		s.RSL = strings.ReplaceAll(s.RSL, "https://a.example", server.URL)
		if s.RSL != "" {
			if s.Robots == "" {
				s.Robots = "User-agent: *\nAllow: /\n"
			}
			s.Robots += "\nLicense: /license.xml\n"
		}
		all = append(all, s)
	}
	return all
}

func (s *termsSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.log = append(s.log, r.URL.Path)
	s.mu.Unlock()
	switch r.URL.Path {
	case "/robots.txt":
		w.Header().Set("Content-Type", "text/plain")
		if s.Robots == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = fmt.Fprint(w, s.Robots)
	case consent.TDMPath:
		if s.TDM == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = fmt.Fprint(w, s.TDM)
	case "/license.xml":
		_, _ = fmt.Fprint(w, `<rsl xmlns="https://rslstandard.org/rsl" max-age="7">`+s.RSL+`</rsl>`)
	default:
		w.Header().Set("Content-Type", "text/html")
		for line := range strings.Lines(s.Header) {
			name, value, _ := strings.Cut(line, ":")
			w.Header().Add(name, strings.TrimSpace(value))
		}
		w.WriteHeader(s.Status)
		_, _ = fmt.Fprint(w, s.Body)
		for line := range strings.Lines(s.Metas) {
			name, content, _ := strings.Cut(strings.TrimSpace(line), "=")
			_, _ = fmt.Fprintf(w, "<meta name=%q content=%q>", name, content)
		}
	}
}

// before returns the verdict for a purpose that is known before the page is requested.
func (s *termsSite) before(t *testing.T, p consent.Purpose) consent.Verdict {
	t.Helper()
	u, err := weburl.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	page := consent.Page{URL: u, Robots: robots.Parse([]byte(s.Robots)).For("amble")}
	if s.TDM != "" {
		page.TDM, _ = consent.ParseTDM("", []byte(s.TDM))
	}
	if s.RSL != "" {
		page.Licenses = append(page.Licenses, consent.ParseLicense("", []byte(`<rsl xmlns="https://rslstandard.org/rsl">`+s.RSL+`</rsl>`)))
	}
	return consent.Read(page).For(p)
}

// TestVectorsThroughTheCommand crawls all vectors for each purpose. What every visit, report.json, the export and a check say is the
// same, and no page is requested that its site forbids before.
func TestVectorsThroughTheCommand(t *testing.T) {
	for i, p := range consent.Purposes() {
		t.Run(p.String(), func(t *testing.T) {
			all := sites(t)
			dir := filepath.Join(t.TempDir(), "job")
			args := []string{"crawl", "-q", "-o", dir, "-w", "0s", "--depth", "0", "--purpose", p.String()}
			for _, s := range all {
				args = append(args, s.url)
			}
			a, _, errs := testApp(nil)
			if code := a.run(args); code != cli.ExitDone {
				t.Fatal(code, errs)
			}
			visits := termsOf(t, dir)
			verdicts, left := map[string]int{}, 0
			for _, s := range all {
				v := visits[s.url]
				want := map[byte]string{'.': "", '+': "allows", '?': "conditional", '$': "unmet", '!': "forbids"}[s.Want[i]]
				got := ""
				if v.Terms != nil && v.Terms.By > 0 {
					got = v.Terms.Effect
					verdicts[v.Terms.Purpose+" "+v.Terms.Effect]++
				}
				refused := want == "unmet" || want == "forbids"
				if v.Reason == politeness.ReasonRobots { // has no verdict about uses
					got = "forbids"
					left--
				}
				if got != want || refused != (v.Outcome == "refused") {
					t.Errorf("%s: %s %s, the verdict is %q, want %q", s.Name, v.Outcome, v.Reason, got, want)
				}
				if refused {
					left++
				}
				if s.before(t, p).Refused() && slices.Contains(s.log, s.Path) {
					t.Errorf("%s: requested, although the site forbids it before: %v", s.Name, s.log)
				}
				if n := count(s.log, consent.TDMPath); n > 1 || n == 1 && p != consent.TrainAI && p != consent.AIInput {
					t.Errorf("%s: tdmrep.json was requested %d times", s.Name, n)
				}
			}
			sameAsReport(t, dir, verdicts, left)
			a, out, _ := testApp(nil)
			if code := a.run([]string{"verify", dir}); code != cli.ExitDone {
				t.Errorf("verify: %d\n%s", code, out)
			}
		})
	}
}

func count(log []string, path string) (n int) {
	for _, p := range log {
		if p == path {
			n++
		}
	}
	return n
}

// termsOf returns the visits of a job by URL.
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

// sameAsReport compares report.json and a query of the export with the visits.
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
