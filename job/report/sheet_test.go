package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/digest"
)

// readSheet returns the data sheet of a job, both parsed and as text.
func readSheet(t *testing.T, dir string) (data map[string]any, text string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, job.SheetDataName))
	if err == nil {
		err = json.Unmarshal(b, &data)
	}
	if err != nil {
		t.Fatal(err)
	}
	md, err := os.ReadFile(filepath.Join(dir, job.SheetName))
	if err != nil {
		t.Fatal(err)
	}
	return data, string(md)
}

// lines returns the objects in a file of JSON lines. It uses no code of this module.
func lines(t *testing.T, path string) (all []map[string]any) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		m := map[string]any{}
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// TestScopesOfASampleThatIsTheSame checks which scopes count as those in which no page of a site is found through another site.
func TestScopesOfASampleThatIsTheSame(t *testing.T) {
	for scope, want := range map[crawler.ScopeKind]bool{crawler.ScopeHost: true, crawler.ScopePrefix: true, crawler.ScopeDomain: false, crawler.ScopeAny: false} {
		s := &source{
			facts: &digest.Facts{}, report: &crawler.Report{Finish: crawler.FinishDone},
			manifest: &job.Manifest{Settings: map[string]string{"scope": string(scope)}},
		}
		if o := s.order(); o.Same != want {
			t.Errorf("%s: %+v", scope, o)
		}
	}
}

func TestSheetSaysWhatTheFilesSay(t *testing.T) {
	t.Parallel()
	dir, r := crawled(t, 1)
	written(t, r)
	data, text := readSheet(t, dir)

	reasons, statuses, outcomes, same := map[string]int{}, map[string]int{}, map[string]int{}, 0
	for _, v := range lines(t, filepath.Join(dir, job.VisitsName)) {
		outcomes[v["outcome"].(string)]++
		if reason, _ := v["reason"].(string); reason != "" {
			reasons[reason]++
		}
		if status, _ := v["status"].(float64); status >= 400 {
			b, _ := json.Marshal(v["status"])
			statuses["status_"+string(b)]++
		}
		if v["same_as"] != nil && v["outcome"] == "fetched" {
			same++
		}
	}
	requests, robots := 0, 0
	for _, e := range lines(t, filepath.Join(dir, job.LedgerName)) {
		if e["event"] == "start" {
			requests++
			if e["purpose"] == "robots" {
				robots++
			}
		}
	}
	if requests == 0 || len(reasons) == 0 || len(statuses) == 0 {
		t.Fatalf("%d requests, reasons %v, statuses %v", requests, reasons, statuses)
	}
	of := func(path string) any {
		var v any = data
		for key := range strings.SplitSeq(path, ".") {
			v = v.(map[string]any)[key]
		}
		return v
	}
	for path, want := range map[string]int{
		"got.pages": outcomes["fetched"], "cost.requests": requests, "politeness.requests": requests, "robots.requests": robots,
		"robots.refused_urls": reasons["robots_disallow"], "duplicates.same_body": same, "politeness.early": 0, "frame.seeds": 3,
	} {
		if got := of(path); got != float64(want) {
			t.Errorf("%s: %v, counted %d", path, got, want)
		}
	}
	if of("order.same_sample") != false || !strings.Contains(of("order.not_because").([]any)[0].(string), "repeated") {
		t.Errorf("a crawl with a retry: %v", data["order"])
	}
	unseen := map[string]int{}
	for _, u := range data["unseen"].([]any) {
		unseen[u.(map[string]any)["cause"].(string)] = int(u.(map[string]any)["urls"].(float64))
	}
	for _, counts := range []map[string]int{reasons, statuses} {
		for cause, n := range counts {
			if unseen[cause] != n && !strings.HasPrefix(cause, "redirect") {
				t.Errorf("%s: %d, counted %d", cause, unseen[cause], n)
			}
		}
	}
	if len(data["censored"].([]any)) != 1 {
		t.Errorf("censored: %v", data["censored"])
	}
	for _, bad := range []string{"<script", "<img", "\u202e", "\n=cmd"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q in the data sheet", bad)
		}
	}
	if n := strings.Count(text, blank); n != len(questions) {
		t.Errorf("%d blanks of %d", n, len(questions))
	}
}

func TestAnswersAreKept(t *testing.T) {
	t.Parallel()
	dir, r := crawled(t, 1)
	written(t, r)
	path := filepath.Join(dir, job.SheetName)
	_, text := readSheet(t, dir)
	const given = "We wanted to know.\n\nNobody paid; \"a\" | <b>"
	filled := strings.Replace(text, begins("purpose")+"\n"+blank, begins("purpose")+"\n"+given, 1)
	write := func(s string) {
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filled)
	v, err := r.Verify()
	if err != nil || v.Damaged() != 1 || !strings.Contains(v.Files[len(v.Files)-1].Damage, "a new report") {
		t.Errorf("a sheet that was filled in: %v %+v", err, v.Files)
	}
	written(t, r)
	data, text := readSheet(t, dir)
	if !strings.Contains(text, given) || data["answers"].([]any)[0].(map[string]any)["answer"] != given || strings.Count(text, blank) != len(questions)-1 {
		t.Errorf("the answer is lost: %v\n%s", data["answers"], text)
	}
	if v, err := r.Verify(); err != nil || v.Damaged() > 0 || v.Sums == 0 {
		t.Errorf("written again: %v %+v", err, v)
	}
	write(strings.Replace(text, ends, "", 1))
	if err := Write(r, testCommands); err == nil || !strings.Contains(err.Error(), "purpose") {
		t.Errorf("without the end of an answer: %v", err)
	}
	if _, now := readSheet(t, dir); !strings.Contains(now, given) {
		t.Error("it was written over")
	}
}

func TestSumsAreThoseOfSha256sum(t *testing.T) {
	t.Parallel()
	dir, r := crawled(t, 1)
	written(t, r)
	tool, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(tool, "--strict", "-c", job.SumsName)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	for _, name := range []string{"visits.jsonl", "ledger.jsonl", "manifest.json", "job.yaml", "datasheet.json", "report.html", "robots/index.jsonl"} {
		if !bytes.Contains(out, []byte(name+": OK")) {
			t.Errorf("%s is not in it", name)
		}
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
