package extract

import "strings"

// MetaRefresh parses the content of a meta refresh, or of a Refresh header field, as a browser does (HTML Standard
// section 4.2.5.3, shared declarative refresh steps). ok reports whether it is valid; ref is "" if it reloads the
// document itself.
func MetaRefresh(content string) (ref string, ok bool) {
	s := strings.TrimLeft(content, spaces)
	rest := strings.TrimLeft(s, "0123456789")
	if len(rest) == len(s) && !strings.HasPrefix(s, ".") {
		return "", false
	}
	rest = strings.TrimLeft(rest, "0123456789.")
	if rest == "" {
		return "", true
	}
	if c := rest[0]; c != ';' && c != ',' && !isSpace(c) {
		return "", false
	}
	rest = strings.TrimLeft(rest, spaces)
	if rest != "" && (rest[0] == ';' || rest[0] == ',') {
		rest = rest[1:]
	}
	return trimRef(refreshURL(strings.TrimLeft(rest, spaces))), true
}

const spaces = " \t\n\f\r"

// refreshURL removes the "url=" and the quotes.
func refreshURL(s string) string {
	if s == "" {
		return ""
	}
	if s[0]|0x20 == 'u' {
		if !hasPrefixFold(s, "url") {
			return s
		}
		value, ok := strings.CutPrefix(strings.TrimLeft(s[len("url"):], spaces), "=")
		if !ok {
			return s
		}
		s = strings.TrimLeft(value, spaces)
	}
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		s, _, _ = strings.Cut(s[1:], s[:1])
	}
	return s
}
