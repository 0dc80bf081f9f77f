package crawler

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
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
