package crawltest

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
)

// Network is the configuration of a crawler whose network can be replaced: a *crawler.Config or a *fetcher.Config. A
// crawler of another kind can implement it.
type Network interface {
	// UseNetwork replaces how connections are made, names are looked up and certificates are verified.
	UseNetwork(
		dial func(ctx context.Context, network, addr string) (net.Conn, error),
		names interface {
			LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
		},
		roots *x509.CertPool,
	)
}

// Apply makes w the web of a crawler. Nothing else of the configuration is changed, and what the auditor expects is
// still stated with [Web.Expect]: it must not believe the configuration that it checks.
//
//	cfg := crawler.Config{Contact: contact}
//	w.Apply(&cfg)
//
// Crawls of one web share their hosts, and nothing with those of other webs or of the real one.
func (w *Web) Apply(n Network) { n.UseNetwork(w.DialContext, w, w.RootCAs()) }

// Shared returns what the crawlers of w share, such as clocks of its hosts: what the first call made.
func (w *Web) Shared(create func() any) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shared == nil {
		w.shared = create()
	}
	return w.shared
}
