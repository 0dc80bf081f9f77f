// Package report summarizes a crawl of package job: as text, as a self-contained page that shows every request and every pause, and as
// tables. The facts about each host come from package job/digest.
//
//	r, err := job.Read("site")
//	defer r.Close()
//	err = report.Write(r, report.Commands{}) // report.html, report.json, datasheet.md and SHA256SUMS in the directory
//	page, err := report.Page(r, report.Commands{})
package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // for the page and its style
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/politeness/audit"
)

// Write writes the report of a job that has ended into its directory: the page, the lists that it names, the data sheet with its
// previous answers, and the hashes of all files (job.Reader.WriteSums). Each file is written atomically.
func Write(r *job.Reader, c Commands) error {
	s, err := read(r, c)
	if err != nil {
		return err
	}
	if s.open != "" {
		return &job.Error{Kind: job.Refused, Err: fmt.Errorf("job %s has not ended (%s): nothing is written into it", r.Dir(), s.open)}
	}
	page, err := s.page()
	if err != nil {
		return err
	}
	if err := r.Replace(job.HostsName, s.hostsCSV()); err != nil {
		return err
	}
	if err := r.Replace(job.ProblemsName, s.list.csv()); err != nil {
		return err
	}
	if err := r.Replace(job.PageName, page); err != nil {
		return err
	}
	if err := s.writeSheet(r); err != nil {
		return err
	}
	return r.WriteSums()
}

// Page returns the report of a job as HTML.
func Page(r *job.Reader, c Commands) ([]byte, error) {
	s, err := read(r, c)
	if err != nil {
		return nil, err
	}
	return s.page()
}

// Commands are the commands that a report names, so that readers can check the crawl, explain a URL, and resume or repeat the crawl.
// With the zero value the report names none.
type Commands struct {
	Verify  string // checks the crawl; the report appends the job's directory to this and the following commands
	URLs    string // prints the URLs of the job
	Check   string // names all pages with a broken link
	Explain string // explains a URL, which the report appends after the directory
	Resume  string // resumes the crawl
	Crawl   string // repeats the crawl; instead of the directory, the report appends a job file, and -o with a new directory
}

// source holds the data of a page.
type source struct {
	commands Commands
	report   *crawler.Report
	manifest *job.Manifest
	facts    *digest.Facts
	list     problemList
	leftOut  map[string]bool // host names that an order of the operator left out

	// For a job that has not ended:
	open   string // state of the job; "" if it has ended
	alive  bool   // a process works on the job
	resume string // the command that resumes the job
}

// read reads the data of a report from a job.
func read(r *job.Reader, c Commands) (s *source, err error) {
	s = &source{commands: c}
	if s.manifest, err = r.Manifest(); err != nil {
		return nil, err
	}
	s.leftOut = leftOut(s.manifest)
	s.list.table = newTable("url", "outcome", "reason", "status", "via", "error", "ended")
	if s.manifest.Unfinished() {
		return s, s.readUnfinished(r)
	}
	if s.report, err = r.Report(); err != nil {
		return nil, err
	}
	s.facts, err = r.Facts(s.list.add)
	return s, err
}

// pageData is the input of the page's template.
type pageData struct {
	Policy              string
	Styles              []template.HTML
	Title, When, Finish string
	Agent, Contact      string
	Unfinished          string // note about the data that the page of an unfinished crawl covers
	Verdict             verdict
	Results             []result
	Other               string // counts of the other outcomes
	Gaps                []string
	Sites               siteTable
	SortKeys            []string
	Owners              []ownerRow
	OwnersMore          string
	Polite              polite
	Time                spent
	Sample              sample
	How                 []fact
	Changed             []changed
	Settings            []fact
	Counts              []countTable
	Runs                []job.Run
	Last                *job.Run
}

type fact struct{ Name, Value string }

// page returns the report as an HTML page.
func (s *source) page() ([]byte, error) {
	d := pageData{
		Title: "Crawl of " + s.seedsText(), When: when(s.report.Started, s.report.Ended), Finish: s.finish(),
		Agent: s.manifest.Settings["agent"], Contact: s.manifest.Settings["contact"],
		Verdict: s.verdict(), Gaps: s.gaps(), Sites: s.sites(), Polite: s.polite(), Time: s.spent(), Sample: s.sample(),
		How: s.how(), Changed: s.changed(), Settings: s.settings(), Counts: s.counts(), Runs: s.manifest.Runs, Last: s.manifest.Last(),
	}
	if s.open != "" {
		d.Unfinished = s.covers()
	}
	d.Results, d.Other = s.results()
	d.Owners, d.OwnersMore = s.owners()
	d.Runs = d.Runs[max(0, len(d.Runs)-maxRuns):]
	styles := []string{Palette + style}
	if d.Sites.Sorted {
		styles = append(styles, s.sortStyle())
		for _, k := range sortKeys {
			d.SortKeys = append(d.SortKeys, k.Name)
		}
	}
	d.Policy = policy(styles...)
	for _, text := range styles {
		d.Styles = append(d.Styles, template.HTML("<style>"+text+"</style>")) //nolint:gosec // it is ours
	}
	var b bytes.Buffer
	if err := reportPage().Execute(&b, &d); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return hidden.Escape(b.Bytes()), nil
}

// Limits of the lists on the page. Complete lists are in the files beside it.
const (
	maxRows  = 200 // sites
	maxLanes = 40  // sites shown in a picture
	maxRules = 50
	maxRuns  = 50
)

// Palette is the style sheet of the colours, light and dark, as custom properties. Each colour has one meaning on all pages.
//
//go:embed palette.css
var Palette string

//go:embed style.css
var style string

//go:embed page.tmpl
var pageText string

// policy returns a Content-Security-Policy under which the page can only apply its own styles.
func policy(styles ...string) string {
	hashes := make([]string, len(styles))
	for i, s := range styles {
		sum := sha256.Sum256([]byte(s))
		hashes[i] = "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + strings.Join(hashes, " ") + "; base-uri 'none'; form-action 'none'"
}

// reportPage is parsed on demand: few commands write a report.
var reportPage = sync.OnceValue(func() *template.Template {
	return template.Must(template.New(job.PageName).Funcs(template.FuncMap{
		"time": stamp, "num": num,
		"other": func(hosts int) string { return plural(hosts-1, "other site") },
		"web": func(url string) bool {
			return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
		},
	}).Parse(pageText))
})

// seedsText describes the seeds.
func (s *source) seedsText() string {
	var hosts []string
	for _, seed := range s.manifest.Seeds {
		host := seed
		if _, rest, ok := strings.Cut(seed, "://"); ok {
			host, _, _ = strings.Cut(rest, "/")
		}
		if !slices.Contains(hosts, host) && len(hosts) < 1000 {
			hosts = append(hosts, host)
		}
	}
	switch len(hosts) {
	case 0:
		return "nothing"
	case 1:
		return hosts[0]
	}
	return hosts[0] + " and " + plural(len(hosts)-1, "more site")
}

// finish describes how the crawl ended.
func (s *source) finish() string {
	text := span(s.report.Elapsed.Duration)
	if n := len(s.manifest.Runs); n > 1 {
		text += ", in " + plural(n, "process") + "es"
		text = strings.Replace(text, "processses", "processes", 1)
	}
	return text + " · " + finishText(s.report, s.open)
}

// verdict is the result of the check of politeness.
type verdict struct {
	Bad   bool
	Text  string
	Lines []string
}

func (s *source) verdict() verdict {
	t := &s.facts.Total
	if t.Early == 0 {
		text := fmt.Sprintf("✓ Polite: %s to %s, none too early.", plural(t.Requests, "request"), plural(s.hostCount(), "site"))
		if s.facts.Unjudged > 0 {
			text += fmt.Sprintf(" %s not judged here%s.", plural(s.facts.Unjudged, "request"), cli.After(": use ", s.commands.Verify))
		}
		if t.Requests == 0 {
			text = "No request was made."
		}
		return verdict{Text: text}
	}
	v := verdict{Bad: true, Text: fmt.Sprintf("✗ Not polite: %s of %s too early, or against another rule of pace:", num(t.Early), plural(t.Requests, "request"))}
	for _, e := range s.facts.Early[:min(5, len(s.facts.Early))] {
		v.Lines = append(v.Lines, fmt.Sprintf("line %d of ledger.jsonl, %s: %s (%s)", e.Lines[0], cmp.Or(e.Host, "no single site"), e.Message, ruleText(e.Invariant)))
	}
	if t.Early > len(v.Lines) && s.commands.Verify != "" {
		v.Lines = append(v.Lines, "all of them: "+s.commands.Verify)
	}
	return v
}

// ruleText describes the rule of politeness behind an invariant, with its code.
func ruleText(invariant string) string {
	if rule := audit.Rule(invariant); rule != "" {
		return "rule " + invariant + ": " + rule
	}
	return "rule " + invariant
}

// hostCount returns the number of hosts with requests.
func (s *source) hostCount() (n int) {
	for i := range s.facts.Hosts {
		if s.facts.Hosts[i].Requests > 0 {
			n++
		}
	}
	return n + s.facts.MoreHosts
}
