package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/watch"
)

// watchCmd is "amble watch".
type watchCmd struct {
	Dir    string `arg:"" type:"job" name:"dir" help:"Job directory that \"amble crawl -o\" made."`
	Budget perDay `required:"" placeholder:"N/day" help:"Requests that each host gets in any 24 hours, at most, for everything: pages, robots.txt, redirects, further attempts. At least 10."`
	For    span   `required:"" placeholder:"TIME" help:"How long the watch takes, such as 30d."`
	State  string `placeholder:"DIR" help:"State directory that your crawls share to take turns at hosts, if it is not that of the user."`

	view.Flags
}

// perDay is a number of requests a day: "2000/day".
type perDay int

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *perDay) UnmarshalText(b []byte) error {
	text, unit, found := strings.Cut(string(b), "/")
	n, err := strconv.Atoi(text)
	if err != nil || n < watch.LeastBudget || found && unit != "day" && unit != "d" {
		return fmt.Errorf("%q is not a budget: want requests a day for each host, %d or more, such as 2000/day", b, watch.LeastBudget)
	}
	*p = perDay(n)
	return nil
}

// span is a duration that may be given in days: "30d", "36h".
type span time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *span) UnmarshalText(b []byte) error {
	var d cli.Duration
	err := d.UnmarshalText(b)
	if days, ok := strings.CutSuffix(string(b), "d"); ok {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		if !(n > 0 && n <= 36525) { // the negation also rejects NaN
			n = 0
		}
		d = cli.Duration(n * 24 * float64(time.Hour))
	}
	if err != nil || d <= 0 || d > 36525*24*cli.Duration(time.Hour) {
		return fmt.Errorf("%q: want a time above 0 and up to 100 years, such as 30d or 36h", b)
	}
	*s = span(d)
	return nil
}

// String formats the span in days if it is long enough, otherwise as a duration.
func (s span) String() string {
	if d := time.Duration(s); d%(24*time.Hour) != 0 {
		return cli.Duration(d).String()
	}
	return fmt.Sprintf("%dd", time.Duration(s)/(24*time.Hour))
}

// Help returns the beginning of the command's help.
func (*watchCmd) Help() string {
	return `Examples:

	amble watch job --budget 2000/day --for 30d >changes.jsonl
	amble watch job --budget 200/day --for 12h -q >>changes.jsonl
	amble watch job --budget 200/day --for 7d | jq -r 'select(.change=="gone")'

Requests the pages of a crawl again: each as often as it changes and the budget is
worth it, only if it has changed, and at the crawl's own pace. Each change is a line
on stdout and part of the visit's line in visits.jsonl: new, changed, gone, moved or
back. The same command resumes a watch that was stopped or killed.`
}

// Run executes the command.
func (c *watchCmd) Run(a *app) error {
	cfg, err := watchedConfig(c.Dir)
	if err != nil {
		return err
	}
	v, counts := a.view(c.Flags), map[string]int{}
	var w *watch.Watch
	lines := json.NewEncoder(a.out)
	end, err := a.crawl(&crawlJob{
		view: v, cfg: cfg.Crawl, introduced: true, dir: c.Dir, job: &cfg, advice: "to resume it later: " + c.again(),
		open: func(x crawler.Config) (opened, error) {
			var err error
			w, err = watch.Open(c.Dir, watch.Config{
				Budget: int(c.Budget), For: time.Duration(c.For),
				Found: func(x watch.Change) {
					counts[x.Change]++
					_ = lines.Encode(x) // stdout keeps the error
				},
				Program: func(j *job.Config) {
					j.Note, j.Crawl.Trace, j.Crawl.Documents, j.State = v.Note, x.Trace, x.Documents, c.State
					j.TextReader = cfg.TextReader
				},
			})
			if err != nil {
				return nil, err
			}
			for _, note := range w.Notes() {
				v.Tell("%s", note)
			}
			v.Below(func() string { return nextText(w) })
			return w, nil
		},
	})
	if w == nil {
		return err
	}
	if end != nil {
		tellWatch(v, w, counts)
	}
	_, err = cutShort(end, err)
	return errors.Join(err, w.Close())
}

// watchedConfig returns the job's settings, for display.
func watchedConfig(dir string) (job.Config, error) {
	r, err := job.Read(dir)
	if err != nil {
		return job.Config{}, err
	}
	defer func() { _ = r.Close() }() // opened only for reading
	if _, err := r.Manifest(); err != nil {
		return job.Config{}, err
	}
	c, err := r.Config()
	if err == nil {
		err = job.CheckMaker(dir, &c)
	}
	c.Crawl.Limits.Pages, c.Crawl.Limits.Time = crawler.Unlimited, 0
	return c, keyflags.Errors(err)
}

// again returns the command that resumes the watch.
func (c *watchCmd) again() string {
	text := fmt.Sprintf("amble watch %s --budget %d/day --for %s", cli.ShellWord(c.Dir), c.Budget, c.For)
	if c.State != "" {
		text += " --state " + cli.ShellWord(c.State)
	}
	return text
}

func nextText(w *watch.Watch) string {
	url, at := w.Next()
	if url == "" {
		return ""
	}
	return fmt.Sprintf("next page in %v: %s", max(0, time.Until(at).Round(time.Second)), cli.Printable(url))
}

// tellWatch prints the changes that a watch has found.
func tellWatch(v *view.View, w *watch.Watch, counts map[string]int) {
	var found []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		found = append(found, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	if len(found) == 0 {
		found = []string{"nothing"}
	}
	v.Tell("changes: %s", strings.Join(found, ", "))
	for _, h := range w.Status().Hosts {
		if h.Pages == 0 {
			continue
		}
		v.Tell("%s: %s, %d gone; %s in the last 24 hours; copies are as their pages %.0f %% of the time, as estimated",
			cli.Printable(h.Host), cli.Plural(h.Pages, "page"), h.Gone, cli.Plural(h.Used, "request"), 100*h.Estimate)
		if h.Fast > 0 {
			v.Tell("%s: %s too fast to follow with this budget, among them %s", cli.Printable(h.Host), cli.Plural(h.Fast, "page"), cli.Printable(h.TooFast[0]))
		}
	}
}
