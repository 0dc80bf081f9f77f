package extract

import (
	"strings"
)

// attrScan is a reader of a tag's attributes, with the position of the current one.
type attrScan struct {
	name, nameEnd   int
	value, valueEnd int
	bare            bool // the value has no quotes
}

// next finds the attribute at or after pos (HTML Standard section 13.2.5.32 and following). It returns the offset after the attribute. If
// found is false, it returns the offset of the tag's ">", or -1 at the end of the page.
func (a *attrScan) next(page string, pos int) (next int, found bool) {
	for pos < len(page) && (class[page[pos]]&space != 0 || page[pos] == '/') {
		pos++
	}
	if pos >= len(page) {
		return -1, false
	}
	if page[pos] == '>' {
		return pos, false
	}
	a.name = pos
	pos++ // the first character belongs to the name, even "="
	for pos < len(page) && class[page[pos]]&endsKey == 0 {
		pos++
	}
	a.nameEnd, a.value, a.valueEnd, a.bare = pos, pos, pos, false
	pos = skipSpace(page, pos)
	if pos >= len(page) || page[pos] != '=' {
		return pos, true
	}
	return a.readValue(page, skipSpace(page, pos+1)), true
}

// readValue reads the value that begins at pos.
func (a *attrScan) readValue(page string, pos int) int {
	if pos >= len(page) {
		return pos
	}
	switch quote := page[pos]; quote {
	case '>':
		return pos
	case '"', '\'':
		n := strings.IndexByte(page[pos+1:], quote)
		if n < 0 {
			return len(page)
		}
		a.value, a.valueEnd = pos+1, pos+1+n
		return a.valueEnd + 1
	}
	a.value, a.bare = pos, true
	for pos < len(page) && class[page[pos]]&endsValue == 0 {
		pos++
	}
	a.valueEnd = pos
	return pos
}

func skipSpace(page string, pos int) int {
	for pos < len(page) && class[page[pos]]&space != 0 {
		pos++
	}
	return pos
}

// skipAttrs returns the offset after a tag whose attributes begin at pos.
func (s *Scanner) skipAttrs(pos int) int {
	var a attrScan
	found := true
	for found {
		pos, found = a.next(s.page, pos)
	}
	if pos < 0 {
		return -1
	}
	return pos + 1
}

// readAttrs is like skipAttrs and stores the attributes in s.t.
func (s *Scanner) readAttrs(pos int) int {
	var a attrScan
	pos, found := a.next(s.page, pos)
	for found {
		s.keep(&a)
		pos, found = a.next(s.page, pos)
	}
	if pos < 0 {
		return -1
	}
	slash := s.page[pos-1] == '/'
	bare := a.bare && a.valueEnd == pos
	s.t.closed = slash && !bare
	if slash && bare {
		s.departed++ // the tokenizer takes the "/" at the end of an unquoted value for that of an empty element
	}
	return pos + 1
}

// keep stores an attribute that the collector uses or that Options.DataAttrs names.
func (s *Scanner) keep(a *attrScan) {
	name := s.page[a.name:a.nameEnd]
	if at := attributeNamed(name); at != atOther {
		s.t.put(at, s.value(a))
	}
	for i, want := range s.c.o.DataAttrs {
		if equalFold(name, want) {
			s.t.putData(i, s.value(a))
		}
	}
}

// value returns the value of an attribute, not decoded.
func (s *Scanner) value(a *attrScan) value {
	v := value{s: s.page[a.value:a.valueEnd]}
	if len(v.s) > s.c.o.MaxAttr {
		return value{big: true}
	}
	for i := range len(v.s) {
		if class[v.s[i]]&encoded != 0 {
			v.raw = true
			break
		}
	}
	return v
}

// resource adds links for the resources that an HTML element loads.
func (c *collector) resource(t *startTag) {
	switch t.el {
	case elImg, elImage:
		c.simple(t, Image, "img", "src", atSrc)
		c.srcsetAttr(t, "img")
	case elInput:
		c.inputImage(t)
	case elSource:
		c.simple(t, Media, "source", "src", atSrc)
		c.srcsetAttr(t, "source")
	case elScript:
		c.simple(t, Script, "script", "src", atSrc)
	case elAudio:
		c.simple(t, Media, "audio", "src", atSrc)
	case elVideo:
		c.simple(t, Media, "video", "src", atSrc)
		c.simple(t, Image, "video", "poster", atPoster)
	case elTrack:
		c.simple(t, Media, "track", "src", atSrc)
	case elObject:
		c.simple(t, Object, "object", "data", atData)
	case elEmbed:
		c.simple(t, Object, "embed", "src", atSrc)
	case elBackground:
		if t.has&(1<<atBackground) != 0 {
			c.simple(t, Image, tagName(t), "background", atBackground)
		}
	}
}

func (c *collector) inputImage(t *startTag) {
	if v, ok := t.attr(atType); ok && equalFold(c.str(v), "image") {
		c.simple(t, Image, "input", "src", atSrc)
	}
}

func (c *collector) srcsetAttr(t *startTag, tag string) {
	if v, ok := t.attr(atSrcset); ok {
		c.srcset(t, tag, "srcset", v)
	}
}

// srcset adds links for the candidates of a srcset attribute.
func (c *collector) srcset(t *startTag, tag, name string, v value) {
	rest := c.str(v)
	for rest != "" {
		var ref string
		ref, rest = cutSrcset(rest)
		c.addRef(ref, Image, tag, name, t)
	}
}

// styleAttr adds links for the references in a style attribute.
func (c *collector) styleAttr(t *startTag) {
	if !c.o.Resources {
		return
	}
	if v, ok := t.attr(atStyle); ok {
		c.css(c.str(v), cssPlace{tag: tagName(t), attr: "style", offset: t.offset})
	}
}

// cutSrcset returns the URL of the first candidate of a srcset (HTML Standard, "parse a srcset attribute"), and the text after the
// candidate's descriptors.
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
