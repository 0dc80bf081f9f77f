package crawler

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"

	"github.com/amble-crawler/amble/politeness"
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
