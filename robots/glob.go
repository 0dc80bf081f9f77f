package robots

import "strings"

// glob reports whether s matches tail, the part of a pattern from its first star on: each star stands for any bytes, and s may
// have a rest unless anchored. Every piece between stars is matched where it first occurs, which is right because a later
// place leaves less for the rest. So the time is linear in len(tail) + len(s).
func glob(tail, s string, anchored bool) bool {
	for tail != "" {
		tail = tail[1:]
		star := strings.IndexByte(tail, '*')
		if star < 0 {
			if anchored {
				return strings.HasSuffix(s, tail)
			}
			return strings.Contains(s, tail)
		}
		at := strings.Index(s, tail[:star])
		if at < 0 {
			return false
		}
		s, tail = s[at+star:], tail[star:]
	}
	return !anchored || s == ""
}

// collapse makes every run of stars in a pattern one star.
func collapse(pattern string) string {
	if !strings.Contains(pattern, "**") {
		return pattern
	}
	b := make([]byte, 0, len(pattern))
	for i := range len(pattern) {
		if pattern[i] != '*' || i == 0 || pattern[i-1] != '*' {
			b = append(b, pattern[i])
		}
	}
	return string(b)
}
