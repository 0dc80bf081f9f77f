package extract

// isSpace reports whether c is ASCII white space (Infra Standard section 4.6).
func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'
}

func isLetter(c byte) bool {
	c |= 0x20
	return 'a' <= c && c <= 'z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isAlnum(c byte) bool { return isLetter(c) || isDigit(c) }

// lower appends s in lower case to the empty dst. If s does not fit into dst, lower returns one NUL, which equals no name, because s is
// longer than all names that are looked up.
func lower(dst []byte, s string) []byte {
	if len(s) > cap(dst) {
		return append(dst, 0)
	}
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}

// lowered returns s in lower case. If s is in lower case, it returns s itself.
func lowered(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			return string(lower(make([]byte, 0, len(s)), s))
		}
	}
	return s
}

// hasPrefixFold reports whether s begins with prefix, ignoring case; prefix is in lower case.
func hasPrefixFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != prefix[i] {
			return false
		}
	}
	return true
}

// equalFold reports whether s equals word, ignoring case; word is in lower case.
func equalFold(s, word string) bool { return len(s) == len(word) && hasPrefixFold(s, word) }

// trimSpace cuts ASCII white space off both ends.
func trimSpace(s string) string {
	for len(s) > 0 && isSpace(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// trimRef trims the characters that the URL Standard's basic URL parser trims first: C0 control characters and spaces.
func trimRef(s string) string {
	for len(s) > 0 && s[0] <= ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}
