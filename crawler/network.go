package crawler

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"path/filepath"
	"sync"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/machine"
)

// UseNetwork replaces the network of the crawl: see fetcher.Config.UseNetwork. With it, crawltest.Web.Apply makes c a
// crawl of a simulated web.
func (c *Config) UseNetwork(
	dial func(ctx context.Context, network, addr string) (net.Conn, error),
	names interface {
		LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	},
	roots *x509.CertPool,
) {
	c.Fetch.UseNetwork(dial, names, roots)
}

// processHosts holds the clocks that all crawls of this process share.
var processHosts = politeness.NewHosts(politeness.HostsLimits{})

// Sharing returns what the crawl shares with others: Politeness.Shared if it is set, or else what all crawls of its network
// share, which is that of this process or a crawltest.Web.
func (c *Config) Sharing() politeness.Sharing {
	if c.Politeness.Shared != nil {
		return c.Politeness.Shared
	}
	web, ok := c.Fetch.Resolver.(interface {
		Shared(create func() any) any
	})
	if !ok {
		return processHosts
	}
	hosts, _ := web.Shared(func() any { return politeness.NewHosts(politeness.HostsLimits{}) }).(*politeness.Hosts)
	return hosts
}

// machines holds the state directories that this process has opened, by their paths.
var machines sync.Map

// ShareMachine makes the crawl take turns with the crawls of all processes that use the same state directory, those of this
// process included. "" is that of the user: see [machine.Dir]. It does nothing if Politeness.Shared is set, or in a crawl of a
// simulated web. Without it a crawl knows of the crawls of its process alone; package job calls it for every job. If the directory
// cannot be used, [Crawler.NotShared] says why.
func (c *Config) ShareMachine(dir string) {
	hosts, ok := c.Sharing().(*politeness.Hosts)
	if c.Politeness.Shared != nil || !ok || hosts != processHosts {
		return
	}
	if dir == "" {
		dir, _ = machine.Dir() // machine.Open says what is wrong
	}
	if abs, err := filepath.Abs(dir); dir != "" && err == nil {
		dir = abs
	}
	open, _ := machines.LoadOrStore(dir, sync.OnceValue(func() *machine.Hosts { return machine.Open(dir, hosts) }))
	c.Politeness.Shared = open.(func() *machine.Hosts)()
}

// NotShared returns why the crawl takes no turns with those of other processes although that was wanted ([Config.ShareMachine]), or
// nil.
func (c *Crawler) NotShared() error {
	if m, ok := c.shared.(interface{ NotShared() error }); ok {
		return m.NotShared()
	}
	return nil
}
