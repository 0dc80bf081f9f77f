package crawltest

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// name is the entry of one host name in the simulated DNS.
type name struct {
	addrs []netip.Addr
	sites []*Site
}

func (n *name) has(a netip.Addr) bool { return slices.Contains(n.addrs, a) }

// LookupNetIP works like the method of *net.Resolver: network is "ip", "ip4" or "ip6". For an IP address it returns that address. Errors
// are *net.DNSError: IsNotFound for names that no site has, IsTimeout or IsTemporary if a fault causes it.
func (w *Web) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	addrs, err := w.lookup(ctx, network, host)
	w.mu.Lock()
	defer w.mu.Unlock()
	l := Lookup{Name: host, Time: time.Now()}
	if err != nil {
		l.Err = err.Error()
	}
	w.lookups = append(w.lookups, l)
	return addrs, err
}

func (w *Web) lookup(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if err := ctx.Err(); err != nil {
		return nil, dnsContextError(host, err)
	}
	addrs, fault := w.resolve(network, host)
	switch fault {
	case faultDNSTimeout:
		return nil, dnsContextError(host, w.hang(ctx))
	case faultDNSFailure:
		return nil, &net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true}
	case faultNXDomain:
		addrs = nil
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return addrs, nil
}

func dnsContextError(host string, err error) error {
	return &net.DNSError{UnwrapErr: err, Err: err.Error(), Name: host, IsTimeout: errors.Is(err, context.DeadlineExceeded)}
}

// resolve returns the addresses of a name, and the fault of this look-up.
func (w *Web) resolve(network, host string) ([]netip.Addr, faultKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.names[host]
	if n == nil {
		return nil, 0
	}
	for _, s := range n.sites {
		if f := s.fault(stageDNS, nil, nil); f != nil {
			return nil, f.kind
		}
	}
	return slices.DeleteFunc(slices.Clone(n.addrs), func(a netip.Addr) bool {
		return network == "ip4" && !a.Is4() || network == "ip6" && !a.Is6()
	}), 0
}

// defaultPools returns ranges that the IANA special-purpose address registries reserve for services without sites
// (AS112, RFC 7534 and RFC 7535; AMT, RFC 7450) and call globally reachable: a crawler that refuses private and
// documentation addresses regards these as public.
func defaultPools() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("192.31.196.0/24"),
		netip.MustParsePrefix("192.52.193.0/24"),
		netip.MustParsePrefix("192.175.48.0/24"),
		netip.MustParsePrefix("2620:4f:8000::/48"),
	}
}

// addrPool assigns addresses in order, without the network and broadcast addresses of IPv4 ranges.
type addrPool struct {
	ranges []netip.Prefix
	last   netip.Addr
}

func newAddrPool(ranges ...netip.Prefix) *addrPool { return &addrPool{ranges: ranges} }

// next returns an address that was not assigned before, or the zero Addr if the ranges are used up.
func (p *addrPool) next() netip.Addr {
	for len(p.ranges) > 0 {
		r := p.ranges[0].Masked()
		a := r.Addr()
		if p.last.IsValid() {
			a = p.last
		}
		a = a.Next()
		if r.Contains(a) && (!a.Is4() || r.Contains(a.Next())) {
			p.last = a
			return a
		}
		p.ranges, p.last = p.ranges[1:], netip.Addr{}
	}
	return netip.Addr{}
}
