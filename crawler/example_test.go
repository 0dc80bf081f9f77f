package crawler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// shop is a small in-memory site, so that the examples need no network.
const shop = `
-- http://shop.example/robots.txt forbids=/cart/* --
User-agent: *
Disallow: /cart/
-- http://shop.example/ --
<title>Shop</title> <a href="/item/1">one</a> <a href="/item/2">two</a> <a href="/cart/add">buy</a> <a href="/sold-out">x</a>
-- http://shop.example/item/1 --
<title>A pen</title>
-- http://shop.example/item/2 --
<title>A book</title>
-- http://shop.example/sold-out status=410 --
gone
-- http://shop.example/api/stock type=application/json --
{"pens": 3}
-- http://shop.example/api/items type=application/json --
["/item/1", "/item/2"]
`

// inShop returns a crawler that sees the shop instead of the network. One worker keeps the order of visits fixed, and
// politeness.NoDelay keeps pauses as short as possible.
func inShop(c crawler.Config) (*crawler.Crawler, func()) {
	web := crawltest.NewWeb()
	web.Load([]byte(shop))
	c.Contact, c.Concurrency, c.Politeness.Delay = "https://lab.university.edu/crawl", 1, politeness.NoDelay
	c.Fetch.DialContext, c.Fetch.Resolver = web.DialContext, web
	cr, err := crawler.New(c)
	if err != nil {
		panic(err)
	}
	return cr, web.Close
}

// Print the outcome of every URL, in the order of the visits.
func ExampleCrawler_Pages() {
	c, done := inShop(crawler.Config{})
	defer done()
	for v, err := range c.Pages(context.Background(), "http://shop.example/") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(strings.TrimSpace(fmt.Sprintln(v.Outcome, v.Status(), v.URL.Path(), v.Rule)))
	}
	// Output:
	// fetched 200 /
	// fetched 200 /item/1
	// fetched 200 /item/2
	// refused 0 /cart/add Disallow: /cart/
	// fetched 410 /sold-out
}

// Run a crawl as a loop over values of your own type.
func ExampleCollect() {
	type Item struct{ ID, Name string }
	read := func(_ context.Context, v *crawler.Visit) ([]Item, error) {
		if !strings.HasPrefix(v.URL.Path(), "/item/") {
			return nil, nil
		}
		return []Item{{path.Base(v.URL.Path()), v.Doc.Title}}, nil
	}
	c, done := inShop(crawler.Config{})
	defer done()
	for item, err := range crawler.Collect(context.Background(), c, read, "http://shop.example/") {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%+v\n", item)
	}
	// Output:
	// {ID:1 Name:A pen}
	// {ID:2 Name:A book}
}

// If there is a sink for results, the loop's values are also written to the sink, here as a table.
func ExampleCollect_table() {
	type Item struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	read := func(_ context.Context, v *crawler.Visit) ([]Item, error) {
		if !strings.HasPrefix(v.URL.Path(), "/item/") {
			return nil, nil
		}
		return []Item{{path.Base(v.URL.Path()), v.Doc.Title}}, nil
	}
	c, done := inShop(crawler.Config{Sinks: []sink.Sink{sink.NewCSV(os.Stdout)}}) // or sink.OpenCSV for a file
	defer done()
	n := 0
	for _, err := range crawler.Collect(context.Background(), c, read, "http://shop.example/") {
		if err == nil {
			n++
		}
	}
	fmt.Println(n, "items")
	// Output:
	// id,name
	// 1,A pen
	// 2,A book
	// 2 items
}

// Use different handlers for different pages.
func ExampleMux() {
	var mux crawler.Mux
	mux.On("/item/{id}", func(_ context.Context, v *crawler.Visit) error {
		fmt.Println("item", v.PathValue("id"), "is", v.Doc.Title)
		return nil
	})
	mux.On("", func(_ context.Context, v *crawler.Visit) error {
		fmt.Println(v.URL.Path(), "is broken:", v.Status())
		return nil
	}, crawler.WithStatus(4, 5))
	mux.Else(func(_ context.Context, v *crawler.Visit) error {
		fmt.Println(v.URL.Path(), v.Outcome)
		return nil
	})
	c, done := inShop(crawler.Config{Handler: &mux})
	defer done()
	if _, err := c.Run(context.Background(), "http://shop.example/"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// / fetched
	// item 1 is A pen
	// item 2 is A book
	// /cart/add refused
	// /sold-out is broken: 410
}

// Add a URL that is not linked anywhere, with metadata that describes it.
func ExampleVisit_Enqueue() {
	handler := func(_ context.Context, v *crawler.Visit) error {
		if string(v.Meta) == "stock" {
			fmt.Printf("%s", v.Page.Body)
			return nil
		}
		err := v.Enqueue(crawler.Request{URL: "https://elsewhere.example/"})
		var why *crawler.EnqueueError
		if errors.As(err, &why) {
			fmt.Println(why.Fate, "by", why.Rule)
		}
		return errors.Join(
			v.Enqueue(crawler.Request{URL: "/api/stock", Priority: 10, Meta: []byte("stock")}),
			crawler.SkipLinks, // do not follow the page's own links
		)
	}
	c, done := inShop(crawler.Config{Handler: crawler.HandlerFunc(handler)})
	defer done()
	if _, err := c.Run(context.Background(), "http://shop.example/"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// out_of_scope by scope host
	// {"pens": 3}
}

// Results are written together with their visit. The first attempt at each page fails and leaves no result.
func ExampleVisit_Emit() {
	handler := func(_ context.Context, v *crawler.Visit) error {
		if err := v.Emit(map[string]string{"title": v.Doc.Title}); err != nil {
			return err
		}
		if v.Attempt == 0 {
			return crawler.Retry(errors.New("the price is not there yet"))
		}
		return nil
	}
	out := &results{}
	c, done := inShop(crawler.Config{
		Handler: crawler.HandlerFunc(handler), Sinks: []sink.Sink{out}, Limits: crawler.Limits{Depth: crawler.SeedsOnly}, Retries: crawler.Retries{Pause: time.Millisecond},
	})
	defer done()
	if _, err := c.Run(context.Background(), "http://shop.example/item/1", "http://shop.example/item/2"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// http://shop.example/item/1: {"title":"A pen"}
	// http://shop.example/item/2: {"title":"A book"}
}

// results is a sink that prints what was emitted.
type results struct{ sink.Base }

func (*results) Append(_ context.Context, r *sink.Record) error {
	for _, d := range r.Data {
		fmt.Printf("%s: %s\n", r.URL, d)
	}
	return nil
}
func (*results) Sync(_ context.Context) (int64, error) { return 0, nil }
func (*results) Restore(context.Context, int64) error  { return nil }
func (*results) Close(_ context.Context) error         { return nil }

// Wrap a handler with functions that every handler needs.
func ExampleChain() {
	handler := crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
		fmt.Println(v.URL)
		return nil
	})
	c, done := inShop(crawler.Config{
		Handler: crawler.Chain(handler, crawler.Only(crawler.Refused), crawler.MaxCalls(4)),
	})
	defer done()
	if _, err := c.Run(context.Background(), "http://shop.example/"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// http://shop.example/cart/add
}

// Log every step of a URL's life.
func ExampleSlogTrace() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level:       slog.LevelDebug,
		ReplaceAttr: withoutTimes,
	}))
	c, done := inShop(crawler.Config{Trace: crawler.SlogTrace(logger, slog.LevelDebug)})
	defer done()
	if _, err := c.Run(context.Background(), "http://shop.example/cart/add"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// level=DEBUG msg=claimed url=http://shop.example/cart/add depth=0 attempt=0
	// level=DEBUG msg=admitted url=http://shop.example/cart/add purpose=robots request=http://shop.example/robots.txt
	// level=DEBUG msg=robots url=http://shop.example/cart/add
	// level=DEBUG msg=claimed url=http://shop.example/cart/add depth=0 attempt=0
	// level=DEBUG msg=visited url=http://shop.example/cart/add outcome=refused reason=robots_disallow rule="Disallow: /cart/"
}

// withoutTimes removes attributes that differ in every run from a log.
func withoutTimes(_ []string, a slog.Attr) slog.Attr {
	switch a.Key {
	case slog.TimeKey, "expires", "source":
		return slog.Attr{}
	}
	return a
}

// Visit links that lead to the wanted pages first.
func ExampleConfig_priority() {
	c, done := inShop(crawler.Config{
		Limits: crawler.Limits{Pages: 2},
		Priority: func(_ *crawler.Visit, l *crawler.Link) int8 {
			if strings.Contains(l.Text, "two") {
				return 10
			}
			return 0
		},
	})
	defer done()
	for v, err := range c.Pages(context.Background(), "http://shop.example/") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v.URL)
	}
	// Output:
	// http://shop.example/
	// http://shop.example/item/2
}

// Rescore queued URLs after a page has shown what is relevant: here, sold-out items.
func ExampleCrawler_Rescore() {
	c, done := inShop(crawler.Config{})
	defer done()
	for v, err := range c.Pages(context.Background(), "http://shop.example/") {
		if err == nil && v.URL.Path() == "/item/1" {
			_, err = c.Rescore(context.Background(), func(q frontier.Request) float64 {
				if q.URL.Path() == "/sold-out" {
					return 1
				}
				return q.Score
			})
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v.URL.Path())
	}
	// Output:
	// /
	// /item/1
	// /sold-out
	// /item/2
	// /cart/add
}

// Read links from a content type that the crawler does not support. HTML is read as usual.
func ExampleExtractType() {
	listing := func(p *fetcher.Page) (*extract.Document, error) {
		var pages []string
		if json.Unmarshal(p.Body, &pages) != nil {
			return nil, nil // another format: no links
		}
		doc := &extract.Document{}
		for _, ref := range pages {
			doc.Links = append(doc.Links, extract.Link{Ref: ref, Kind: extract.Entry})
		}
		return doc, nil
	}
	c, done := inShop(crawler.Config{AroundExtract: crawler.ExtractType("application/json", listing)})
	defer done()
	for v, err := range c.Pages(context.Background(), "http://shop.example/api/items") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v.Outcome, v.URL.Path())
	}
	// Output:
	// fetched /api/items
	// fetched /item/1
	// fetched /item/2
}

// noItems is a scope. Many workers call JudgeKind for every link, so it must be fast and have no side effects.
type noItems struct{ crawler.EveryType }

func (noItems) JudgeKind(u weburl.URL, _ frontier.Kind) crawler.Decision {
	switch {
	case u.Hostname() != "shop.example":
		return crawler.Decision{Rule: "the shop only"}
	case strings.HasPrefix(u.Path(), "/item/"):
		return crawler.Decision{Rule: "no items"}
	}
	return crawler.Decision{In: true, Rule: "ours"}
}

// Decide with a function which URLs belong to the crawl.
func ExampleScope() {
	c, done := inShop(crawler.Config{Scope: crawler.ScopeConfig{Custom: noItems{}}})
	defer done()
	for v, err := range c.Pages(context.Background(), "http://shop.example/") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v.Outcome, v.URL.Path())
	}
	// Output:
	// fetched /
	// refused /cart/add
	// fetched /sold-out
}

// archive is a fetcher that serves pages from a map by URL.
type archive map[string]string

// Resolve returns the same address for every host. Hosts at one address share its delay.
func (archive) Resolve(context.Context, weburl.URL) (netip.Addr, error) {
	return netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
}

// CloseIdle does nothing: there are no connections.
func (archive) CloseIdle(string) {}

func (a archive) Fetch(_ context.Context, p politeness.Permit) (*fetcher.Page, error) {
	grant, err := p.Redeem()
	if err != nil {
		return nil, err
	}
	page := &fetcher.Page{
		URL: grant.URL(), Addr: grant.Addr(), Permit: p, Status: http.StatusNotFound,
		Header: http.Header{}, ContentType: "text/html", Charset: "utf-8", Started: time.Now(),
	}
	// Begin is the last check before the request, and sets its time in the ledger.
	if err := grant.Begin(); err != nil {
		return nil, err
	}
	page.Written, page.FirstByte = time.Now(), time.Now()
	if body, ok := a[grant.URL().String()]; ok {
		page.Status, page.Body = http.StatusOK, []byte(body)
	}
	page.Ended = time.Now()
	return page, nil
}

// Get pages from somewhere other than the network. The response for robots.txt is a 404, which means no rules.
func ExampleFetcher() {
	c, err := crawler.New(crawler.Config{
		Contact:    "me@university.edu",
		Politeness: politeness.Config{Delay: politeness.NoDelay},
		Fetcher: archive{
			"http://localhost/":  `<title>A</title><a href="/b">b</a>`,
			"http://localhost/b": `the end`,
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for v, err := range c.Pages(context.Background(), "http://localhost/") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v.Outcome, v.Status(), v.URL)
	}
	// Output:
	// fetched 200 http://localhost/
	// fetched 200 http://localhost/b
}
