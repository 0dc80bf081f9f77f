package report

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
)

// pageData is the data of the page.
type pageData struct {
	Title     string
	Finish    string
	Report    *crawler.Report
	Manifest  *job.Manifest
	Facts     []fact
	Tables    []countTable
	Hosts     []Host
	MoreHosts int // number of hosts that are not listed
	Failed    []sink.Record
	More      int // number of failed URLs that are not listed
	Settings  []fact
}

type fact struct{ Name, Value string }

// countTable is a table of counts, the largest first.
type countTable struct {
	Title string
	Rows  []countRow
}

type countRow struct {
	Name  string
	Count int
	Share int // percent of the largest
}

// WritePage writes the report of a job into its directory, as a self-contained page.
func WritePage(r *job.Reader) error {
	page, err := Page(r)
	if err != nil {
		return err
	}
	return r.Replace(job.PageName, page)
}

// Page returns the report of a job as HTML.
func Page(r *job.Reader) ([]byte, error) {
	m, err := r.Manifest()
	if err != nil {
		return nil, err
	}
	rep, err := r.Report()
	if err != nil {
		return nil, err
	}
	d := pageData{
		Title: "Crawl of " + seedsText(m.Seeds), Finish: finishText(rep, ""), Report: rep, Manifest: m,
		Tables: []countTable{
			counted("Outcomes", rep.Outcomes), counted("Statuses", rep.Statuses), counted("Types", rep.Types),
			counted("Reasons", rep.Reasons), counted("Links", rep.Links), counted("Usage signals", rep.Usage),
		},
		Facts: factsOf(rep),
	}
	for _, name := range slices.Sorted(maps.Keys(m.Settings)) {
		d.Settings = append(d.Settings, fact{name, m.Settings[name]})
	}
	facts, err := Gather(r)
	if err != nil {
		return nil, err
	}
	d.Failed, d.More, d.Hosts, d.MoreHosts = facts.Failed, facts.MoreFailed, facts.Hosts, facts.MoreHosts
	var b bytes.Buffer
	if err := reportPage.Execute(&b, &d); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return hidden.Escape(b.Bytes()), nil
}

func seedsText(seeds []string) string {
	if len(seeds) == 0 {
		return "nothing"
	}
	return seeds[0] + cli.AndMore(len(seeds)-1)
}

func factsOf(r *crawler.Report) []fact {
	facts := []fact{
		{"Pages", fmt.Sprint(r.Pages)}, {"Requests", fmt.Sprint(r.Requests)}, {"Hosts", fmt.Sprint(r.Hosts)},
		{"Received", cli.Bytes(r.Bytes)}, {"URLs left", fmt.Sprint(r.Left)},
		{"Time", cli.Round(r.Elapsed.Duration).String()},
	}
	if r.Rejected > 0 {
		facts = append(facts, fact{"URLs the queue had no room for", fmt.Sprint(r.Rejected)})
	}
	if r.Bound.Duration > 0 && r.Elapsed.Duration >= r.Bound.Duration {
		facts = append(facts, fact{"Time ÷ least possible", fmt.Sprintf("%.2f, set by %s", r.Elapsed.Seconds()/r.Bound.Seconds(), r.BoundBy)})
	}
	for _, o := range r.Overrides {
		facts = append(facts, fact{"robots.txt replaced", o.Origin + ": " + o.Reason})
	}
	return facts
}

func counted[K cmp.Ordered](title string, counts map[K]int) countTable {
	t := countTable{Title: title}
	most := 0
	for k, n := range counts {
		t.Rows = append(t.Rows, countRow{Name: cmp.Or(fmt.Sprint(k), "unknown"), Count: n})
		most = max(most, n)
	}
	slices.SortFunc(t.Rows, func(a, b countRow) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	for i := range t.Rows {
		t.Rows[i].Share = t.Rows[i].Count * 100 / max(1, most)
	}
	return t
}

var reportPage = template.Must(template.New(job.PageName).Funcs(template.FuncMap{
	"time": func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format("2006-01-02 15:04:05Z")
	},
	"bytes": cli.Bytes,
	"round": cli.Round,
	"web":   func(url string) bool { return len(url) > 4 && url[:4] == "http" },
}).Parse(`<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{.Title}}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222; background: #fff }
h1 { font-size: 1.4em; overflow-wrap: anywhere } h2 { font-size: 1.1em; margin-top: 2em }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .2em .8em .2em 0; vertical-align: top; border-bottom: 1px solid #ddd; overflow-wrap: anywhere }
td.n { text-align: right; width: 7em; font-variant-numeric: tabular-nums } td.bar { width: 40% } .bar div { background: #7a9cc6; height: 1em; margin-top: .25em }
.finish { font-size: 1.1em } code { font-size: .9em }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } td, th { border-color: #444 } a { color: #9cf } }
</style>
<h1>{{.Title}}</h1>
<p class="finish">{{.Finish}}. {{time .Report.Started}} to {{time .Report.Ended}}.</p>
<table>{{range .Facts}}<tr><th>{{.Name}}</th><td>{{.Value}}</td></tr>
{{end}}</table>
{{range .Tables}}{{if .Rows}}<h2>{{.Title}}</h2>
<table>{{range .Rows}}<tr><td>{{.Name}}</td><td class="n">{{.Count}}</td><td class="bar"><div style="width: {{.Share}}%"></div></td></tr>
{{end}}</table>
{{end}}{{end}}
{{if .Hosts}}<h2>Hosts</h2>
<table><tr><th>host</th><th>requests</th><th>pages</th><th>failed</th><th>received</th><th>time of an answer</th><th>shortest pause</th>{{if .Report.UsageHosts}}<th>usage signals</th>{{end}}</tr>
{{range .Hosts}}<tr><td>{{.Host}}</td><td>{{.Requests}}</td><td>{{.Pages}}</td><td>{{.Failed}}</td><td>{{bytes .Bytes}}</td><td>{{round .Answer}}</td><td>{{if gt .Requests 1}}{{round .Pause}}{{end}}</td>{{if $.Report.UsageHosts}}<td>{{range $use, $n := index $.Report.UsageHosts .Host}}{{$use}} {{$n}} {{end}}</td>{{end}}</tr>
{{end}}</table>{{if .MoreHosts}}<p>And {{.MoreHosts}} more.</p>{{end}}
{{end}}
{{if .Failed}}<h2>URLs that failed</h2>
<table><tr><th>URL</th><th>outcome</th><th>found on</th></tr>
{{range .Failed}}<tr><td>{{if web .URL}}<a rel="noreferrer" href="{{.URL}}">{{.URL}}</a>{{else}}{{.URL}}{{end}}</td><td>{{if .Status}}{{.Status}} {{end}}{{.Outcome}} {{.Reason}}</td><td>{{.Via}}</td></tr>
{{end}}</table>{{if .More}}<p>And {{.More}} more.</p>{{end}}
{{end}}
<h2>Processes</h2>
<table><tr><th>begun</th><th>ended</th><th>how</th><th>by</th><th>changes</th></tr>
{{range .Manifest.Runs}}<tr><td>{{time .Started}}</td><td>{{time .Ended}}</td><td>{{if .Finish}}{{.Finish}}{{else}}killed, or under way{{end}} {{.Error}}</td><td>{{.Software}} on {{.Host.Name}}</td><td>{{range .Changes}}{{.Key}}: {{.From}} → {{.To}}<br>{{end}}</td></tr>
{{end}}</table>
<h2>Settings</h2>
<table>{{range .Settings}}<tr><td><code>{{.Name}}</code></td><td>{{.Value}}</td></tr>
{{end}}</table>
</html>
`))
