package weburl

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/PuerkitoBio/purell"
)

// NormalVersion is the version of the rules of [URL.Normal] and of every [Profile]. It increases with each change that gives some URL
// another [Key]. A store of Keys that outlives the program must record the version, and must not be used with another one.
const NormalVersion = 1

// Normal returns the normal form, whose hash is the [Key]. It is equal for spellings that RFC 3986 section 6.2.2 calls equivalent, and
// for a few others that servers do not distinguish. Requests use the URL as it was found. In addition to what [Parse] does (case and
// default port, dot segments, no fragment), in path and query:
//
//   - percent-encoded unreserved bytes are decoded: "%7Euser" is "~user";
//   - other escapes are written in upper case and never decoded: "a%2fb" is "a%2Fb", not "a/b";
//   - bytes that a URI may not contain (RFC 3986 appendix A) but that browsers send as they are, such as "|", are
//     encoded;
//   - a "%" that begins no escape counts as "%25": "100%zz" is "100%25zz";
//   - an empty query is dropped: "/a?" is "/a".
//
// This is what purell's safe flags do, applied to both path and query and without decoding reserved bytes. Normal is idempotent: parsed
// again, the normal form is its own normal form (one longer than [MaxLen] cannot be parsed). It does not allocate for a URL that is
// already in normal form.
func (u URL) Normal() string {
	if u.marks.normal || u.href == "" {
		return u.href
	}
	var space [512]byte
	return string(appendNormal(space[:0], u.href, int(u.marks.path)))
}

// appendNormal appends the normal form of href, whose path begins at index path. It corrects well-formed escapes itself; purell does
// everything else.
func appendNormal[T string | []byte](dst []byte, href T, path int) []byte {
	start := len(dst)
	dst = append(dst, href[:path]...)
	for i := path; i < len(href); i++ {
		o := classes[href[i]]
		if o&(escape|alien) == 0 {
			dst = append(dst, href[i])
			continue
		}
		c, ok := unescape(href[i:])
		if !ok {
			return append(dst[:start], purellNormal(string(href), path)...)
		}
		if i += 2; classes[c]&unreserved != 0 {
			dst = append(dst, c)
		} else {
			dst = appendEscape(dst, c)
		}
	}
	if n := len(dst); bytes.IndexByte(dst[start+path:], '?') == n-1-start-path {
		dst = dst[:n-1]
	}
	return dst
}

// isNormal reports whether a path with its query is in normal form.
func isNormal(s string) bool {
	for i := range len(s) {
		o := classes[s[i]]
		if o&(escape|alien) == 0 {
			continue
		}
		c, ok := unescape(s[i:])
		if !ok || classes[c]&unreserved != 0 || s[i+1] != upperHex[c>>4] || s[i+2] != upperHex[c&15] {
			return false
		}
	}
	return strings.IndexByte(s, '?') != len(s)-1
}

// purellFlags are purell's safe flags and the removal of dot segments. NormalizeURL modifies the net/url.URL that it is given, so it gets
// a copy.
const purellFlags = purell.FlagsSafe | purell.FlagRemoveDotSegments

// purellNormal returns the normal form of any URL, made by purell. purell does not change queries, so the query is passed as the
// fragment, which has the same grammar (RFC 3986 sections 3.4 and 3.5). net/url does not parse anything here, so every URL that a browser
// accepts is accepted.
func purellNormal(href string, path int) string {
	scheme, authority, _ := strings.Cut(href[:path], "://")
	p, q, _ := strings.Cut(href[path:], "?")
	n := purell.NormalizeURL(&url.URL{
		Scheme: scheme, Host: authority, Path: guard(p), Fragment: guard(q),
	}, purellFlags)
	root, rest := n[:path], n[path:]
	rest = strings.Replace(rest, "#", "?", 1)
	return root + strings.ReplaceAll(rest, "%25", "%")
}

// guard decodes the escaped unreserved bytes of s and protects all other escapes, because purell works on decoded text, in which "%2F"
// and "/" would be the same. purell writes the "%" of a protected escape as "%25", which purellNormal reverts.
func guard(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c, ok := unescape(s[i:])
		switch {
		case ok && classes[c]&unreserved != 0:
			b.WriteByte(c)
			i += 2
		case ok:
			b.WriteString(strings.ToUpper(s[i : i+3]))
			i += 2
		case s[i] == '%':
			b.WriteString("%25")
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// Key identifies a URL in a seen set: 128 bits of the hash of its normal form (XXH3). Two URLs with equal Keys are treated as the same
// URL. Among n URLs, the probability of any false match is about n²/2¹²⁹: below 10⁻²⁰ for 10⁹ URLs.
//
// This does not apply to URLs constructed for the purpose. The hash has no secret, so an author of links may be able to construct two
// URLs with the same Key; the one found later is then not fetched. Therefore a Key must only be used to decide whether a URL was seen
// before. A store that must withstand even this uses a keyed hash of [URL.Normal] instead.
//
// Do not mix Keys of different profiles, or of different values of [NormalVersion], in one set.
type Key [16]byte

// Key returns the 128-bit key: the hash of [URL.Normal]. It equals Safe.Key(u). The zero URL has the zero Key. Key allocates only for
// rare URLs (malformed escapes, very long ones).
func (u URL) Key() Key { return Safe.Key(u) }
