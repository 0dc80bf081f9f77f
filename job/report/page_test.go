package report

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// hostile is text from a site that must not be interpreted as markup on the page.
const hostile = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>"

// sites serves three hosts on loopback: one with hostile titles, paths and rules, one that answers once with status 429, and one that
// refuses every request.
func sites(t testing.TB) (seeds []string) {
	t.Helper()
	busy := 0
	for i, h := range []http.HandlerFunc{
		func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/robots.txt":
				fmt.Fprint(w, "User-agent: *\nDisallow: /no\"><script>alert(3)</script>\nDisallow: /secret\u202e\n")
			case "/":
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, "<title>%s</title><a href='/=cmd|x'>a</a><a href='/missing%%22%%3E%%3Cscript%%3E'>b</a><a href='/secret\u202e/x'>c</a><a href='/x\"><img src=y>'>d</a><a href='/broken'>e</a>", hostile)
			case "/broken":
				panic(http.ErrAbortHandler)
			default:
				http.NotFound(w, r)
			}
		},
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/1" {
				if busy++; busy == 1 {
					w.Header().Set("Retry-After", "0")
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
			}
			w.Header().Set("Content-Type", "text/html")
			for i := range 12 {
				fmt.Fprintf(w, "<a href=/%d>x</a>", i+1)
			}
		},
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				fmt.Fprint(w, "User-agent: *\nDisallow: /\n")
			}
		},
	} {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", i+1))
		if err != nil {
			t.Skipf("loopback has no further address here: %v", err)
		}
		srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = srv.Serve(l)
		}()
		t.Cleanup(func() {
			_ = srv.Close()
			<-done
		})
		seeds = append(seeds, "http://"+l.Addr().String()+"/")
	}
	return seeds
}

// crawls holds the jobs that were made so far, by delay.
var crawls struct {
	mu   sync.Mutex
	made map[time.Duration]func() (string, error)
}

// crawled returns the directory of a finished crawl of the sites, which no other test uses, and a reader of the job.
func crawled(t testing.TB, delay time.Duration) (string, *job.Reader) {
	t.Helper()
	from, err := crawlOf(t, delay)()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "job")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir, reader(t, dir)
}

// crawlOf returns a function that makes a crawl the first time. The servers stop with the first test that calls crawlOf for this delay.
func crawlOf(t testing.TB, delay time.Duration) func() (string, error) {
	t.Helper()
	crawls.mu.Lock()
	defer crawls.mu.Unlock()
	if crawls.made == nil {
		crawls.made = map[time.Duration]func() (string, error){}
	}
	if crawls.made[delay] == nil {
		seeds := sites(t)
		crawls.made[delay] = sync.OnceValues(func() (string, error) { return crawl(delay, seeds) })
	}
	return crawls.made[delay]
}

// crawl crawls the sites into a directory that is not removed before all tests have ended.
func crawl(delay time.Duration, seeds []string) (dir string, err error) {
	dir, err = os.MkdirTemp(shared, "crawled")
	if err != nil {
		return "", err
	}
	var c job.Config
	c.Crawl.Politeness.Delay = delay
	c.Crawl.Limits.PagesPerHost = 8
	c.Crawl.Retries.Pause = time.Millisecond
	c.Crawl.Fetch.AllowAddresses = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	j, err := job.Create(dir, c, seeds...)
	if err != nil {
		return "", err
	}
	_, err = j.Run(context.Background())
	return dir, errors.Join(err, j.Close())
}

func reader(t testing.TB, dir string) *job.Reader {
	t.Helper()
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func written(t *testing.T, r *job.Reader) string {
	t.Helper()
	if err := Write(r, testCommands); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(r.Dir(), job.PageName))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func TestAPageOfAHostileCrawl(t *testing.T) {
	t.Parallel()
	_, r := crawled(t, 20*time.Millisecond)
	page := written(t, r)
	for _, section := range []string{"results", "sites", "polite", "time", "sample", "how"} {
		if !strings.Contains(page, `<h2 id="`+section+`">`) {
			t.Errorf("there is no section %s", section)
		}
	}
	for _, want := range []string{"✓ Polite:", "404 not found", "line 3 of http://", "refuses", "cut at budget", "the one closest to its limit was 1", "1 × 429", `href="problems.csv"`, "crawl-check"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, never := range []string{"<script", "<img", "onerror=alert(2)>", "\u202e", " style=", "javascript:"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %q", never)
		}
	}
	if n := strings.Count(page, "<svg"); n < 5 || strings.Count(page, "<svg aria-hidden")+strings.Count(page, `aria-hidden="true"`)+strings.Count(page, `class="track"`)+strings.Count(page, `class="axis"`)+strings.Count(page, `preserveAspectRatio="none"`) < n {
		t.Errorf("%d pictures, not all of which say what they are", n)
	}
}

// TestTheSumsOfAReport adds up the ledger and visits independently, and compares the sums with report.json and the lists of the page.
func TestTheSumsOfAReport(t *testing.T) {
	t.Parallel()
	dir, r := crawled(t, crawler.NoDelay)
	written(t, r)
	requests, bytes, pages, open := map[string]int{}, map[string]int64{}, map[string]int{}, map[uint64]string{}
	for e, err := range r.Ledger() {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Event == ledger.Start:
			requests[e.Host]++
			open[e.ID] = e.Host
		case e.Event == ledger.End:
			bytes[open[e.ID]] += e.Bytes
		}
	}
	visits := 0
	for v, err := range r.Visits() {
		if err != nil {
			t.Fatal(err)
		}
		visits++
		if v.Outcome == "fetched" {
			pages[strings.Split(v.URL, "/")[2]]++
		}
	}
	var rep struct {
		Hosts  int `json:"hosts"`
		ByHost []struct {
			Host     string `json:"host"`
			Requests int    `json:"requests"`
			Bytes    int64  `json:"bytes"`
			Pages    int    `json:"pages"`
			Visits   int    `json:"visits"`
		} `json:"by_host"`
	}
	b, err := r.ReportJSON()
	if err == nil {
		err = json.Unmarshal(b, &rep)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.ByHost) != len(requests) {
		t.Errorf("%d hosts, want %d", len(rep.ByHost), len(requests))
	}
	for _, h := range rep.ByHost {
		if h.Requests != requests[h.Host] || h.Bytes != bytes[h.Host] || h.Pages != pages[h.Host] {
			t.Errorf("%+v, want %d, %d, %d", h, requests[h.Host], bytes[h.Host], pages[h.Host])
		}
		visits -= h.Visits
	}
	if visits != 0 {
		t.Errorf("%d visits are of no host", visits)
	}
	rows := readCSV(t, filepath.Join(dir, job.HostsName))
	for _, row := range rows[1:] {
		if row[2] != fmt.Sprint(requests[row[0]]) || row[5] != fmt.Sprint(bytes[row[0]]) {
			t.Errorf("%v", row)
		}
	}
	if len(rows) != len(requests)+1 {
		t.Errorf("%d lines in %s", len(rows), job.HostsName)
	}
}

// TestASiteThatWasLeftOut checks that a site that the operator left out counts neither as unfinished nor as refusing, whether the order
// refused its URLs or they are still queued.
func TestASiteThatWasLeftOut(t *testing.T) {
	t.Parallel()
	for _, drained := range []bool{false, true} {
		seeds, dir := sites(t), filepath.Join(t.TempDir(), "job")
		host := strings.Trim(strings.TrimPrefix(seeds[1], "http:"), "/")
		var c job.Config
		var j *job.Job
		c.Crawl.Politeness.Delay = 10 * time.Millisecond
		c.Crawl.Fetch.AllowAddresses = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		c.Crawl.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) (err error) {
			if v.URL.String() == seeds[1] {
				if err = j.LeaveOut(host); drained {
					err = errors.Join(err, j.Drain())
				}
			}
			return err
		})
		j, err := job.Create(dir, c, seeds...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = j.Run(t.Context())
		if err = errors.Join(err, j.Close()); err != nil {
			t.Fatal(err)
		}
		page := written(t, reader(t, dir))
		if !strings.Contains(page, "1 of 3 sites was left out by the operator") {
			t.Errorf("drained %t: the page does not say that a site was left out", drained)
		}
		for _, row := range readCSV(t, filepath.Join(dir, job.HostsName)) {
			if row[0] == host && row[1] != "left out" {
				t.Errorf("drained %t: %s is %q", drained, host, row[1])
			}
		}
	}
}

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestNoCellIsAFormula(t *testing.T) {
	t.Parallel()
	tab := newTable("a")
	for _, s := range []string{"=1+1", "+1", "-1", "@x", "\tx", "\rx", "plain"} {
		tab.row(s)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(tab.bytes())), "\n")[1:] {
		if cell := strings.Trim(line, "\"\r"); cell != "" && strings.ContainsAny(cell[:1], "=+-@\t") {
			t.Errorf("%q", line)
		}
	}
	dir, r := crawled(t, crawler.NoDelay)
	written(t, r)
	if rows := readCSV(t, filepath.Join(dir, job.ProblemsName)); len(rows) < 3 {
		t.Errorf("%v", rows)
	}
}

// TestAnEarlyRequestTurnsTheStripRed moves a request in a copy of a ledger to a time that is too early: the page must show it.
func TestAnEarlyRequestTurnsTheStripRed(t *testing.T) {
	t.Parallel()
	dir, r := crawled(t, 100*time.Millisecond)
	if page := written(t, r); strings.Contains(page, `class="verdict bad"`) {
		t.Fatal("the crawl itself is red")
	}
	path := filepath.Join(dir, "ledger.jsonl")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	at, host := early(t, lines)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	page := written(t, r)
	want := fmt.Sprintf("line %d of ledger.jsonl, %s: ", at, host)
	if !strings.Contains(page, "(rule P4: the operator&#39;s delay between two requests to a host)</li>") || !strings.Contains(page, "docs/glossary.md#rules-of-politeness") {
		t.Error("the rule is not said in words")
	}
	if !strings.Contains(page, "requested too early</span>") {
		t.Error("its site is like any other")
	}
	if !strings.Contains(page, `class="verdict bad"`) || !strings.Contains(page, want) {
		t.Errorf("the strip lacks %q: %s", want, regexp.MustCompile(`(?s)<div class="verdict.*?</div>`).FindString(page))
	}
	if !strings.Contains(page, `<th scope="row">&lt; 1: too early</th>`) || !regexp.MustCompile(`too early</th><td class="b">.*class="broken".*<td class="r">1</td>`).MatchString(page) {
		t.Error("the histogram does not show it")
	}
}

// early moves the last request of a host to 50 ms after the end of the previous one. It returns the changed line's number and the host.
func early(t *testing.T, lines []string) (line int, host string) {
	t.Helper()
	ended, open := map[string]time.Time{}, map[uint64]string{}
	var request ledger.Entry
	for i, text := range lines {
		var e ledger.Entry
		if e.Parse([]byte(strings.TrimSuffix(text, "\n"))) != nil {
			continue
		}
		switch e.Event {
		case ledger.Start:
			if before := ended[e.Host]; !before.IsZero() && e.Purpose == "page" {
				request, line = e, i+1
				request.Written = before.Add(50 * time.Millisecond)
			}
			open[e.ID] = e.Host
		case ledger.End:
			ended[open[e.ID]] = e.Ended
		}
	}
	if line == 0 {
		t.Fatal("no request to make early")
	}
	request.Allowed, request.Clauses = request.Written, nil
	lines[line-1] = string(request.Append(nil)) + "\n"
	return line, request.Host
}

// testCommands are the command names that the reports in these tests mention.
var testCommands = Commands{Verify: "crawl-verify", URLs: "crawl-urls", Check: "crawl-check", Explain: "crawl-explain", Resume: "crawl-resume", Crawl: "crawl --config"}
