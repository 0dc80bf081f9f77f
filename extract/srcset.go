package extract

import "strings"

// cutSrcset cuts the address of the first candidate off a srcset (HTML Standard, "parse a srcset attribute") and
// returns what follows its descriptors.
func cutSrcset(s string) (ref, rest string) {
	s = strings.TrimLeft(s, spaces+",")
	n := strings.IndexAny(s, spaces)
	if n < 0 {
		n = len(s)
	}
	ref, rest = s[:n], s[n:]
	if trimmed := strings.TrimRight(ref, ","); len(trimmed) < len(ref) {
		return trimmed, rest
	}
	return ref, skipDescriptors(rest)
}

// skipDescriptors removes everything before the next comma outside parentheses.
func skipDescriptors(s string) string {
	inside := false
	for i := range len(s) {
		switch {
		case s[i] == '(':
			inside = true
		case s[i] == ')':
			inside = false
		case s[i] == ',' && !inside:
			return s[i+1:]
		}
	}
	return ""
}
