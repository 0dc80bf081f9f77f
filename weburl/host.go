package weburl

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/idna"
)

// maxHostLen is the maximum length of a host, in bytes as written. A domain name has at most 253 (RFC 1035 section 2.3.4); more is
// allowed for its percent-encoded spelling. The limit bounds the time for Punycode, which is quadratic in the length of a label.
const maxHostLen = 512

// appendHost appends the canonical form of a host (WHATWG URL Standard, section 3.5). Nearly all hosts are plain ASCII names or IPv4
// addresses in the usual form, for which there is a fast path.
func appendHost(dst []byte, s string) (_ []byte, reason string) {
	switch {
	case len(s) > maxHostLen:
		return dst, ReasonTooLong
	case isPlainName(s):
		for i := range len(s) {
			dst = append(dst, lower(s[i]))
		}
		return dst, ""
	case isPlainIPv4(s):
		return append(dst, s...), ""
	}
	h, ok := parseHost(s)
	if !ok {
		return dst, ReasonSyntax
	}
	return append(dst, h...), ""
}

// isPlainName reports whether s is its own canonical form, apart from upper case: it consists of ASCII letters, digits, "-", "_" and ".",
// and its last label cannot be taken for a number.
func isPlainName(s string) bool {
	if s == "" {
		return false
	}
	label := 0
	for i := range len(s) {
		if classes[s[i]]&nameByte == 0 {
			return false
		}
		if s[i] == '.' && i+1 < len(s) {
			label = i + 1
		}
	}
	return s[label] < '0' || s[label] > '9'
}

func isPlainIPv4(s string) bool {
	if len(s) < len("0.0.0.0") || len(s) > len("255.255.255.255") || strings.Count(s, ".") != 3 {
		return false
	}
	for i := range len(s) {
		if s[i] != '.' && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	_, err := netip.ParseAddr(s) // also rejects leading zeros, which would mean octal numbers
	return err == nil
}

// parseHost implements the host parser for the hosts of http URLs, for any input.
func parseHost(s string) (string, bool) {
	if strings.HasPrefix(s, "[") {
		// whatwg-url accepts any number of brackets at either end.
		if strings.LastIndexByte(s, '[') > 0 || strings.IndexByte(s, ']') != len(s)-1 {
			return "", false
		}
		return parseAddress(s)
	}
	if !utf8.ValidString(s) {
		return "", false // percent-decoding could make the text valid, so check it before
	}
	domain, ok := domainToASCII(unescapeAll(s))
	if !ok || !endsInNumber(domain) {
		return domain, ok
	}
	if strings.ContainsAny(domain, "+-") {
		return "", false // a number has no sign, but whatwg-url accepts a number with a sign
	}
	return parseAddress(domain)
}

// parseAddress canonicalizes a literal address with whatwg-url, which knows the spellings of IPv4 (decimal, octal, hexadecimal, short)
// and the canonical form of IPv6.
func parseAddress(s string) (string, bool) {
	u, err := whatwg.Parse("http://" + s + "/")
	if err != nil {
		return "", false
	}
	return u.Hostname(), true
}

// lookup implements the UTS #46 processing that the domain parser requires (WHATWG URL Standard, section 3.3): non-transitional, with the
// bidi and joiner checks, but without STD3 rules, hyphen checks and length checks.
var lookup = idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.CheckHyphens(false),
	idna.CheckJoiners(true), idna.BidiRule(), idna.VerifyDNSLength(false), idna.Transitional(false))

// domainToASCII implements the domain parser (WHATWG URL Standard, section 3.3). It converts ASCII domains to lower case, even if they
// are invalid by IDNA; all others are processed by IDNA.
func domainToASCII(s string) (string, bool) {
	if isASCII(s) {
		s = strings.ToLower(s)
	} else if !utf8.ValidString(s) {
		return "", false
	} else if a, err := lookup.ToASCII(s); err != nil {
		return "", false
	} else {
		s = a
	}
	return s, s != "" && isASCII(s) && !strings.ContainsFunc(s, isForbidden)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isForbidden reports whether r is a forbidden domain code point (WHATWG URL Standard,
// section 3.2).
func isForbidden(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune("#/:<>?@[\\]^|%", r)
}

// unescapeAll decodes every percent-encoded byte of s.
func unescapeAll(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for len(s) > 0 {
		if c, ok := unescape(s); ok {
			b, s = append(b, c), s[3:]
		} else {
			b, s = append(b, s[0]), s[1:]
		}
	}
	return string(b)
}

// endsInNumber implements the "ends in a number" checker (WHATWG URL Standard, section 3.5) for a domain in lower case: the last label is
// all digits, or "0x" followed by hexadecimal digits or nothing.
func endsInNumber(domain string) bool {
	domain = strings.TrimSuffix(domain, ".")
	last := lastLabel(domain)
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return allDigits(last)
}
