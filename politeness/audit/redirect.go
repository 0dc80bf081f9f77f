package audit

import (
	"net/url"
	"strings"
)

// anywhere is the target of a Location that this check cannot resolve as a browser would: any request of the crawler is
// accepted as its target.
const anywhere = "*"

// leadsTo returns the target of a redirect, in the form that isHop compares, or "" if it cannot be requested.
func leadsTo(r *request) string {
	location := strings.Trim(strings.NewReplacer("\t", "", "\n", "", "\r", "", "\\", "/").Replace(r.end.Location), " ")
	if location == "" {
		return ""
	}
	base, err1 := url.Parse(escapePercent(r.start.URL))
	to, err2 := url.Parse(escapePercent(location))
	if err1 != nil || err2 != nil {
		return anywhere
	}
	to = base.ResolveReference(to)
	if to.Scheme != "http" && to.Scheme != "https" {
		return ""
	}
	if to.Host == "" || strings.ContainsFunc(to.Host, func(r rune) bool { return r >= 0x80 || r == '%' }) {
		return anywhere
	}
	return spelling(to)
}

// isHop reports whether u is the target of a redirect.
func isHop(hop, u string) bool {
	if hop == "" || hop == anywhere {
		return hop == anywhere
	}
	to, err := url.Parse(escapePercent(u))
	return err == nil && spelling(to) == hop
}

// spelling returns a URL in a canonical form, equal for all its spellings.
func spelling(u *url.URL) string {
	port := ":" + u.Port()
	switch {
	case port != ":":
	case u.Scheme == "http":
		port = ":80"
	default:
		port = ":443"
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + port + canon(path) + "?" + canon(u.RawQuery)
}

// escapePercent escapes every percent sign that does not begin an escape, which net/url refuses.
func escapePercent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		if s[i] == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])) {
			b.WriteString("25")
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
