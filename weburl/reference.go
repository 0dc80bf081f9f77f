package weburl

import "strings"

// tidy prepares a reference for the parser: blanks at both ends, tabs and newlines anywhere, and
// the fragment are gone (WHATWG URL Standard, section 4.4, steps 1 to 3; a "#" begins the fragment
// of an http URL wherever it stands). It allocates only where there are tabs or newlines inside.
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
		if octets[ref[i]]&blank != 0 {
			return dropBlanks(ref)
		}
	}
	return ref
}

func dropBlanks(s string) string {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if octets[s[i]]&blank == 0 {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// cutScheme cuts a scheme and its colon off a reference; scheme is "" if it has none. A scheme
// other than http and https comes as it is written.
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

// separators is the number of slashes and backslashes that s begins with.
func separators(s string) int {
	n := 0
	for n < len(s) && octets[s[n]]&separator != 0 {
		n++
	}
	return n
}

// authorityEnd is where the path or the query begins in a text that begins with an authority.
func authorityEnd(s string) int {
	for i := range len(s) {
		if octets[s[i]]&separator != 0 || s[i] == '?' {
			return i
		}
	}
	return len(s)
}
