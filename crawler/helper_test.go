package crawler_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

func newCrawler(t *testing.T, w *crawltest.Web, c crawler.Config) *crawler.Crawler {
	t.Helper()
	cr, err := crawler.New(config(w, c))
	if err != nil {
		t.Fatal(err)
	}
	return cr
}

func mustParse(t *testing.T, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

const contact = "https://lab.university.edu/crawl"

// config returns the Config of a crawl of w with a handler that records every visit.
func config(w *crawltest.Web, c crawler.Config) crawler.Config {
	c.Agent, c.Contact = "testbot/1.0", contact
	w.Apply(&c)
	c.Fetch.AllowAddresses = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	delay := cmp.Or(c.Politeness.Delay, time.Second)
	if delay < 0 {
		delay = 100 * time.Millisecond
	}
	w.Expect(crawltest.Expect{
		Delay: delay, PerAddress: true, Agent: "testbot", Contact: contact, MaxRetryAfter: 5 * time.Minute,
		AllowRepeats: false,
	})
	return c
}

// visits records the visits passed to a Handler.
type visits struct {
	mu    sync.Mutex
	all   []string
	by    map[string]crawler.Visit
	links map[string]int // number of links on a page
}

func (v *visits) Handle(_ context.Context, x *crawler.Visit) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.by == nil {
		v.by, v.links = map[string]crawler.Visit{}, map[string]int{}
	}
	v.all = append(v.all, x.URL.String())
	kept := *x
	if x.Doc != nil { // Doc is reused for the next page afterwards
		doc := *x.Doc
		kept.Doc = &doc
	}
	v.by[x.URL.String()], v.links[x.URL.String()] = kept, len(x.Links())
	return nil
}

// line returns the outcome of a URL: "outcome status reason".
func (v *visits) line(u string) string {
	x, ok := v.by[u]
	if !ok {
		return "no visit"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", x.Outcome, x.Status(), x.Reason))
}

// expect compares the visits with want, and checks that each URL has exactly one.
func (v *visits) expect(t *testing.T, want map[string]string) {
	t.Helper()
	for u, line := range want {
		if got := v.line(u); got != line {
			t.Errorf("%s: %s, want %s", u, got, line)
		}
	}
	for _, u := range v.all {
		if _, ok := want[u]; !ok {
			t.Errorf("%s: %s, want no visit", u, v.line(u))
		}
	}
	if len(v.all) != len(v.by) {
		slices.Sort(v.all)
		t.Errorf("%d visits of %d URLs: %v", len(v.all), len(v.by), v.all)
	}
}

// crawl runs a crawl to its end and returns its visits.
func crawl(t *testing.T, w *crawltest.Web, c crawler.Config, seeds ...string) (*crawler.Report, *visits) {
	t.Helper()
	v := &visits{}
	c = config(w, c)
	if c.Handler == nil {
		c.Handler = v
	}
	cr, err := crawler.New(c)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := cr.Run(t.Context(), seeds...)
	if err != nil {
		t.Fatal(err)
	}
	return rep, v
}

func links(refs ...string) string {
	var b strings.Builder
	for _, r := range refs {
		fmt.Fprintf(&b, "<a href=%q>x</a>\n", r)
	}
	return b.String()
}

// run crawls w with a handler and one worker, and returns what the sinks received, in order, as "url outcome reason
// data".
func run(t *testing.T, w *crawltest.Web, c crawler.Config, seeds ...string) (*crawler.Report, []string) {
	t.Helper()
	var out bytes.Buffer
	c = config(w, c)
	c.Sinks = append(c.Sinks, sink.NewJSONL(&out))
	cr, err := crawler.New(c)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := cr.Run(t.Context(), seeds...)
	if err != nil {
		t.Fatal(err)
	}
	return rep, recordLines(t, out.String())
}

func recordLines(t *testing.T, jsonl string) (lines []string) {
	t.Helper()
	for l := range strings.Lines(jsonl) {
		var r sink.Record
		if err := json.Unmarshal([]byte(l), &r); err != nil {
			t.Fatal(err)
		}
		path := r.URL[strings.Index(r.URL, ".example")+len(".example"):]
		line := strings.TrimSpace(fmt.Sprintf("%s %s %s", path, r.Outcome, r.Reason))
		for _, d := range r.Data {
			line += " " + string(d)
		}
		lines = append(lines, line)
	}
	return lines
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

var update = flag.Bool("update", false, "write the outcomes in docs/reference.md")
