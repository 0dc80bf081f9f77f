// Package hostmatch finds the entry of a list that applies to a host: the first one whose pattern matches it.
//
// A pattern is a host name ("www.site.test", at any port, or "www.site.test:8080"), a domain with all names below it ("*.site.test",
// which includes site.test itself), or a range of addresses ("192.0.2.0/24", "2001:db8::1"). A host's name is known before its address,
// so patterns of names come before ranges. A host whose name is an IP address is written as a host name with a port, or with ":*" for all
// ports ("192.0.2.7:*").
package hostmatch

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/amble-crawler/amble/weburl"
)

// Table is a list of patterns. A nil Table is empty. It is immutable and safe for concurrent use.
type Table struct {
	names   map[string]int // index by host name or host:port
	domains map[string]int
	ranges  []netip.Prefix
	first   int // index of the first range of addresses
}

// None is the index returned if no entry matches.
const None = -1

// Error reports what is wrong with one pattern.
type Error struct {
	Index   int
	Pattern string
	Reason  string
}

func (e *Error) Error() string { return fmt.Sprintf("%q: %s", e.Pattern, e.Reason) }

// Compile makes a Table. The error joins an *[Error] for each pattern that is invalid or can never match: an earlier pattern matches all
// of its hosts, or it is a name or a domain after a range of addresses.
func Compile(patterns []string) (*Table, error) {
	t := &Table{names: map[string]int{}, domains: map[string]int{}, first: len(patterns)}
	var errs []error
	for i, text := range patterns {
		if err := t.add(i, text, patterns); err != nil {
			errs = append(errs, &Error{i, text, err.Error()})
		}
	}
	return t, errors.Join(errs...)
}

// IsRange reports whether a pattern is a range of addresses.
func IsRange(pattern string) bool {
	_, ok := rangeOf(pattern)
	return ok || strings.Contains(pattern, "/")
}

func rangeOf(pattern string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(pattern); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	p, err := netip.ParsePrefix(pattern)
	return p.Masked(), err == nil
}

// errPattern describes the valid patterns.
var errPattern = errors.New("want a host such as www.site.test or www.site.test:8080, a domain with all below it such as *.site.test, or a range of addresses such as 192.0.2.0/24")

func (t *Table) add(i int, pattern string, all []string) error {
	if IsRange(pattern) {
		return t.addRange(i, pattern, all)
	}
	name, below := strings.CutPrefix(pattern, "*.")
	host, err := hostOf(name)
	if err != nil || below && strings.Contains(name, ":") {
		return errPattern
	}
	at := t.Host(host)
	if below {
		at = t.domain(host)
	}
	switch {
	case t.first < i:
		return fmt.Errorf("a name must come before all ranges of addresses, and this one follows %q", all[t.first])
	case at != None:
		return fmt.Errorf("never holds, because %q comes before it and matches all that it does", all[at])
	case below:
		t.domains[host] = i
	default:
		t.names[host] = i
	}
	return nil
}

// Name returns the host or host:port of a pattern, in the form used in URLs. It returns "" for a domain or a range.
func Name(pattern string) string {
	if IsRange(pattern) || strings.HasPrefix(pattern, "*.") {
		return ""
	}
	host, _ := hostOf(pattern)
	return host
}

// Exactly returns a pattern that matches only the given host:port or, if host has no port, all ports of that host. The host may be an IP
// address.
func Exactly(host string) string {
	if IsRange(host) {
		return host + ":*"
	}
	return host
}

// Below returns the host name that stands for all names below it: that of a host or a domain, without "*.", a dot at either end and a port.
// It returns "" for anything else.
func Below(pattern string) string {
	host, _ := hostOf(strings.TrimPrefix(strings.TrimPrefix(pattern, "*"), "."))
	u, _ := weburl.Parse("http://" + host) // fails without a host
	return bare(u.Hostname())
}

// hostOf returns a host name, with its port if it has one, in the form used in URLs.
func hostOf(name string) (string, error) {
	name = strings.TrimSuffix(name, ":*")
	u, err := weburl.Parse("http://" + name + "/")
	if err != nil || strings.ContainsAny(name, "*,/?#@\\") {
		return "", errPattern
	}
	host, port := u.Authority(), ""
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host, port = host[:colon], host[colon:]
	}
	if strings.HasSuffix(name, ":80") { // URLs omit the default port
		port = ":80"
	}
	return bare(host) + port, nil
}

func (t *Table) addRange(i int, pattern string, all []string) error {
	p, ok := rangeOf(pattern)
	if !ok {
		return errPattern
	}
	t.first = min(t.first, i)
	for j, q := range t.ranges {
		if q.Bits() <= p.Bits() && q.Contains(p.Addr()) {
			return fmt.Errorf("never holds, because %q comes before it and matches all that it does", all[t.first+j])
		}
	}
	t.ranges = append(t.ranges, p)
	return nil
}

// Host returns the index of the entry that matches a host by name, or None. host is host:port, or a name.
func (t *Table) Host(host string) int {
	if t == nil || len(t.names)+len(t.domains) == 0 {
		return None
	}
	name := host
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		name = host[:colon]
	}
	port := host[len(name):]
	name = bare(name)
	best := t.domain(name)
	for _, key := range [...]string{name, name + port} {
		if i, ok := t.names[key]; ok {
			best = earlier(best, i)
		}
	}
	return best
}

// domain returns the index of the entry for the longest domain that contains a name, or None.
func (t *Table) domain(name string) int {
	best := None
	for more := len(t.domains) > 0; more; _, name, more = strings.Cut(name, ".") {
		if i, ok := t.domains[name]; ok {
			best = earlier(best, i)
		}
	}
	return best
}

func earlier(best, i int) int {
	if best == None {
		return i
	}
	return min(best, i)
}

// bare returns a name without its trailing dot.
func bare(name string) string { return strings.TrimSuffix(name, ".") }

// Addr returns the index of the range that contains an address, or None. It is for hosts that no entry matches by name.
func (t *Table) Addr(a netip.Addr) int {
	if t == nil || !a.IsValid() {
		return None
	}
	a = a.Unmap().WithZone("")
	for i, p := range t.ranges {
		if p.Contains(a) {
			return t.first + i
		}
	}
	return None
}

// ByName reports whether the entry at this index is a host or a domain.
func (t *Table) ByName(index int) bool { return t != nil && index >= 0 && index < t.first }

// Ranges reports whether the Table has ranges of addresses.
func (t *Table) Ranges() bool { return t != nil && len(t.ranges) > 0 }
