package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/job"
)

// sheetText writes the data sheet as Markdown.
type sheetText struct {
	strings.Builder
	*sheet
	answers map[string]*answer
}

// markdown returns the data sheet for readers.
func (d *sheet) markdown() []byte {
	t := &sheetText{sheet: d, answers: map[string]*answer{}}
	for i := range d.Answers {
		t.answers[d.Answers[i].ID] = &d.Answers[i]
	}
	t.head()
	t.frame()
	t.order()
	t.who()
	t.got()
	t.robots()
	t.cost()
	t.ethics()
	t.check()
	return hidden.Escape([]byte(t.String()))
}

// plain escapes outside text for Markdown, so that it contains no markup.
var plain = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "#", `\#`, "~", `\~`, "\n", " ", "\r", " ")

func (t *sheetText) section(title string) { fmt.Fprintf(t, "## %s\n\n", title) }

// ask writes questions with their answers, or with blanks.
func (t *sheetText) ask(ids ...string) {
	for _, id := range ids {
		t.WriteString(t.answers[id].markdown())
	}
}

// rows writes a table of names and values.
func (t *sheetText) rows(head [2]string, rows ...[2]string) {
	fmt.Fprintf(t, "| %s | %s |\n|---|---|\n", head[0], head[1])
	for _, r := range rows {
		fmt.Fprintf(t, "| %s | %s |\n", plain.Replace(r[0]), plain.Replace(r[1]))
	}
	t.WriteByte('\n')
}

func (t *sheetText) head() {
	fmt.Fprintf(t, "# Data sheet: crawl of %s\n\n", plain.Replace(plural(t.Frame.Seeds, "seed")+", "+t.When.Created.Format(time.DateOnly)))
	if n := missing(t.Answers); n > 0 {
		fmt.Fprintf(t, "**%s %s missing**: each stands below as %s. ", plural(n, "answer"), map[bool]string{true: "is", false: "are"}[n == 1], strings.Trim(blank, "*"))
	}
	fmt.Fprintf(t, "Answers stand between two marker lines, which must stay; all else is written again with each report. The same for programs is in %s.\n\n", job.SheetDataName)
	t.ask("purpose")
}

func (t *sheetText) frame() {
	f := &t.Frame
	t.section("Frame and draw")
	t.ask("population", "draw")
	rows := [][2]string{
		{"Seeds", fmt.Sprintf("%s; SHA-256 of the list, each with a line feed: %s", num(f.Seeds), f.SHA256)},
		{"The first of them", strings.Join(f.First, " ")},
		{"Scope", f.Scope + ", links followed " + depthText(f.Depth)},
		{"URLs known in the end", num(f.Known)},
	}
	if d := f.Sample; d != nil {
		rows[2][1] = f.Scope + ", no link followed"
		rows = append(rows, [2]string{"Draw", fmt.Sprintf("%s: of each site the pages with the smallest HMAC-SHA256(seed, URL) among those its sitemaps list; %s drawn of %s", d.Draw, num(d.Drawn), plural(d.Listed, "listed URL"))})
		for _, h := range d.Sites[:min(maxDraws, len(d.Sites))] {
			rows = append(rows, [2]string{"Drawn of " + h.Site, drawnOf(h)})
		}
	}
	for _, key := range sortedKeys(t.Bounds) {
		rows = append(rows, [2]string{"Bound: " + key, t.Bounds[key]})
	}
	rows = append(rows, [2]string{"What ended it", strings.ReplaceAll(t.Finish, "_", "-")})
	t.rows([2]string{"frame", "value"}, rows...)
}

// maxDraws limits the sites in the list of draws; the JSON form has all.
const maxDraws = 100

// drawnOf describes the draw of a site.
func drawnOf(h crawler.SiteDraw) string {
	switch {
	case !h.Ended:
		return fmt.Sprintf("nothing yet: %s listed so far", plural(h.Listed, "page"))
	case h.Listed == 0:
		return "nothing: no sitemap lists a page in scope"
	case h.Below == "":
		return fmt.Sprintf("all %s, of %s in %s", plural(h.Drawn, "page"), plural(h.Listed, "listed URL"), plural(h.Sitemaps, "sitemap"))
	}
	return fmt.Sprintf("%s of %s in %s; inclusion probability %.6f by the ticket after the last one drawn (%s), %.6f if no page is listed twice",
		num(h.Drawn), plural(h.Listed, "listed URL"), plural(h.Sitemaps, "sitemap"), h.Probability, h.Below, float64(h.Drawn)/float64(h.Listed))
}

func (t *sheetText) order() {
	t.section("Order, and the same sample again")
	fmt.Fprintf(t, "Within a site: %s. ", plain.Replace(t.Order.Order))
	if t.Order.Same {
		t.WriteString("A second crawl with these settings that gets the same answers fetches the same pages of each site in the same order, whatever its timing, workers and order of seeds")
		if t.Order.If != "" {
			t.WriteString(", provided that " + t.Order.If)
		}
		t.WriteString(".\n\n")
		return
	}
	t.WriteString("A second crawl that gets the same answers may fetch other pages, because:\n\n")
	for _, why := range t.Order.Not {
		fmt.Fprintf(t, "- %s\n", plain.Replace(why))
	}
	t.WriteByte('\n')
}

func (t *sheetText) who() {
	t.section("Who, when, from where")
	t.ask("vantage")
	w, v := &t.When, &t.Versions
	rows := [][2]string{{"Agent", t.Who.Agent}, {"Contact", t.Who.Contact}, {"Machines", strings.Join(t.Where, ", ")}}
	if !w.First.IsZero() {
		rows = append(rows, [2]string{"First request", stamp(w.First)}, [2]string{"Last answer", stamp(w.Last)})
	}
	rows = append(rows, [2]string{"At work", span(of(w.Active)) + ", in " + processes(len(t.Who.Runs))})
	if w.Bound > 0 {
		rows = append(rows, [2]string{"Least time that politeness allows", fmt.Sprintf("%s (%.2f × were needed)", span(of(w.Bound)), w.Active/w.Bound)})
	}
	rows = append(rows, [2]string{"Software", strings.TrimSpace(v.Software + " " + v.Build)}, [2]string{"Toolchain", v.Toolchain})
	if len(v.Modules) > 0 {
		rows = append(rows, [2]string{"Modules", fmt.Sprintf("%d, with their sums in %s", len(v.Modules), job.SheetDataName)})
	}
	t.rows([2]string{"who and when", "value"}, rows...)
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return num(n) + " processes"
}

func (t *sheetText) got() {
	t.section("What is in it, and what is not")
	t.ask("limits")
	fmt.Fprintf(t, "%s of %s, %s.", plural(t.Got.Pages, "page"), plural(t.Got.Hosts, "site"), bytesText(t.Got.Bytes))
	fmt.Fprintf(t, " Duplicates: %s with the body of an earlier page, %s nearly the same, %s not followed because of it.\n\n", num(t.Duplicates.Same), num(t.Duplicates.Near), num(t.Duplicates.Refused))
	rows := make([][2]string, 0, len(t.Unseen))
	for _, u := range t.Unseen {
		rows = append(rows, [2]string{u.Means, fmt.Sprintf("%s, %s of those known", num(u.URLs), percent(u.URLs, t.Frame.Known))})
	}
	if len(rows) > 0 {
		t.rows([2]string{"not seen, and why", "URLs"}, rows...)
	}
	if len(t.Censored) == 0 {
		t.WriteString("Every site was seen to its end, within the bounds.\n\n")
		return
	}
	fmt.Fprintf(t, "%s not seen to the end, so that counts of their pages are lower bounds:\n\n", plural(len(t.Censored), "site")+verb(len(t.Censored)))
	rows = rows[:0]
	for _, c := range t.Censored[:min(maxRows, len(t.Censored))] {
		rows = append(rows, [2]string{c.Host, c.State + ", " + plural(c.Pages, "page")})
	}
	t.rows([2]string{"site", "state"}, rows...)
	if more := len(t.Censored) - maxRows; more > 0 {
		fmt.Fprintf(t, "%s more are in %s.\n\n", num(more), job.SheetDataName)
	}
}

func (t *sheetText) robots() {
	r := &t.Robots
	t.section("What sites say")
	rows := [][2]string{
		{"Requests for robots.txt", fmt.Sprintf("%s, of %s; %s could not be fetched", num(r.Requests), plural(r.Hosts, "site"), num(r.Unreachable))},
		{"URLs that robots.txt withholds", fmt.Sprintf("%s, %s of those known", num(r.Refused), percent(r.Refused, t.Frame.Known))},
	}
	for _, x := range r.Rules[:min(10, len(r.Rules))] {
		rows = append(rows, [2]string{strings.TrimSpace(x.Rule + " " + x.Where), plural(x.URLs, "URL")})
	}
	for _, o := range r.Overrides {
		rows = append(rows, [2]string{"robots.txt replaced", o})
	}
	if len(t.Usage) == 0 {
		rows = append(rows, [2]string{"Signals about uses", "none was found"})
	}
	for _, use := range sortedKeys(t.Usage) {
		rows = append(rows, [2]string{"Signal: " + use, plural(t.Usage[use], "visit")})
	}
	rows = append(rows, [2]string{"Purpose of the crawl", strings.Join(t.Terms.Purposes, ", ")})
	for _, verdict := range sortedKeys(t.Terms.Verdicts) {
		rows = append(rows, [2]string{"Verdict: " + verdict, plural(t.Terms.Verdicts[verdict], "visit")})
	}
	for _, line := range usageLines(&crawler.Report{LeftOut: t.Terms.LeftOut, Cost: t.Terms.Cost}) {
		rows = append(rows, [2]string{line[0], line[1]})
	}
	t.rows([2]string{"signal", "count"}, rows...)
}

func (t *sheetText) cost() {
	p, c := &t.Politeness, &t.Cost
	t.section("Politeness, and cost to the sites")
	early := "none"
	if p.Early > 0 {
		early = "**" + num(p.Early) + "**, which the report names"
	}
	fmt.Fprintf(t, "%s and %s judged against the rules; too early, or against another rule: %s.", plural(p.Requests, "request"), plural(p.Judged, "pause"), early)
	if p.Ratio > 0 {
		fmt.Fprintf(t, " Least pause observed ÷ owed: %s.", times(p.Ratio))
	}
	t.WriteString("\n\n")
	t.rows([2]string{"cost", "amount"},
		[2]string{"Requests", fmt.Sprintf("%s, %s of them repeated", num(c.Requests), num(c.Retries))}, [2]string{"Received", bytesText(c.Bytes)},
		[2]string{"Connections", num(c.Connections)}, [2]string{"Time of the servers", span(of(c.Server))},
		[2]string{"Answers 429 and 5xx", fmt.Sprintf("%s and %s", num(c.TooMany), num(c.ServerErrors))},
		[2]string{"Challenges of bot walls", wallsText(c.Walls)})
}

func (t *sheetText) ethics() {
	t.section("Ethics and law")
	t.ask("persons", "objections", "benefit", "review")
}

func (t *sheetText) check() {
	t.section("Access, checking and repeating")
	t.ask("access")
	rows := make([][2]string, 0, len(t.Files))
	for _, name := range sortedKeys(t.Files) {
		f := t.Files[name]
		rows = append(rows, [2]string{name, cli.Bytes(f.Bytes) + ", SHA-256 " + f.SHA256})
	}
	if len(rows) > 0 {
		t.rows([2]string{"file", "content"}, rows...)
	}
	fmt.Fprintf(t, "%s has the hashes of all files. To check and to repeat, in this directory:\n\n", job.SumsName)
	for _, c := range t.Repeat {
		fmt.Fprintf(t, "    %s\n", strings.Join(strings.Fields(c), " "))
	}
}
