package crawler

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// account returns Politeness.Account: what a robots.txt may depend on besides its URL. A crawl whose
// fields come from a function or a jar shares with no other crawl. Neither does one with its own resolver or dialer: there, names may
// mean other servers.
func (c *Config) account() (func(u weburl.URL) string, error) {
	f := &c.Fetch
	network := f.Resolver != nil || f.DialContext != nil
	if c.Politeness.Shared != nil || c.Sharing() != politeness.Sharing(processHosts) {
		network = false
	}
	if network || c.Fetcher != nil || f.Request != nil || f.Cookies || f.Jar != nil || f.Signer != nil {
		own := rand.Text()
		return func(weburl.URL) string { return own }, nil
	}
	table, err := newHostTable(c.Hosts)
	if err != nil {
		return nil, err
	}
	common := http.Header{}
	put := func(to, more http.Header) {
		for name, values := range more {
			to[http.CanonicalHeaderKey(name)] = values
		}
	}
	for name, value := range map[string]string{"Accept": f.Accept, "Accept-Language": f.AcceptLanguage} {
		if value != "" {
			common[name] = []string{value}
		}
	}
	put(common, f.Header)
	return func(u weburl.URL) string {
		all := http.Header{}
		put(all, common)
		put(all, table.header(u))
		put(all, f.Headers[u.Origin()])
		if len(all) == 0 {
			return ""
		}
		b, _ := json.Marshal(all) // in the order of names; texts can be encoded
		return fmt.Sprintf("%x", sha256.Sum256(b))
	}, nil
}

// copyRobots returns Politeness.CopyRobots, which keeps a robots.txt that another crawl has requested as evidence, too.
func (c *Config) copyRobots() func(u weburl.URL, f politeness.RobotsFile) error {
	if c.KeepRobots == nil {
		return nil
	}
	return func(u weburl.URL, f politeness.RobotsFile) error {
		if f.Failures > 0 || f.Body == "" {
			return nil
		}
		if err := c.KeepRobots(&fetcher.Page{URL: u, Status: f.Status, Body: []byte(f.Body), Ended: f.Fetched}); err != nil {
			return fmt.Errorf("crawler: %w: %s: %w", fetcher.ErrKeepRobots, u, err)
		}
		return nil
	}
}
