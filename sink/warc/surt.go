package warc

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// surt returns the key of a URL in an index: the labels of the host in reverse order, then path and query. The canonical form is that of
// the Internet Archive's surt library, with which readers look up URLs: lower case, no leading www, no default port, percent-encoding only
// where necessary, no empty path segments, no trailing slash, no session IDs, sorted query arguments.
//
//	https://www.Example.org:443/A//b/?y=2&x=%31  org,example)/a/b?x=1&y=2
func surt(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	end := strings.IndexAny(rest+"/", "/?#")
	authority := rest[:end]
	rest, _, _ = strings.Cut(rest[end:], "#")
	path, query, _ := strings.Cut(rest, "?")
	key := surtHost(strings.ToLower(scheme), authority) + ")" + surtPath(path)
	if query = surtQuery(query); query != "" {
		key += "?" + query
	}
	return key
}

func surtHost(scheme, authority string) string {
	host := authority[strings.LastIndexByte(authority, '@')+1:]
	port := ""
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host, port = host[:i], host[i:]
	}
	if port == ":" || scheme == "http" && port == ":80" || scheme == "https" && port == ":443" {
		port = ""
	}
	host = strings.Trim(strings.ToLower(escape(unescape(host))), ".")
	labels := strings.Split(host, ".")
	if www, ok := strings.CutPrefix(labels[0], "www"); ok && len(labels) > 1 && strings.Trim(www, "0123456789") == "" {
		labels = labels[1:]
	}
	slices.Reverse(labels)
	return strings.Join(labels, ",") + strings.ToLower(escape([]byte(port)))
}

// Session IDs in paths, in the form of ASP.NET.
var (
	pathSessions = regexp.MustCompile(`^(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)$`)
	pathSession  = regexp.MustCompile(`^(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)$`)
)

func surtPath(path string) string {
	p := strings.ToLower(escape(cleanPath(unescape(path))))
	if strings.Contains(p, ".aspx") {
		p = pathSessions.ReplaceAllString(p, "$1$2")
		p = pathSession.ReplaceAllString(p, "$1$2")
	}
	if len(p) > 1 {
		p = strings.TrimSuffix(p, "/")
	}
	return p
}

// cleanPath resolves dot segments and removes empty segments.
func cleanPath(path []byte) []byte {
	var kept [][]byte
	segments := bytes.Split(path, []byte("/"))
	for i, s := range segments {
		switch {
		case i == 0, len(s) == 0 && i < len(segments)-1, string(s) == ".":
		case string(s) == ".." && len(kept) > 0:
			kept = kept[:len(kept)-1]
		default:
			kept = append(kept, s)
		}
	}
	return append([]byte("/"), bytes.Join(kept, []byte("/"))...)
}

// Session IDs in queries. Each pattern includes the "&" that follows.
var querySessions = []*regexp.Regexp{
	regexp.MustCompile(`jsessionid=[0-9a-z]{32}(?:&|$)`),
	regexp.MustCompile(`phpsessid=[0-9a-z]{32}(?:&|$)`),
	regexp.MustCompile(`sid=[0-9a-z]{32}(?:&|$)`),
	regexp.MustCompile(`aspsessionid[a-z]{8}=[a-z]{24}(?:&|$)`),
	regexp.MustCompile(`cfid=[^&]+&cftoken=[^&]+(?:&|$)`),
}

func surtQuery(query string) string {
	q := strings.ToLower(escape(unescape(query)))
	for _, r := range querySessions {
		if strings.Contains(q, "id") {
			q = r.ReplaceAllString(q, "")
		}
	}
	if !strings.Contains(q, "&") {
		return q
	}
	args := strings.Split(q, "&")
	slices.SortStableFunc(args, func(a, b string) int {
		an, av, aok := strings.Cut(a, "=")
		bn, bv, bok := strings.Cut(b, "=")
		switch {
		case an != bn:
			return strings.Compare(an, bn)
		case aok != bok && bok: // an argument without a value sorts before an argument with an empty value
			return -1
		case aok != bok:
			return 1
		}
		return strings.Compare(av, bv)
	})
	return strings.Join(args, "&")
}

// unescape undoes percent-encoding, as often as it was applied, in one pass: a decoded byte can only complete a triplet together with the
// bytes before it, or with bytes that follow.
func unescape(s string) []byte {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		b = append(b, s[i])
		for n := len(b); n >= 3 && b[n-3] == '%'; n = len(b) {
			hi, ok1 := hexDigit(b[n-2])
			lo, ok2 := hexDigit(b[n-1])
			if !ok1 || !ok2 {
				break
			}
			b = append(b[:n-3], hi<<4|lo)
		}
	}
	return b
}

// escape percent-encodes everything but printable ASCII, and also "%" and "#".
func escape(b []byte) string {
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	out.Grow(len(b))
	for _, c := range b {
		if c <= ' ' || c >= 0x7f || c == '%' || c == '#' {
			out.WriteByte('%')
			out.WriteByte(digits[c>>4])
			c = digits[c&15]
		}
		out.WriteByte(c)
	}
	return out.String()
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
