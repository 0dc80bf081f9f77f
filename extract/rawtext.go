package extract

import "strings"

// rawText reads the content of an element that is text up to its end tag. It returns the offset of the end tag.
func (s *Scanner) rawText(el element, name string, pos int) int {
	end := len(s.page)
	switch {
	case s.c.o.XML:
		return s.xmlText(el, name, pos)
	case el == elPlaintext:
	case el == elScript:
		end = s.scriptEnd(pos)
	default:
		end = rawEnd(s.page, pos, name)
	}
	if end > pos {
		s.c.raw(el, value{s: s.page[pos:end], raw: el == elTitle || el == elTextarea})
	}
	return end
}

// rawEnd finds the end tag of name.
func rawEnd(page string, pos int, name string) int {
	for {
		n := strings.IndexByte(page[pos:], '<')
		if n < 0 {
			return len(page)
		}
		pos += n + 1
		if isEndTag(page, pos, name) {
			return pos - 1
		}
	}
}

// isEndTag reports whether an end tag of name begins at pos, which is after a "<".
func isEndTag(page string, pos int, name string) bool {
	return pos < len(page) && page[pos] == '/' && isTagName(page, pos+1, name)
}

// isTagName reports whether name, in any case, is at pos and ends there.
func isTagName(page string, pos int, name string) bool {
	end := pos + len(name)
	return end < len(page) && class[page[end]]&endsName != 0 && sameFold(page[pos:end], name)
}

// sameFold reports whether two strings of equal length are equal apart from the case of ASCII letters.
func sameFold(a, b string) bool {
	for i := range len(a) {
		if a[i] != b[i] && (a[i]|0x20 != b[i]|0x20 || !isLetter(a[i])) {
			return false
		}
	}
	return true
}

// scriptEnd finds the end tag of a script (HTML Standard sections 13.2.5.4 and 13.2.5.15 to 13.2.5.31): between
// "<!--" and "-->", an end tag that follows the start tag of a script is text.
func (s *Scanner) scriptEnd(pos int) int {
	page := s.page
	for pos >= 0 {
		n := strings.IndexByte(page[pos:], '<')
		if n < 0 {
			return len(page)
		}
		pos += n + 1
		if isEndTag(page, pos, "script") {
			return pos - 1
		}
		if strings.HasPrefix(page[pos:], "!--") {
			var end int
			if pos, end = s.escapedScript(pos + 1); end >= 0 {
				return end
			}
		}
	}
	return len(page)
}

// escapedScript reads a script from the dashes of its "<!--" on. It returns the offset after "-->", or the offset of the end tag if that
// comes first.
func (s *Scanner) escapedScript(pos int) (next, end int) {
	page, double := s.page, false
	for pos < len(page) {
		n := strings.IndexAny(page[pos:], "-<")
		if n < 0 {
			break
		}
		pos += n
		if page[pos] == '-' {
			if strings.HasPrefix(page[pos:], "-->") {
				return pos + len("-->"), -1
			}
			pos++
			continue
		}
		pos++
		switch {
		case isEndTag(page, pos, "script"):
			if !double {
				return 0, pos - 1
			}
			double = false
		case !double && isTagName(page, pos, "script"):
			double = true
		case !double && pos < len(page) && page[pos] != '/' && !isLetter(page[pos]):
			s.departed++ // the tokenizer of x/net/html ends the escaped part here
		}
	}
	return 0, len(page)
}
