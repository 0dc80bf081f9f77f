package extract

import "strings"

// run reads the page tag by tag (HTML Standard section 13.2.5). Everything between tags is text, including a "<" that does not begin a
// tag.
func (s *Scanner) run() {
	page := s.page
	text := 0
	for pos := 0; ; {
		n := strings.IndexByte(page[pos:], '<')
		if n < 0 || pos+n+1 >= len(page) {
			s.text(text, len(page))
			return
		}
		lt := pos + n
		switch c := page[lt+1]; {
		case isLetter(c):
			s.text(text, lt)
			pos = s.startTag(lt)
		case c == '/':
			s.text(text, lt)
			pos = s.endTag(lt)
		case c == '!' || c == '?':
			s.text(text, lt)
			pos = s.declaration(lt)
		default:
			pos = lt + 1
			continue
		}
		if pos < 0 {
			return
		}
		text = pos
	}
}

// text passes the text between two offsets to the collector.
func (s *Scanner) text(from, to int) {
	if from < to && s.c.wantsText() {
		s.c.text(value{s: s.page[from:to], raw: true})
	}
}

// The following methods read an item that begins at an offset and return the offset after it. At the end of the page they return -1, and
// an incomplete tag is dropped.

// declaration reads a comment, a doctype, a CDATA section, or text that a browser treats as a comment.
func (s *Scanner) declaration(lt int) int {
	if strings.HasPrefix(s.page[lt:], "<!--") {
		return commentEnd(s.page, lt+len("<!--"))
	}
	if s.c.o.XML {
		if end := s.xmlDeclarationEnd(lt); end > 0 {
			return end
		}
	}
	if (s.c.o.XML || s.c.foreign.cdata()) && strings.HasPrefix(s.page[lt:], cdata) {
		return s.cdata(lt + len(cdata))
	}
	return after(s.page, lt+len("<!"), ">")
}

func (s *Scanner) cdata(pos int) int {
	n := strings.Index(s.page[pos:], "]]>")
	end, next := pos+n, pos+n+len("]]>")
	if n < 0 {
		end, next = len(s.page), -1
	}
	s.c.text(value{s: s.page[pos:end]})
	return next
}

// commentEnd finds the end of a comment whose data begins at pos (HTML Standard section 13.2.5.43 and following):
// "-->" or "--!>", or an immediate ">" or "->".
func commentEnd(page string, pos int) int {
	for i := pos; ; {
		n := strings.IndexByte(page[i:], '>')
		if n < 0 {
			return -1
		}
		data := page[pos : i+n]
		if data == "" || data == "-" || strings.HasSuffix(data, "--") || strings.HasSuffix(data, "--!") {
			return i + n + 1
		}
		i += n + 1
	}
}

// after returns the offset after the next occurrence of mark, or -1.
func after(page string, pos int, mark string) int {
	n := strings.Index(page[pos:], mark)
	if n < 0 {
		return -1
	}
	return pos + n + len(mark)
}

func (s *Scanner) endTag(lt int) int {
	pos := lt + len("</")
	if pos >= len(s.page) {
		s.text(lt, pos)
		return -1
	}
	if !isLetter(s.page[pos]) {
		return after(s.page, pos, ">")
	}
	end := nameEnd(s.page, pos)
	next := s.skipAttrs(end)
	if next < 0 {
		return -1
	}
	name := s.page[pos:end]
	if el := elementNamed(name); el != elOther || s.c.foreign.active() {
		s.c.end(el, name)
	}
	return next
}

func (s *Scanner) startTag(lt int) int {
	end := nameEnd(s.page, lt+1)
	name := s.page[lt+1 : end]
	el := elementNamed(name)
	foreign := s.c.foreign.active()
	if el == elOther && !s.all && !foreign {
		return s.skipAttrs(end)
	}
	t := &s.t
	t.reset()
	t.el, t.name, t.offset = el, name, lt
	var next int
	if s.attrs[el] || foreign || s.c.o.XML {
		next = s.readAttrs(end)
	} else {
		next = s.skipAttrs(end)
	}
	if next < 0 {
		return -1
	}
	if !s.c.start(t) {
		return next
	}
	return s.rawText(t.el, name, next)
}

// nameEnd returns the offset at which the tag name at pos ends.
func nameEnd(page string, pos int) int {
	for pos < len(page) && class[page[pos]]&endsName == 0 {
		pos++
	}
	return pos
}

// Classes of bytes, for the loops of the scanner.
const (
	space     = 1 << iota // ASCII white space
	endsName              // ends the name of a tag
	endsKey               // ends the name of an attribute
	endsValue             // ends the value of an attribute without quotes
	encoded               // occurs only in values that must be decoded
)

// class has the classes of each byte.
var class = [256]uint8{
	' ': space | endsName | endsKey | endsValue, '\t': space | endsName | endsKey | endsValue,
	'\n': space | endsName | endsKey | endsValue, '\f': space | endsName | endsKey | endsValue,
	'\r': space | endsName | endsKey | endsValue | encoded,
	'/':  endsName | endsKey, '>': endsName | endsKey | endsValue, '=': endsKey,
	'&': encoded, 0: encoded,
}

// startTag holds those parts of a start tag that the collector uses.
type startTag struct {
	el     element
	name   string // name as written
	offset int
	closed bool // the tag ends in "/>"
	has    uint32
	vals   [atOther]value
	data   []value // values of Options.DataAttrs, by index
}

// value is an attribute's value or a piece of text.
type value struct {
	s   string
	raw bool // the value is as written: references, NUL and CR are not decoded
	set bool // in startTag.data: the attribute is present
	big bool // the value is longer than Options.MaxAttr
}

// reset prepares t for the next tag.
func (t *startTag) reset() {
	t.has, t.closed = 0, false
	clear(t.data)
}

// put stores the value of a known attribute. The first attribute of each name applies (HTML Standard section 13.2.5.33).
func (t *startTag) put(a attribute, v value) {
	if t.has&(1<<a) == 0 {
		t.has |= 1 << a
		t.vals[a] = v
	}
}

// putData stores the value of an attribute in Options.DataAttrs.
func (t *startTag) putData(i int, v value) {
	if !t.data[i].set {
		v.set = true
		t.data[i] = v
	}
}

// attr returns the value of an attribute if it is present and not too long.
func (t *startTag) attr(a attribute) (value, bool) {
	if t.has&(1<<a) == 0 || t.vals[a].big {
		return value{}, false
	}
	return t.vals[a], true
}

// decoded returns a copy of the value as a string, for the few values that are compared outside a collector.
func (v value) decoded() string {
	if !v.raw {
		return v.s
	}
	return string(appendDecoded(nil, v.s, true))
}
