package main

import (
	"context"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// asker requests robots.txt files and sitemaps as a crawl does: one request at a time to a host, with the same pauses.
type asker struct {
	gate    *politeness.Gate
	policy  politeness.Config // of the client's Gate
	fetcher *fetcher.Fetcher
	client  *fetcher.Client   // with that Gate and the Fetcher
	heard   map[string]answer // by origin
}

// answer is the outcome of requesting a robots.txt.
type answer struct {
	info politeness.OriginInfo
	err  error // why there was no answer
}

// newAsker makes an asker for these URLs. Their hosts may have any address, because the operator named them.
func newAsker(cfg *crawler.Config, policy politeness.Config, urls []weburl.URL) (*asker, error) {
	id, err := whoCrawls(cfg.Agent, cfg.Contact, urls)
	if err != nil {
		return nil, err
	}
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
	return &asker{gate, policy, get, &fetcher.Client{Gate: gate, Fetcher: get}, map[string]answer{}}, err
}

// rules requests the robots.txt of u's origin, once. The error says why there was no answer; it is then only known that
// nothing may be fetched for now.
func (k *asker) rules(ctx context.Context, u weburl.URL) (politeness.OriginInfo, error) {
	a, ok := k.heard[u.Origin()]
	if !ok {
		a.info, a.err = k.client.Robots(ctx, u)
		k.heard[u.Origin()] = a
	}
	return a.info, a.err
}

func (k *asker) close() { k.fetcher.Close() }
