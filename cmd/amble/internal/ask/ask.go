// Package ask requests single files from the web as politely as a crawl does: robots.txt first, one request at a time to a host, with the
// same pauses.
//
// Reading order: ask.go (robots.txt files and other files that a command needs), page.go (one page, in a separate crawl).
package ask

import (
	"context"

	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Client makes requests for a command. It is not safe for concurrent use.
type Client struct {
	*fetcher.Client
	Policy politeness.Config // policy of the Gate

	heard map[string]answer // robots.txt results by origin
	close func()            // closes the fetcher
}

// answer is the outcome of requesting a robots.txt.
type answer struct {
	info politeness.OriginInfo
	err  error // reason why there was no response; nil if there was one
}

// New returns a Client for these URLs, with the settings of the crawl that cfg describes. Hosts of the URLs may have any address, because
// the operator named them.
func New(cfg *crawler.Config, policy politeness.Config, urls []weburl.URL) (*Client, error) {
	id, err := operator.Identity(cfg, urls)
	if err != nil {
		return nil, err
	}
	policy.Shared = cfg.Sharing()
	policy.Identity, policy.Contactless, policy.HostDelays = id, id.Contact == "", cfg.HostDelays()
	gate, err := politeness.NewGate(policy)
	if err != nil {
		return nil, cli.UsageOf("", err)
	}
	named := map[string]bool{}
	for _, u := range urls {
		named[u.Hostname()] = true
	}
	get, err := fetcher.New(fetcher.Config{
		AllowHosts: func(h string) bool { return named[h] },
		Proxy:      cfg.Fetch.Proxy, LocalAddr: cfg.Fetch.LocalAddr, InsecureHosts: cfg.Fetch.InsecureHosts, AllowPorts: cfg.Fetch.AllowPorts,
		AcceptLanguage: cfg.Fetch.AcceptLanguage, Headers: cfg.Fetch.Headers, Request: cfg.HostRequest(),
		Cookies: cfg.Fetch.Cookies, Jar: cfg.Fetch.Jar,
	})
	if err != nil {
		return nil, err
	}
	return &Client{Client: &fetcher.Client{Gate: gate, Fetcher: get}, Policy: policy, heard: map[string]answer{}, close: func() {
		gate.Leave()
		get.Close()
	}}, nil
}

// Rules requests the robots.txt of u's origin, unless it did before. The error is the reason why there was no response; then nothing of the
// origin may be fetched for now.
func (c *Client) Rules(ctx context.Context, u weburl.URL) (politeness.OriginInfo, error) {
	a, ok := c.heard[u.Origin()]
	if !ok {
		a.info, a.err = c.Robots(ctx, u)
		c.heard[u.Origin()] = a
	}
	return a.info, a.err
}

// Close closes the connections.
func (c *Client) Close() { c.close() }
