package export_test

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/exporttest"
	"github.com/amble-crawler/amble/job/export/mirror"
	"github.com/amble-crawler/amble/job/export/parquet"
	"github.com/amble-crawler/amble/job/export/sqlite"
	"github.com/amble-crawler/amble/sink"
)

// write exports a job and returns the directory of the export.
func write(t *testing.T, dir string, k export.Kind) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out"+k.Suffix)
	if _, err := exported(t, dir, k, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func exported(t *testing.T, dir string, k export.Kind, path string) (*export.Result, error) {
	t.Helper()
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return export.Write(t.Context(), r, k, path, func(export.Progress) {})
}

func readCSV(t *testing.T, path string) []map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = cells[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// The tables agree with the visits: each page is in them exactly once, even if the crawl was killed.
func TestCSV(t *testing.T) {
	dir := exporttest.Job(t, true)
	out := write(t, dir, export.CSV())
	visits, rows := exporttest.Visits(t, dir), readCSV(t, filepath.Join(out, "visits.csv"))
	if len(rows) != len(visits) || len(rows) < 15 {
		t.Fatalf("%d rows of %d visits", len(rows), len(visits))
	}
	seen, bytes, total := map[string]bool{}, 0, 0
	for i, v := range visits {
		row := rows[i]
		if seen[v.URL] {
			t.Errorf("%s twice", v.URL)
		}
		seen[v.URL] = true
		status, _ := strconv.Atoi(row["fetch_status"])
		if row["url"] != v.URL || row["outcome"] != v.Outcome || status != v.Status || row["reason"] != v.Reason {
			t.Errorf("%v is not the row of %+v", row, v)
		}
		n, _ := strconv.Atoi(row["bytes"])
		bytes, total = bytes+n, total+v.Bytes
		if strings.HasSuffix(v.URL, "/hostile") && row["title"] != "'=1+2\"'<script>alert(1)</script>, \\u202eabc" {
			t.Errorf("a hostile title is %q", row["title"])
		}
	}
	if bytes != total || seen["https://www.one.example/never-committed"] {
		t.Errorf("%d bytes, want %d; %v", bytes, total, seen)
	}
	if row := rows[0]; row["url_surtkey"] != "example,one)/" || row["url_host_name"] != "www.one.example" || row["url_host_registered_domain"] != "one.example" || row["warc_filename"] == "" || !strings.HasPrefix(row["content_digest"], "sha256:") {
		t.Errorf("the home page is %v", row)
	}
	var told []sink.Record
	for _, row := range rows {
		v := sink.Record{URL: row["url"], Outcome: row["outcome"]}
		v.Status, _ = strconv.Atoi(row["fetch_status"])
		v.Bytes, _ = strconv.Atoi(row["bytes"])
		told = append(told, v)
	}
	if got, want := exporttest.Summary(told), exporttest.Summary(visits); got != want || strings.Count(got, ";") < 5 {
		t.Errorf("by outcome, host and status: %s, want %s", got, want)
	}
	hosts := readCSV(t, filepath.Join(out, "hosts.csv"))
	requests := readCSV(t, filepath.Join(out, "requests.csv"))
	sums := map[string]int{}
	for _, h := range hosts {
		for _, name := range []string{"visits", "fetched", "requests", "bytes", "robots_requests"} {
			n, _ := strconv.Atoi(h[name])
			sums[name] += n
		}
	}
	fetched := len(slices.DeleteFunc(slices.Clone(rows), func(r map[string]string) bool { return r["outcome"] != "fetched" }))
	if sums["visits"] != len(rows) || sums["requests"] != len(requests) || sums["bytes"] != total || sums["fetched"] != fetched || sums["robots_requests"] < 2 {
		t.Errorf("hosts sum up to %v; %d visits, %d requests, %d fetched", sums, len(rows), len(requests), fetched)
	}
	if !slices.ContainsFunc(requests, func(r map[string]string) bool { return r["pause_s"] != "" && r["clause"] == "delay" }) {
		t.Error("no pause was owed")
	}
	robots := readCSV(t, filepath.Join(out, "robots.csv"))
	if len(robots) < 2 || !strings.Contains(robots[0]["body"], "Disallow: /private") {
		t.Errorf("robots.txt: %v", robots)
	}
	problems := readCSV(t, filepath.Join(out, "problems.csv"))
	if len(problems) < 3 {
		t.Errorf("problems: %v", problems)
	}
}

func TestCrawlLog(t *testing.T) {
	dir := exporttest.Job(t, true)
	f, err := os.Open(write(t, dir, export.CrawlLog()))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	visits := exporttest.Visits(t, dir)
	codes := map[string]string{}
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); n++ {
		words := strings.Fields(sc.Text())
		if len(words) != 12 {
			t.Fatalf("%d words: %s", len(words), sc.Text())
		}
		if words[3] != visits[n].URL || visits[n].Status != 0 && words[1] != strconv.Itoa(visits[n].Status) {
			t.Errorf("%s is not the line of %s", sc.Text(), visits[n].URL)
		}
		codes[words[3]] = words[1]
	}
	if n != len(visits) || codes["https://www.one.example/private/p"] != "-9998" || codes["https://www.one.example/gone"] != "404" {
		t.Errorf("%d lines for %d visits: %v", n, len(visits), codes)
	}
}

// If an export is refused, the error states the reason in one sentence, and no files are left.
func TestRefused(t *testing.T) {
	dir := exporttest.Job(t, false)
	parent := t.TempDir()
	there := filepath.Join(parent, "there")
	if err := os.WriteFile(there, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	failing := export.Kind{Name: "failing", Write: func(x *export.Export) error {
		return errors.Join(os.WriteFile(x.Path, []byte("half"), 0o600), errors.New("no space left on device"))
	}}
	for _, c := range []struct {
		path, want string
		kind       export.Kind
	}{
		{there, "exists already: remove it, or name another place", export.CrawlLog()},
		{filepath.Join(parent, "none", "log"), "make it first, or name another place", export.CrawlLog()},
		{filepath.Join(dir, "log"), "is in the job's directory, which only the crawl writes to", export.CrawlLog()},
		{filepath.Join(parent, "half"), "could not be written, and nothing of it is left: no space left", failing},
	} {
		if _, err := exported(t, dir, c.kind, c.path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.path, err, c.want)
		}
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if b, _ := os.ReadFile(there); string(b) != "mine" {
		t.Errorf("the existing file has %q", b)
	}
	if _, err := exported(t, dir, export.CrawlLog(), filepath.Join(dir, "extra")); err != nil {
		t.Errorf("in extra: %v", err)
	}
}

// An interrupted export leaves no files.
func TestInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "job")
	if err := exporttest.Large(dir, 5000); err != nil {
		t.Fatal(err)
	}
	r, err := job.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	out := t.TempDir()
	_, err = export.Write(ctx, r, export.CSV(), filepath.Join(out, "x"), func(export.Progress) { cancel() })
	if left, _ := os.ReadDir(out); !errors.Is(err, context.Canceled) || len(left) > 0 {
		t.Errorf("%v, left %v", err, left)
	}
}

// Lines written after the last commit are not exported.
func TestUncommittedLinesAreNotExported(t *testing.T) {
	dir := exporttest.Job(t, true)
	before := len(readCSV(t, filepath.Join(write(t, dir, export.CSV()), "visits.csv")))
	f, err := os.OpenFile(filepath.Join(dir, job.VisitsName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"schema":"amble.visit/1","url":"https://x.example/","depth":0,"outcome":"fetched"}` + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if after := len(readCSV(t, filepath.Join(write(t, dir, export.CSV()), "visits.csv"))); after != before || before == 0 {
		t.Errorf("%d visits, and %d with one that was not committed", before, after)
	}
	if err := os.Truncate(filepath.Join(dir, job.VisitsName), 100); err != nil {
		t.Fatal(err)
	}
	if _, err := exported(t, dir, export.CSV(), filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(err.Error(), "it ends at byte 100") {
		t.Errorf("a file that was cut off: %v", err)
	}
}

var update = flag.Bool("update", false, "write the tables in docs/reference.md")

const tablesMark = "<!-- go test ./job/export -run Documented -update writes the tables from here on. -->\n"

// TestDocumented checks that docs/reference.md lists the columns of each table as the code defines them.
func TestDocumented(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(string(b), tablesMark)
	i := strings.Index(after, "<!-- go test ")
	if !ok || i < 0 {
		t.Fatalf("%s has no line %s, or no such line of another test after it", path, tablesMark)
	}
	var want strings.Builder
	want.WriteString("\n## Columns of exports\n")
	for _, table := range export.Tables() {
		fmt.Fprintf(&want, "\n### %s\n\nA row is %s.", table.Name, table.Doc)
		if table.Name == "problems" {
			fmt.Fprintf(&want, " Its columns are those of visits: `%s`.\n", strings.Join(export.ProblemColumns(), "`, `"))
			continue
		}
		fmt.Fprint(&want, "\n\n| column | type | what it holds |\n|---|---|---|\n")
		for _, c := range table.Columns {
			if c.Doc == "" {
				t.Errorf("%s.%s has no documentation", table.Name, c.Name)
			}
			fmt.Fprintf(&want, "| `%s` | %s | %s |\n", c.Name, c.Type, c.Doc)
		}
	}
	want.WriteString("\n")
	if after[:i] == want.String() {
		return
	}
	if !*update {
		t.Fatalf("%s is not as the code: go test ./job/export -run Documented -update", path)
	}
	if err := os.WriteFile(path, []byte(before+tablesMark+want.String()+after[i:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Each kind of export is documented.
func TestKindsAreDocumented(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "export.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range append(export.Kinds(), mirror.Kind(), mirror.Files(export.Filter{}), export.URLs(export.Filter{}), parquet.Kind(), sqlite.Kind()) {
		if !strings.Contains(string(b), "| `"+k.Name+"` |") {
			t.Errorf("docs/export.md has no row for %s", k.Name)
		}
	}
}
