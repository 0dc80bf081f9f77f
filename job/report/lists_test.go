package report

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/politeness/audit"
)

// TestHostileCells checks that no spreadsheet evaluates a cell of a list as a formula, and that no cell can control a terminal.
func TestHostileCells(t *testing.T) {
	for _, text := range []string{"=1+1", "＝1+1", "\n=1+1", "\r@x", "a\x1b[31mred", "\x07", "a\u202eb", "+1"} {
		l := newTable("cell")
		l.row(text)
		rows, err := csv.NewReader(strings.NewReader(string(l.bytes()))).ReadAll()
		if err != nil || len(rows) != 2 {
			t.Fatalf("%q: %v, %q", text, err, rows)
		}
		cell := rows[1][0]
		if strings.ContainsAny(cell, "\x1b\x07\r\u202e") || strings.ContainsRune("=+@＝\n\t", []rune(cell)[0]) {
			t.Errorf("%q is the cell %q", text, cell)
		}
	}
}

// TestOwners checks that the report of a job whose shards were owned by several processes lists the owners with their requests, and that
// other reports do not mention owners.
func TestOwners(t *testing.T) {
	t.Parallel()
	dir, r := crawled(t, crawler.NoDelay)
	const title = "Shards and their owners"
	if page := written(t, r); strings.Contains(page, title) {
		t.Error("an ordinary job has owners")
	}
	ledger, err := os.Open(filepath.Join(dir, "ledger.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := bufio.NewReader(ledger).ReadBytes('\n')
	_ = ledger.Close()
	var e struct{ Run string }
	if err != nil || json.Unmarshal(first, &e) != nil || e.Run == "" {
		t.Fatalf("%v, %s", err, first)
	}
	rules, err := r.AuditConfig()
	if err != nil {
		t.Fatal(err)
	}
	rules.Processes = []audit.Process{
		{Run: e.Run, Name: "node <a>, shard 0, epoch 2", Ahead: 0.25, Error: 0.01},
		{Run: "other", Name: "node b, shard 0, epoch 1", Ahead: -1, Until: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)},
		{Run: "third"},
	}
	b, err := json.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "politeness.json"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	page := written(t, reader(t, dir))
	facts, err := reader(t, dir).Facts()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		title, "node &lt;a&gt;, shard 0, epoch 2</th><td class=\"r\">" + num(facts.Total.Requests) + "</td>", "node b, shard 0, epoch 1</th><td class=\"r\">0</td>",
		"2026-01-02 03:04:05", "250 ms ahead, ± 10 ms", "1 s behind", "process third", "2 of all made no request", "the status of the cluster",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page[max(0, strings.Index(page, "id=\"owners\"")):][:1500])
		}
	}
}

// TestListsAreCompleteUpToAHundredURLs checks that each result links to a list of its URLs. Up to a hundred URLs are all listed; a longer
// list names the file with the rest, and has an example of each cause. On the page, results come before politeness.
func TestListsAreCompleteUpToAHundredURLs(t *testing.T) {
	t.Parallel()
	for _, n := range []int{13 * 100, 13 * 101} {
		s := drawn(n, 20)
		page, err := s.page()
		if err != nil {
			t.Fatal(err)
		}
		_, list, _ := strings.Cut(string(page), `<div id="broken">`)
		list, _, _ = strings.Cut(list, "</details>")
		wanted := 0
		for _, p := range s.facts.Problems {
			wanted += p.Count
		}
		rows := strings.Count(list, `<tr class="c`)
		if rows != min(wanted, maxShown) || wanted != n/13 {
			t.Errorf("%d broken URLs, %d listed", wanted, rows)
		}
		if more := strings.Contains(list, "1 more URL in visits.jsonl"); more != (wanted > maxShown) {
			t.Errorf("%d broken URLs: %t that there are more", wanted, more)
		}
		if !strings.Contains(list, `<a href="problems.csv">`) || !strings.Contains(list, "crawl-check DIR") || !strings.Contains(string(page), `href="#broken"`) {
			t.Errorf("the list leads nowhere: %.500s", list)
		}
		if first, second := strings.Index(string(page), `id="results"`), strings.Index(string(page), `id="polite"`); first < 0 || second < first {
			t.Errorf("results at %d, politeness at %d", first, second)
		}
	}
	s := drawn(13*101, 20)
	s.list.shown[digest.Broken] = slices.DeleteFunc(s.list.shown[digest.Broken], func(r listRow) bool { return r.Cause != "404 not found" })
	for len(s.list.shown[digest.Broken]) < maxShown {
		s.list.shown[digest.Broken] = append(s.list.shown[digest.Broken], s.list.shown[digest.Broken][0])
	}
	if rows := s.rows(digest.Broken, s.causes(digest.Broken)); len(rows) != maxShown+3 || rows[len(rows)-1].Cause != "500 internal server error" {
		t.Errorf("%d rows, the last %+v", len(rows), rows[len(rows)-1])
	}
}
