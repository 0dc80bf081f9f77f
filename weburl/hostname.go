package weburl

import (
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Hostname returns the host without port, in lower case and Punycode, and IPv6 literals without brackets.
func (u URL) Hostname() string {
	return strings.Trim(u.href[u.marks.host:u.marks.port], "[]")
}

// Port returns the port as digits: the scheme's default if the URL has none.
func (u URL) Port() string {
	switch {
	case u.href == "":
		return ""
	case u.marks.port < u.marks.path:
		return u.href[u.marks.port+1 : u.marks.path]
	case u.Scheme() == "http":
		return "80"
	}
	return "443"
}

// Host returns the key for queueing and pacing: host:port, always with the port, and with IPv6 in brackets.
// Requests to one Host are never in flight together unless its owner configured so. Host allocates if the URL names
// no port: keeping the text in every URL would cost a queue more than that.
func (u URL) Host() string {
	switch {
	case u.href == "":
		return ""
	case u.marks.port < u.marks.path:
		return u.Authority()
	}
	return u.Authority() + ":" + u.Port()
}

// IP returns the address if the host is an address literal, and false for a name. IPv4 in IPv6 stays IPv6:
// "[::ffff:7f00:1]" is not 127.0.0.1 until it is unmapped with [netip.Addr.Unmap].
func (u URL) IP() (netip.Addr, bool) {
	if u.href == "" || u.href[u.marks.host] != '[' && !allDigits(lastLabel(u.Hostname())) {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(u.Hostname())
	return a, err == nil
}

// Domain returns the registrable domain by the public suffix list, or the Hostname if there is none (IP addresses,
// single labels, public suffixes themselves). The trailing dot of a fully qualified name is dropped. Private
// suffixes count, so a.github.io and b.github.io are two domains. The list is that of
// golang.org/x/net/publicsuffix, whose look-up allocates.
func (u URL) Domain() string {
	h := u.Hostname()
	if _, ok := u.IP(); ok {
		return h
	}
	h = strings.TrimSuffix(h, ".")
	suffix, _ := publicsuffix.PublicSuffix(h)
	dot := len(h) - len(suffix) - 1
	if dot < 0 || h[dot] != '.' {
		return h
	}
	return h[strings.LastIndexByte(h[:dot], '.')+1:]
}

func lastLabel(h string) string { return h[strings.LastIndexByte(h, '.')+1:] }

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
