package extract

import "strings"

// HTML reads a page: UTF-8 text, of a document of type text/html or, with Options.XML, application/xhtml+xml. It never fails, and ignores
// comments, scripts, raw text and templates. In text/html it finds the tags that the tokenizer of golang.org/x/net/html finds; where that
// differs from the HTML Standard, it follows the Standard. The result shares no memory with body, but its strings may share one copy of
// it: use [strings.Clone] for strings that outlive the Document.
func HTML(body []byte, o Options) *Document {
	doc := &Document{Links: make([]Link, 0, min(len(body)/512, 128))}
	s := NewScanner(o)
	s.scan(string(body), doc)
	return doc
}

// Scanner reads pages as HTML does and reuses its memory: after a few pages it allocates only once per kilobyte of values that must be
// decoded. It is not safe for concurrent use; programs can use a pool of Scanners.
type Scanner struct {
	page string
	c    collector
	t    startTag
	doc  Document
	used int // maximum number of links of a Document since the last Reset

	attrs    [elements]bool // elements whose attributes are read
	all      bool           // attributes of unknown elements are read, too
	departed int            // number of places at which the tokenizer of x/net/html deviates from the Standard
	none     missing        // used only for XML
}

// NewScanner returns a Scanner that uses the options for all its pages.
func NewScanner(o Options) *Scanner {
	s := new(Scanner)
	s.c.o = o.resolved()
	s.t.data = make([]value, len(o.DataAttrs))
	s.all = o.Resources || len(o.DataAttrs) > 0
	for el := range s.attrs {
		s.attrs[el] = s.all || element(el).navigates()
	}
	return s
}

// Scan reads a page. The Document is valid until the next call of Scan or Reset. Its strings are parts of page or of the Scanner's
// memory, and remain valid.
func (s *Scanner) Scan(page string) *Document {
	s.own(page)
	return &s.doc
}

// own reads a page into the Scanner's own Document.
func (s *Scanner) own(page string) {
	s.scan(page, &s.doc)
	s.used = max(s.used, len(s.doc.Links))
}

// Reset drops the references to the last page and its Document, so that a Scanner in a pool does not keep them in memory.
func (s *Scanner) Reset() {
	clear(s.doc.Links[:s.used])
	s.used = 0
	clear(s.doc.Metas[:cap(s.doc.Metas)])
	s.doc = Document{Links: s.doc.Links[:0], Metas: s.doc.Metas[:0]}
	s.page = ""
	s.t = startTag{data: s.t.data}
	clear(s.t.data)
	s.c.release()
}

func (s *Scanner) scan(page string, doc *Document) {
	s.page, s.departed, s.none = page, 0, missing{}
	s.c.reset(doc)
	s.run()
	s.c.endText()
}

// MetaRefresh parses the content of a meta refresh, or of a Refresh header field, as a browser does (HTML Standard section 4.2.5.3,
// shared declarative refresh steps). ok reports whether content is valid. ref is "" if it reloads the document itself.
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

// refreshURL removes "url=" and quotes.
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
