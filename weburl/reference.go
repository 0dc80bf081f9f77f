package weburl

import "strings"

// tidy prepares a reference for the parser: it removes blanks at both ends, tabs and newlines anywhere, and the fragment (WHATWG URL
// Standard, section 4.4, steps 1 to 3; in an http URL every "#" begins the fragment). It allocates only if there are tabs or newlines in it.
func tidy(ref string) string {
	for len(ref) > 0 && ref[0] <= ' ' {
		ref = ref[1:]
	}
	for len(ref) > 0 && ref[len(ref)-1] <= ' ' {
		ref = ref[:len(ref)-1]
	}
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		ref = ref[:i]
	}
	for i := range len(ref) {
		if classes[ref[i]]&blank != 0 {
			return dropBlanks(ref)
		}
	}
	return ref
}

func dropBlanks(s string) string {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if classes[s[i]]&blank == 0 {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// cutScheme cuts a scheme and its colon off a reference; scheme is "" if it has none. A scheme other than http and
// https is returned as written.
func cutScheme(ref string) (scheme, rest string) {
	for i := range len(ref) {
		switch c := lower(ref[i]); {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return canonicalScheme(ref[:i]), ref[i+1:]
		default:
			return "", ref
		}
	}
	return "", ref
}

func canonicalScheme(s string) string {
	switch {
	case s == "https" || s == "http":
	case strings.EqualFold(s, "http"):
		return "http"
	case strings.EqualFold(s, "https"):
		return "https"
	}
	return s
}

// separators returns the number of slashes and backslashes at the beginning of s.
func separators(s string) int {
	n := 0
	for n < len(s) && classes[s[n]]&separator != 0 {
		n++
	}
	return n
}

// authorityEnd returns the index at which the path or the query begins in a text that begins with an authority.
func authorityEnd(s string) int {
	for i := range len(s) {
		if classes[s[i]]&separator != 0 || s[i] == '?' {
			return i
		}
	}
	return len(s)
}
