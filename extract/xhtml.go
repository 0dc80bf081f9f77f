package extract

import "strings"

// The following functions are the parts of the scanner that differ for XML. Offsets have the same meaning as in scan.go.

const cdata = "<![CDATA["

// missing records marks that do not occur in the rest of the page, so that each is searched to the end of the page only once.
type missing struct {
	instruction, section, doctype bool
	endTag                        [elements]bool
}

// xmlText implements rawText for XML. An end tag in a CDATA section is text. The content of an element that is never closed is read as
// markup.
func (s *Scanner) xmlText(el element, name string, pos int) int {
	if s.none.endTag[el] {
		return pos
	}
	end := s.xmlTextEnd(name, pos)
	if end < 0 {
		s.none.endTag[el] = true
		return pos
	}
	if end > pos {
		s.c.raw(el, value{s: xmlCharacters(s.page[pos:end])})
	}
	return end
}

// xmlTextEnd finds the end tag of name outside CDATA sections, or returns -1 if there is none.
func (s *Scanner) xmlTextEnd(name string, pos int) int {
	for {
		n := strings.IndexByte(s.page[pos:], '<')
		if n < 0 {
			return -1
		}
		pos += n
		if isEndTag(s.page, pos+1, name) {
			return pos
		}
		if next := s.sectionEnd(pos); next > 0 {
			pos = next
		} else {
			pos++
		}
	}
}

// sectionEnd returns the offset after the CDATA section that begins at lt, or 0 if there is none.
func (s *Scanner) sectionEnd(lt int) int {
	if s.none.section || !strings.HasPrefix(s.page[lt:], cdata) {
		return 0
	}
	end := after(s.page, lt, "]]>")
	s.none.section = end < 0
	return max(0, end)
}

// xmlCharacters returns the character data of s: references are decoded, except in CDATA sections.
func xmlCharacters(s string) string {
	if !strings.ContainsAny(s, "&<\r\x00") {
		return s
	}
	var text []byte
	for s != "" {
		before, section, found := strings.Cut(s, cdata)
		text = appendDecoded(text, before, false)
		s = ""
		if found {
			section, s, _ = strings.Cut(section, "]]>")
			text = append(text, section...)
		}
	}
	return string(text)
}

// xmlDeclarationEnd finds the end of a processing instruction or a document type declaration. It returns 0 if there
// is none.
func (s *Scanner) xmlDeclarationEnd(lt int) int {
	end := -1
	switch {
	case !s.none.instruction && strings.HasPrefix(s.page[lt:], "<?"):
		end = after(s.page, lt, "?>")
		s.none.instruction = end < 0
	case !s.none.doctype && hasPrefixFold(s.page[lt:], "<!doctype"):
		end = doctypeEnd(s.page, lt+len("<!doctype"))
		s.none.doctype = true // further ones are not searched for, because a page has at most one
	}
	return max(0, end)
}

// doctypeEnd finds the ">" that is neither in quotes nor in brackets, which enclose the declarations of the
// internal subset (XML 1.0 section 2.8).
func doctypeEnd(page string, pos int) int {
	subset := false
	for pos < len(page) {
		n := strings.IndexAny(page[pos:], "<>[]\"'")
		if n < 0 {
			return 0
		}
		pos += n
		switch c := page[pos]; {
		case c == '[' || c == ']':
			subset = c == '['
		case c == '>' && !subset:
			return pos + 1
		case c == '"' || c == '\'':
			n := strings.IndexByte(page[pos+1:], c)
			if n < 0 {
				return 0
			}
			pos += n + 1
		case strings.HasPrefix(page[pos:], "<!--"):
			if pos = commentEnd(page, pos+len("<!--")); pos < 0 {
				return 0
			}
			continue
		}
		pos++
	}
	return 0
}
