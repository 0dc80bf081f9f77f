package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/sink"
)

const pageName = "report.html"

// mostFailed is how many URLs that failed the page lists.
const mostFailed = 500

// pageData is what the page shows.
type pageData struct {
	Title    string
	Finish   string
	Report   *report
	Manifest *manifest
	Facts    []fact
	Tables   []countTable
	Failed   []sink.Record
	More     int // failed URLs that are not listed
	Settings []fact
}

type fact struct{ Name, Value string }

// countTable is counts, the largest first.
type countTable struct {
	Title string
	Rows  []countRow
}

type countRow struct {
	Name  string
	Count int
	Share int // percent of the largest
}

// writePage writes the report as a page that needs nothing but itself.
func writePage(dir string, m *manifest, rep *report) error {
	end := rep.ending()
	d := pageData{
		Title: "Crawl of " + seedsText(m.Seeds), Finish: finishText(end, nil), Report: rep, Manifest: m,
		Tables: []countTable{
			counted("Outcomes", rep.Outcomes), counted("Statuses", rep.Statuses), counted("Types", rep.Types),
			counted("Reasons", rep.Reasons), counted("Links", rep.Links),
		},
	}
	d.Facts = factsOf(rep)
	for _, name := range slices.Sorted(maps.Keys(m.Settings)) {
		d.Settings = append(d.Settings, fact{name, m.Settings[name]})
	}
	var err error
	if d.Failed, d.More, err = failedVisits(dir); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := reportPage.Execute(&b, &d); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	files, err := openDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(files.replace(pageName, hidden.Escape(b.Bytes())), files.close())
}

func seedsText(seeds []string) string {
	if len(seeds) == 0 {
		return "nothing"
	}
	return seeds[0] + cli.AndMore(len(seeds)-1)
}

func factsOf(r *report) []fact {
	facts := []fact{
		{"Pages", fmt.Sprint(r.Pages)}, {"Requests", fmt.Sprint(r.Requests)}, {"Hosts", fmt.Sprint(r.Hosts)},
		{"Received", cli.Bytes(r.Bytes)}, {"URLs left", fmt.Sprint(r.Left)},
		{"Time", cli.Round(time.Duration(r.Seconds * float64(time.Second))).String()},
	}
	if r.Rejected > 0 {
		facts = append(facts, fact{"URLs the queue had no room for", fmt.Sprint(r.Rejected)})
	}
	if r.BoundSeconds > 0 && r.Seconds >= r.BoundSeconds {
		facts = append(facts, fact{"Time ÷ least possible", fmt.Sprintf("%.2f, set by %s", r.Seconds/r.BoundSeconds, r.BoundBy)})
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

// failedVisits are the visits of URLs that could not be had, and of answers that say so.
func failedVisits(dir string) (list []sink.Record, more int, err error) {
	ok := member("outcome", string(crawler.Fetched))
	err = eachLine(dir, visitsName, func(_ int, b []byte) bool {
		var r sink.Record
		if has(b, ok) && !bytes.Contains(b, []byte(`"status":4`)) && !bytes.Contains(b, []byte(`"status":5`)) || json.Unmarshal(b, &r) != nil {
			return true
		}
		switch {
		case r.Outcome != string(crawler.Failed) && r.Outcome != string(crawler.Deferred) && r.Status < 400:
		case len(list) < mostFailed:
			list = append(list, r)
		default:
			more++
		}
		return true
	})
	return list, more, err
}

var reportPage = template.Must(template.New(pageName).Funcs(template.FuncMap{
	"time": func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format("2006-01-02 15:04:05Z")
	},
	"web": func(url string) bool { return len(url) > 4 && url[:4] == "http" },
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
{{if .Failed}}<h2>URLs that could not be had</h2>
<table><tr><th>URL</th><th>what became of it</th><th>found on</th></tr>
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
