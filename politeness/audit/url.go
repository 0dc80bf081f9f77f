package audit

import (
	"fmt"
	"strconv"
	"strings"
)

func isRobotsURL(u string) bool { return strings.TrimPrefix(u, originOf(u)) == "/robots.txt" }

func originOf(u string) string {
	i := strings.Index(u, "://")
	if i < 0 {
		return u
	}
	if j := strings.IndexAny(u[i+3:], "/?#"); j >= 0 {
		return u[:i+3+j]
	}
	return u
}

// hostOf returns host:port of a URL as in the ledger, always with the port.
func hostOf(u string) string {
	scheme, host, _ := strings.Cut(originOf(u), "://")
	switch {
	case host == "":
		return ""
	case strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']'):
		return host
	case scheme == "http":
		return host + ":80"
	}
	return host + ":443"
}

func target(u string) string {
	t := strings.TrimPrefix(u, originOf(u))
	if !strings.HasPrefix(t, "/") {
		t = "/" + t
	}
	return t
}

// canon gives all ways to write a byte one form (RFC 9309 section 2.2.2, RFC 3986 section 6.2.2).
func canon(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r == '%' || mustEscape(r) }) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				if unreserved(byte(v)) {
					b.WriteByte(byte(v))
				} else {
					fmt.Fprintf(&b, "%%%02X", v)
				}
				i += 2
				continue
			}
		}
		if mustEscape(rune(c)) {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func mustEscape(c rune) bool {
	return c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", byte(c)) >= 0
}

func unreserved(c byte) bool {
	return c == '-' || c == '.' || c == '_' || c == '~' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
