package live

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/job/report"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/sink"
)

type record = sink.Record

//go:embed page.tmpl style.css live.js
var files embed.FS

// templates are parsed on first use.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"plural": plural,
		"pair": func(p *page, rows []row) any {
			return struct {
				Controls bool
				Rows     []row
			}{p.Controls, rows}
		},
	}).ParseFS(files, "page.tmpl"))
})

// page holds the data of the templates.
type page struct {
	Title, Name  string
	State, Class string // such as running or paused, and its CSS class
	Elapsed      string
	Agent, Dir   string
	Controls     bool
	Paused       bool
	Running      bool
	Live         bool // whether the crawl is in this process

	Tiles  []tile
	Boxes  []box
	Lanes  lanes
	Rate   rateChart
	Growth growthChart
	Sites  []siteGroup
	More   int
	Events []shownEvent

	Nodes     []shownNode // nodes of a job on a cluster
	Ownerless string      // remark about shards without an owner

	Owners     []shownOwner // processes that share the crawl
	MoreOwners int

	Why     bool // whether there is a form for questions about URLs
	URL     string
	Because string
	Refresh bool
	Note    string // an error to show
}

// tile is one kind of result with its number.
type tile struct{ Class, Value, Name, Text, To string }

type box struct{ ID, Question, Answer, Text, Class string }

type shownEvent struct{ Ago, What, URL, Why string }

// view holds the data from which a page is made.
type view struct {
	now    time.Time
	facts  *digest.Facts
	p      crawler.Progress
	sites  []plan.Site // hosts with URLs left; hosts that determine the end of the crawl come first
	known  bool        // whether sites has all hosts with URLs left
	least  time.Duration
	state  State
	paused bool
}

// look collects the data for a page. The caller must hold the lock.
func (l *Live) look(now time.Time) *view {
	v := &view{now: now, facts: l.config.Digest.View(maxRows), least: -1}
	c := &l.config
	if c.Crawler == nil {
		if v.state = c.State(); !v.state.Running && !v.facts.Last.IsZero() {
			v.now = v.facts.Last
		}
		return v
	}
	v.state.Running, v.paused, v.p = true, c.Crawler.Paused(), c.Crawler.Progress()
	v.sites, v.known = c.Outlook.Sites(now)
	if o, ok := c.Outlook.Look(); ok && c.Limits.PagesPerHost <= 0 {
		v.least = o.Least
	}
	v.cap(c)
	return v
}

// cap reduces the URLs left of each host to the host's budget.
func (v *view) cap(c *Config) {
	if c.Limits.PagesPerHost <= 0 {
		return
	}
	for i := range v.sites {
		s := &v.sites[i]
		h, _ := c.Digest.Host(s.Host)
		if most := max(1, int(c.Limits.PagesPerHost)-h.Pages()); s.URLs > most {
			s.Least = time.Duration(float64(s.Least) * float64(most) / float64(s.URLs))
			s.URLs = most
		}
	}
	slices.SortStableFunc(v.sites, func(a, b plan.Site) int { return cmp.Compare(b.Least, a.Least) })
}

// make returns the data of the page for the present time.
func (l *Live) make(now time.Time) *page {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.polled) > time.Second/2 {
		l.poll(now)
	}
	v, c := l.look(now), &l.config
	p := &page{
		Agent: cli.Printable(c.Agent), Dir: cli.Printable(c.Dir), Name: crawlName(c.Seeds), Controls: c.Control != nil, Paused: v.paused,
		Running: v.state.Running, Live: c.Crawler != nil, Why: c.Why != nil, Refresh: v.state.Running,
	}
	p.State, p.Class = v.stateText()
	pages := v.p.Pages
	if c.Crawler == nil {
		pages = v.facts.Total.Pages()
	}
	of := ""
	if c.Limits.Pages > 0 {
		of = " of at most " + num(int(c.Limits.Pages))
	}
	p.Title = fmt.Sprintf("%s%s · %s · amble", plural(pages, "page"), of, p.State)
	p.Elapsed = span(v.elapsed(l.started))
	p.Tiles = v.tiles(c)
	p.Boxes = []box{v.ends(c), v.stuck(l.recent), v.polite()}
	if l.space != nil {
		p.Boxes = append(p.Boxes, l.space.box())
	}
	rows, more := v.rows(l.recent, c)
	p.Sites, p.More = grouped(rows), more
	p.Lanes = v.lanes(l.recent, rows)
	p.Rate, p.Growth = l.recent.rateChart(v.now), l.growthChart(v)
	p.Events = eventsOf(l.recent.events, v.now)
	p.Owners, p.MoreOwners = v.owners()
	if l.broken != nil {
		p.Note = "The files of the crawl can no longer be read: " + cli.Printable(l.broken.Error())
	}
	return p
}

// render returns the changing part of the page.
func (l *Live) render(now time.Time) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(l.size.Load()))
	err := templates().ExecuteTemplate(&b, "live", l.make(now))
	l.size.Store(int64(b.Len()) + 4<<10)
	return b.Bytes(), err
}

func crawlName(seeds []string) string {
	if len(seeds) == 1 {
		return "Crawl of " + clip(cli.Printable(seeds[0]), 80)
	}
	return "Crawl from " + plural(len(seeds), "seed")
}

func (v *view) elapsed(started time.Time) time.Duration {
	first := v.facts.First
	if !v.p.Started.IsZero() {
		first = v.p.Started
	}
	if first.IsZero() {
		first = started
	}
	return max(0, v.now.Sub(first))
}

func (v *view) stateText() (text, class string) {
	switch {
	case v.paused:
		return "paused", "wait"
	case v.state.Running:
		return cmp.Or(v.state.Text, "running"), "fine"
	}
	return cmp.Or(v.state.Text, "over"), ""
}

// polite answers whether the crawl is polite, by the audit of its ledger.
func (v *view) polite() box {
	t := &v.facts.Total
	b := box{ID: "polite", Question: "Is it polite?", Class: "fine"}
	switch {
	case t.Early > 0:
		b.Class, b.Answer = "bad", fmt.Sprintf("No: %s of %s too early", num(t.Early), plural(t.Requests, "request"))
		if len(v.facts.Early) > 0 {
			first := v.facts.Early[0]
			b.Text = fmt.Sprintf("The first: %s: %s. The rule (%s): %s", clip(cli.Printable(first.Host), 60), clip(cli.Printable(first.Message), 160), first.Invariant, audit.Rule(first.Invariant))
		}
		return b
	case t.Requests == 0:
		b.Answer, b.Text = "Nothing was requested yet", "The first request to any site is for its robots.txt"
		return b
	}
	b.Answer = fmt.Sprintf("Yes: %s, none too early", plural(t.Requests, "request"))
	b.Text = "Audited as the ledger is written"
	if t.Pauses.Owed > 0 {
		b.Text = fmt.Sprintf("Shortest pause: %.4g × the required time, audited as the ledger is written", max(t.Pauses.Ratio, 1))
	}
	if v.facts.Unjudged > 0 {
		b.Text += fmt.Sprintf("; %s not judged, of too many hosts", plural(v.facts.Unjudged, "request"))
	}
	return b
}

// ends answers when the crawl will end, by an estimate.
func (v *view) ends(c *Config) box {
	b := box{ID: "ends", Question: "When will it finish? Who decides?"}
	switch {
	case !v.state.Running:
		b.Answer, b.Text = "It has ended", v.state.Text
		if v.state.Left > 0 {
			b.Text += ", with " + plural(v.state.Left, "URL") + " left"
		}
		return b
	case v.p.Started.IsZero() && len(v.sites) == 0:
		b.Answer, b.Text = "Only its process knows", "It runs elsewhere; this page reads its files"
		return b
	case !v.known:
		b.Answer, b.Text = "Not known", "Too many hosts have URLs left"
		return b
	case len(v.sites) == 0:
		b.Answer, b.Text = "At once", "Nothing is left"
		return b
	}
	s := v.sites[0]
	b.Answer = "In " + span(max(v.least, s.Least)) + " at least"
	name := clip(cli.Printable(s.Host), 60)
	switch {
	case digest.HeldBy(s.Waits) && s.Due.After(v.now):
		b.Text = fmt.Sprintf("%s decides: %s, next try in %s", name, setBy(s.Waits), span(s.Due.Sub(v.now)))
	default:
		info := s.Delay
		b.Text = fmt.Sprintf("%s decides: %s, %s apart", name, plural(s.URLs, "URL"), delayText(info))
		if s.Waits != "" {
			b.Text += " by " + setBy(s.Waits)
		}
	}
	left := v.p.Frontier.Queued + v.p.Frontier.Waiting + v.p.Frontier.Claimed
	if pages := int(c.Limits.Pages); pages > 0 && left > pages-v.p.Pages {
		b.Answer = "In " + span(max(v.least, s.Least)) + ", or by its limit"
		b.Text += "; it also ends with page " + num(pages)
	}
	return b
}

// stuck answers whether requests are made and, if not, what the crawl waits for.
func (v *view) stuck(r *recent) box {
	b := box{ID: "stuck", Question: "Is it stuck?", Answer: "No"}
	if !v.state.Running {
		b.Answer = "It is over"
	}
	var text []string
	if !v.facts.Last.IsZero() {
		text = append(text, "Last answer "+span(time.Since(v.facts.Last))+" ago")
	}
	if v.paused {
		b.Answer, b.Class = "Paused", "wait"
		text = append(text, "nothing is requested until it is resumed")
		b.Text = strings.Join(text, "; ")
		return b
	}
	waiting, flying := v.waiting(r)
	if first := waiting; first != nil && flying == 0 && digest.HeldBy(first.Waits) {
		b.Answer, b.Class = "Waiting, as it must", "wait"
		why := setBy(first.Waits)
		if first.Cause != "" {
			why += " (" + causeText(first.Cause) + ")"
		}
		text = append(text, fmt.Sprintf("%s: %s, next try in %s, at %s", clip(cli.Printable(first.Host), 60), why,
			span(first.Due.Sub(v.now)), first.Due.UTC().Format("15:04:05 UTC")))
	} else if first != nil {
		text = append(text, "next request in "+span(first.Due.Sub(v.now)))
	}
	if n := len(v.sites); n > 0 {
		text = append(text, fmt.Sprintf("%s waiting, %s in flight", plural(max(0, n-flying), "site"), num(flying)))
	}
	b.Text = strings.Join(text, "; ")
	return b
}

// waiting returns the site that is due first, nil if a site is due now, and the number of sites with a request in flight.
func (v *view) waiting(r *recent) (first *plan.Site, flying int) {
	for i := range v.sites {
		s := &v.sites[i]
		if h := r.hosts[s.Host]; h != nil && h.flying > 0 {
			flying++
			continue
		}
		if first == nil || s.Due.Before(first.Due) {
			first = s
		}
	}
	if first != nil && !first.Due.After(v.now) {
		return nil, flying
	}
	return first, flying
}

func causeText(cause string) string {
	return strings.ReplaceAll(strings.ReplaceAll(cause, "http_", ""), "_", " ")
}

// tiles returns the kinds of results so far, with their numbers.
func (v *view) tiles(c *Config) []tile {
	t := &v.facts.Total
	fetched := cli.Bytes(t.Bytes) + " received"
	if c.Limits.Pages > 0 {
		fetched = fmt.Sprintf("of at most %s; %s", plural(int(c.Limits.Pages), "page"), fetched)
	}
	reasons := func(of digest.Result) (texts []string) {
		for _, reason := range cli.ByCount(t.Reasons) {
			if digest.ResultOf("", reason, 0) == of {
				texts = append(texts, report.ReasonText(reason)+": "+num(t.Reasons[reason]))
			}
		}
		return texts
	}
	var broken []string
	for _, status := range cli.ByCount(t.Statuses) {
		broken = append(broken, fmt.Sprintf("status %d: %s", status, num(t.Statuses[status])))
	}
	list := func(texts []string) string { return strings.Join(texts[:min(3, len(texts))], "; ") }
	return []tile{
		{"got", num(t.Results[digest.Got]), "fetched", fetched, "sites"},
		{"broken", num(t.Results[digest.Broken]), "broken", list(broken), "events"},
		{"refused", num(t.Results[digest.Refused]), "refused", list(reasons(digest.Refused)), "events"},
		{"over", num(t.Results[digest.Over]), "over a budget", list(reasons(digest.Over)), "sites"},
	}
}
