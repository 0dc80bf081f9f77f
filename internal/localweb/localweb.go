// Package localweb protects pages that a program serves to its operator, such as the page of a crawl, from pages of other sites in the
// operator's browser, and from other machines.
package localweb

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// headers has the header fields of every response.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
		"base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cache-Control":                "no-store",
}

// SetHeaders sets the header fields that every response has.
func SetHeaders(h http.Header) {
	for name, value := range headers {
		h.Set(name, value)
	}
}

// Hosts holds the valid Host header fields of requests to a server.
type Hosts struct {
	names map[string]bool // names of the machine, with the port of the server
	front map[string]bool // names of proxies in front of the server, with any port
}

// NewHosts returns the Hosts of a server that listens on address, as configured. front has the names of proxies in front of the server.
func NewHosts(address string, front ...string) *Hosts {
	h := &Hosts{names: map[string]bool{"localhost": true}, front: map[string]bool{}}
	if name, _, _ := net.SplitHostPort(address); name != "" {
		h.names[strings.ToLower(name)] = true
	}
	for _, name := range front {
		h.front[strings.ToLower(name)] = true
	}
	return h
}

// Ours reports whether a Host header field names this server, which listens on port. A page of another site can make a browser send
// requests to this server under the name of that site (DNS rebinding), but not under an address or under a name in h.
func (h *Hosts) Ours(host, port string) bool {
	name, asked, err := net.SplitHostPort(host)
	if err != nil {
		name, asked = strings.Trim(host, "[]"), "80"
	}
	name = strings.ToLower(name)
	_, err = netip.ParseAddr(name)
	return asked == port && (err == nil || h.names[name]) || h.front[name]
}

// Plain reports whether a token consists only of letters, digits, "-" and "_", so that it needs no escaping in URLs, header fields and
// lines of files.
func Plain(token string) bool {
	return token != "" && !strings.ContainsFunc(token, func(c rune) bool {
		return (c < '0' || '9' < c) && (c < 'a' || 'z' < c) && (c < 'A' || 'Z' < c) && c != '-' && c != '_'
	})
}

// Same compares secrets in constant time.
func Same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// OnLoopback reports whether addr is a loopback address.
func OnLoopback(addr net.Addr) bool {
	ap, err := netip.ParseAddrPort(addr.String())
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

// HostPort returns an address at which this machine reaches a server that listens on addr.
func HostPort(addr net.Addr) string {
	ap, err := netip.ParseAddrPort(addr.String())
	if err == nil && ap.Addr().IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ap.Port())))
	}
	return addr.String()
}
