package live

import (
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/metrics"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/politeness/audit"
)

// Opening is the page of a crawl in this process that has not begun: the crawler's configuration needs the page's hooks.
type Opening struct {
	server  *Server
	metrics *metrics.Metrics
	live    *Live
	feed    *Feed // source of the page; nil if the crawl is kept in a directory
	began   sync.Once
}

// Open listens on an address for the page of a crawl in this process.
func Open(address string) (*Opening, error) {
	s, err := Listen(address)
	if err != nil {
		return nil, err
	}
	return &Opening{server: s, metrics: metrics.New()}, nil
}

// Configure adds the page's hooks to the configuration of the crawl, and forbids the crawler to connect to the page. If the crawl is not
// kept in a directory, the page is its only ledger.
func (o *Opening) Configure(c *crawler.Config, kept bool) {
	c.Fetch.Listeners = append(c.Fetch.Listeners, o.server.Addr())
	if !kept {
		o.feed = new(Feed)
	}
	o.configure(c)
}

func (o *Opening) configure(c *crawler.Config) {
	c.Trace = crawler.JoinTraces(c.Trace, o.metrics.Trace(), &crawler.Trace{
		Claimed: func(frontier.Claim) { o.began.Do(o.live.Begin) },
	})
	if o.feed != nil {
		c.Politeness.Ledger = o.feed
		c.Sinks = append(c.Sinks, o.feed)
	}
}

// Serve starts serving the page. c describes the crawl; fields that Configure has set need not be set.
func (o *Opening) Serve(c Config, rules audit.Config, body audit.Body) {
	c.Metrics = o.metrics
	if o.feed != nil {
		c.Source = o.feed
	}
	c.Digest = digest.New(digest.Config{Audit: rules, Body: body, Brief: true})
	o.metrics.Watch(c.Crawler, c.Outlook)
	o.live = New(c)
	if o.feed != nil {
		o.feed.Full = o.live.take
	}
	o.server.Serve(o.live)
}

// TokenFile sets the page's token: see [Server.TokenFile].
func (o *Opening) TokenFile(name string) error { return o.server.TokenFile(name) }

// URL returns the URL of the page, with the token unless the operator chose it.
func (o *Opening) URL() string { return o.server.URL() }

// Public reports whether other machines can reach the page.
func (o *Opening) Public() bool { return o.server.Public() }

// Close stops serving the page.
func (o *Opening) Close() { o.server.Close() }

// Show serves the page of a crawl that has ended or runs in another process.
func Show(address string, c Config) (*Server, error) {
	s, err := Listen(address)
	if err != nil {
		return nil, err
	}
	l := New(c)
	l.Begin()
	s.Serve(l)
	return s, nil
}

// Over is the Control of a crawl that is not kept in a directory.
type Over struct{ Crawler *crawler.Crawler }

// Pause implements Control.
func (o Over) Pause() error {
	o.Crawler.Pause()
	return nil
}

// Resume implements Control.
func (o Over) Resume() error {
	o.Crawler.Resume()
	return nil
}

// Drain implements Control.
func (o Over) Drain() error {
	o.Crawler.Drain()
	return nil
}

// LeaveOut implements Control.
func (o Over) LeaveOut(host string) error { return o.Crawler.LeaveOut(host) }

// Slower implements Control.
func (o Over) Slower(host string, delay time.Duration) error { return o.Crawler.Slower(host, delay) }
