package identity

import (
	"context"
	"errors"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

const (
	// maxLookups limits the looked-up addresses of a range: all of a /24, an evenly spaced sample of a larger range.
	maxLookups = 256
	// maxAllLookups limits the look-ups of all ranges together.
	maxAllLookups = 1024
	lookupTimeout = 10 * time.Second
	maxNames      = 8 // maximum number of names of one address
	maxSilent     = 3 // maximum number of consecutive look-ups without an answer
)

// names checks that each source address has a name that resolves to the address (jafar-00 sections 1 and 6).
func (k *checking) names(ctx context.Context, prefixes []netip.Prefix) {
	if len(prefixes) == 0 {
		return
	}
	if k.Resolve == nil {
		k.note("the source addresses were not looked up: no resolver was given")
		return
	}
	left, silent := maxAllLookups, 0
	for _, p := range prefixes {
		addrs, all := sample(p, min(maxLookups, left))
		left -= len(addrs)
		if !all {
			k.note("%v: %d of its addresses were looked up", p, len(addrs))
		}
		for _, a := range addrs {
			if k.confirm(ctx, a) {
				silent = 0
			} else if silent++; silent == maxSilent || ctx.Err() != nil {
				k.note("the look-ups were given up at %v: the resolver does not answer", a)
				return
			}
		}
	}
}

// confirm looks up the names of an address, and the addresses of these names. It returns false if it got no answer, which proves nothing
// about the address.
func (k *checking) confirm(ctx context.Context, a netip.Addr) bool {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	names, err := k.Resolve.LookupAddr(ctx, a.String())
	switch {
	case unanswered(err):
		return false
	case err != nil || len(names) == 0:
		k.should(a.String(), jafar+"1", "Give it a name in the reverse zone.", "the address has no name")
		return true
	}
	answered := true
	for _, name := range names[:min(len(names), maxNames)] {
		addrs, err := k.Resolve.LookupHost(ctx, strings.TrimSuffix(name, "."))
		if slices.ContainsFunc(addrs, func(s string) bool { return sameAddr(s, a) }) {
			return true
		}
		answered = answered && !unanswered(err)
	}
	if answered {
		k.should(a.String(), jafar+"6", "Give the name this address.", "its name %q does not lead back to it", printable(names[0]))
	}
	return answered
}

func sameAddr(s string, a netip.Addr) bool {
	b, err := netip.ParseAddr(s)
	return err == nil && b.Unmap().WithZone("") == a
}

// unanswered reports whether err means that no server was able to answer.
func unanswered(err error) bool {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return !dns.IsNotFound
	}
	return err != nil
}

// sample returns up to n addresses of a range, evenly spaced, with the first and the last one. all reports whether these are all addresses
// of the range.
func sample(p netip.Prefix, n int) (addrs []netip.Addr, all bool) {
	host := uint(p.Addr().BitLen() - p.Bits())
	size := new(big.Int).Lsh(big.NewInt(1), host)
	if n <= 0 {
		return nil, false
	}
	if size.Cmp(big.NewInt(int64(n))) <= 0 {
		n, all = int(size.Int64()), true
	}
	first := new(big.Int).SetBytes(p.Masked().Addr().AsSlice())
	for i := range n {
		at := big.NewInt(int64(i))
		if n > 1 {
			at.Mul(at, new(big.Int).Sub(size, big.NewInt(1))).Quo(at, big.NewInt(int64(n-1)))
		}
		b := make([]byte, p.Addr().BitLen()/8)
		at.Add(at, first).FillBytes(b)
		a, _ := netip.AddrFromSlice(b)
		addrs = append(addrs, a)
	}
	return addrs, all
}
