package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/jobs"
	"github.com/amble-crawler/amble/weburl"
)

// Reasons why clients may not set a key.
const (
	namesFile = "it names a file or a directory of the server"
	browser   = "it is about a browser, and the server starts none"
	network   = "the operator of the server decides how requests leave it, and where to"
	guards    = "it protects the server"
	mandate   = "the operator of the server answers for it to sites"
	ofCommand = "it is about the output of a command"
	keysOf    = "it is written to with the keys of the server"
	secrets   = "it may hold secrets, or name files and variables of the server"
)

// refused maps each key of a job file that clients may not set to the reason. A key that is neither here nor in allowed is refused.
var refused = map[string]string{
	"since": namesFile, "own-hosts": namesFile, "opt-out": namesFile, "load-cookies": namesFile, "sign": namesFile, "cache": namesFile, "state": namesFile,
	"store": keysOf, "keep-local": guards,
	"sign-mode": mandate, "overrides": mandate, "per-host": mandate,
	"header": secrets,
	"proxy":  network, "source-address": network, "allow-address": network, "allow-port": network,
	"min-free": guards, "max-header": guards, "max-header-fields": guards, "max-encodings": guards, "max-ratio": guards, "max-robots": guards,
	"max-sitemap": guards, "max-url": guards, "max-links": guards, "max-robots-requests": guards,
	"render": browser, "render-kinds": browser, "render-hosts": browser, "max-resources": browser, "screenshot": browser, "browser": browser,
	"render-tabs": browser, "render-processor": browser, "render-isolation": browser,
	"seeds": ofCommand, "out": ofCommand, "no-keep": ofCommand, "fail-on-limit": ofCommand, "json": ofCommand, "quiet": ofCommand,
	"verbose": ofCommand, "log-format": ofCommand, "color": ofCommand,
}

// allowed lists the job file keys that clients may set. Within hosts, header is not allowed; max-body has a maximum.
var allowed = []string{
	"agent", "contact", "promises",
	"depth", "sitemaps", "beyond", "beyond-kinds",
	"scope", "include", "exclude", "accept", "rules", "canonical", "priority", "best-first", "sample", "order", "follow-nofollow", "feeds", "documents", "resources",
	"delay", "delay-factor", "max-delay", "rate", "hours", "per-domain", "max-crawl-delay", "max-retry-after", "max-backoff", "max-failures",
	"max-silence", "robots-give-up", "forbidden-denies", "dialect", "revisited-directives", "purpose", "refuse-usage", "visit-time", "hosts",
	"concurrency", "max-pages", "max-bytes", "max-time", "max-disk", "max-per-host", "max-sitemaps", "max-body", "max-errors", "retries",
	"retry-pause", "max-queries", "max-per-dir", "max-sessions", "max-soft", "max-same", "near-bits", "max-redirects",
	"dns-timeout", "connect-timeout", "tls-timeout", "first-byte-timeout", "idle-timeout", "fetch-timeout", "min-rate",
	"accept-language", "cookies", "keep-cookies", "insecure-hosts",
	"format", "segment-size", "keep-links", "text",
}

// maxBody is the maximum of the key max-body: a page is in memory.
const maxBody = 64 << 20

// checkSettings refuses settings that clients may not set.
func checkSettings(settings map[string]any) error {
	b, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	f, err := job.ParseFile("settings", b)
	if err != nil {
		return err
	}
	all, err := f.Settings() // expand shorthands to the keys that they set
	if err != nil {
		return err
	}
	for _, s := range all {
		if why := refused[s.Name]; why != "" {
			return forbidden(s.Name, why)
		}
	}
	for name := range settings {
		if !slices.Contains(allowed, name) && job.ShorthandNamed(name) == nil {
			return forbidden(name, "only keys that are known to do no harm are taken")
		}
	}
	return nil
}

// forbidden returns the error for a key that clients may not set.
func forbidden(name, why string) error {
	return &job.KeyError{Key: name, Err: fmt.Errorf("clients cannot set this key: %s: leave it out, or have the operator set it", why)}
}

// confine checks the configuration of a job, and limits its requests to public addresses and those in ranges.
func confine(ranges []netip.Prefix, q *jobs.Request, c *job.Config) error {
	if out := c.Outside(); len(out) > 0 {
		return fmt.Errorf("server: the settings name %s: clients cannot name files, variables and programs of the server", out[0])
	}
	for _, h := range c.Crawl.Hosts {
		if len(h.Header) > 0 {
			return forbidden("hosts", "headers: "+secrets)
		}
	}
	switch {
	case c.Crawl.Fetch.MaxBody > maxBody:
		return &job.KeyError{Key: "max-body", Err: errors.New("the server takes up to 64MiB: give less")}
	case c.Crawl.Follow.Documents && c.Crawl.Documents == nil:
		return forbidden("documents", "the server reads no documents")
	case c.Text && c.TextReader == nil:
		return forbidden("text", "the server reads no texts")
	}
	if err := c.Crawl.Validate(); err != nil {
		return err
	}
	open := func(a netip.Addr) bool {
		a = a.Unmap()
		return fetcher.IsPublic(a) || slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	for _, seed := range q.Seeds {
		u, err := weburl.Parse(seed)
		if err != nil {
			return err
		}
		addr, err := netip.ParseAddr(strings.Trim(u.Hostname(), "[]"))
		if err == nil && !open(addr) {
			return fmt.Errorf("server: seed %s: %s is not a public address, and the operator of the server has not allowed it", job.WithoutSecrets(seed), addr)
		}
		if c.Crawl.Contact == "" && (err != nil || !addr.Unmap().IsLoopback()) {
			return &job.KeyError{Key: "contact", Err: errors.New("it is missing: give a page or mail address where site owners reach you")}
		}
	}
	c.Crawl.Fetch.Pin = func(_ context.Context, _ string, private []netip.Addr) ([]netip.Addr, error) {
		return slices.DeleteFunc(private, func(a netip.Addr) bool { return !open(a) }), nil
	}
	return nil
}
