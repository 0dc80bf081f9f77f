package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/amble-crawler/amble/job"
)

// changed is a setting that differs from its default.
type changed struct{ Name, Value, Default string }

// how describes how the crawl was done, and how that can be checked.
func (s *source) how() []fact {
	last := s.manifest.Last()
	facts := []fact{
		{"Ended", finishText(s.report, s.open)},
		{"Ledger", fmt.Sprintf("%s of %s", plural(s.facts.Lines, "line"), plural(s.facts.Total.Requests, "request"))},
	}
	if f, ok := s.manifest.Outputs[job.LedgerName]; ok {
		facts[1].Value += s.sum(job.LedgerName, f.SHA256)
	}
	if f, ok := s.manifest.Outputs[job.VisitsName]; ok {
		facts = append(facts, fact{"Visits", plural(s.facts.Known, "URL") + s.sum(job.VisitsName, f.SHA256)})
	}
	if s.commands.Verify != "" {
		facts = append(facts, fact{"Check it yourself", s.commands.Verify + " DIR judges every request again; " + s.commands.Explain + " DIR URL says the outcome of a URL, and why"})
	}
	for _, o := range s.report.Overrides {
		facts = append(facts, fact{"robots.txt replaced", o.Origin + ": " + o.Reason})
	}
	if s.report.Rejected > 0 {
		facts = append(facts, fact{"Queue full", "no room for " + plural(s.report.Rejected, "URL")})
	}
	return append(facts, fact{"Cite as", fmt.Sprintf("Crawl by %s with %s, %s", cmp.Or(s.manifest.Settings["agent"], "an unnamed crawler"), last.Software, s.report.Started.UTC().Format("2006-01-02"))})
}

// sum states the hash of a file, or where the hashes of its segments are.
func (s *source) sum(name, first string) string {
	if s.manifest.InSegments(name) {
		return ", in segments, whose SHA-256 are in manifest.json"
	}
	return ", SHA-256 " + first
}

// settings lists all settings.
func (s *source) settings() (all []fact) {
	for _, name := range slices.Sorted(maps.Keys(s.manifest.Settings)) {
		all = append(all, fact{name, s.manifest.Settings[name]})
	}
	return all
}

// changed lists the settings that differ from their defaults.
func (s *source) changed() (all []changed) {
	for _, f := range s.settings() {
		def := ""
		if k := job.KeyNamed(f.Name); k != nil {
			d := k.Default()
			def = d.Text()
		}
		if f.Value != def {
			all = append(all, changed{f.Name, f.Value, cmp.Or(def, "none")})
		}
	}
	for _, field := range s.manifest.Program {
		all = append(all, changed{"Config." + field, "set by a program", "unset"})
	}
	return all
}

// countTable is a table of counts, the largest first.
type countTable struct {
	Title string
	Rows  []countRow
}

type countRow struct {
	Name  string
	Count int
}

// counts returns all counts of the report as tables.
func (s *source) counts() (tables []countTable) {
	r := s.report
	for _, t := range []countTable{
		counted("Outcomes", r.Outcomes), counted("Statuses", r.Statuses), counted("Types", r.Types),
		counted("Reasons", r.Reasons), counted("Links", r.Links), counted("Usage signals", r.Usage), counted("Verdicts about uses", r.Verdicts),
	} {
		if len(t.Rows) > 0 {
			t.Rows = t.Rows[:min(maxRows, len(t.Rows))]
			tables = append(tables, t)
		}
	}
	return tables
}

func counted[K cmp.Ordered](title string, counts map[K]int) countTable {
	t := countTable{Title: title}
	for k, n := range counts {
		t.Rows = append(t.Rows, countRow{Name: cmp.Or(fmt.Sprint(k), "unknown"), Count: n})
	}
	slices.SortFunc(t.Rows, func(a, b countRow) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return t
}
