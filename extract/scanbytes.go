package extract

import (
	"strings"
	"unsafe"
)

// ScanBytes is like Scan, for a buffer that its owner will reuse: no string of the Document is part of page, which may be overwritten as
// soon as ScanBytes returns. It does not copy the page, but makes one allocation for all strings, which for most pages has a tenth of the
// page's size. The strings share this memory: use [strings.Clone] for strings that outlive the Document.
func (s *Scanner) ScanBytes(page []byte) *Document {
	s.own(unsafe.String(unsafe.SliceData(page), len(page)))
	m := mover{page: page}
	m.each(&s.doc, m.measure)
	m.to.Grow(m.size)
	m.each(&s.doc, m.move)
	s.leave()
	return &s.doc
}

// leave drops all references to the memory of the page.
func (s *Scanner) leave() {
	s.page = ""
	s.t = startTag{data: s.t.data}
	clear(s.t.data)
	s.c.linkText.first = value{}
}

// mover copies the strings of a Document that are parts of its page.
type mover struct {
	page []byte
	size int
	to   strings.Builder
}

// each calls f for every string of d that may be part of the page.
func (m *mover) each(d *Document, f func(*string)) {
	f(&d.Base)
	f(&d.Title)
	f(&d.Canonical)
	f(&d.Lang)
	for i := range d.Metas {
		f(&d.Metas[i].Name)
		f(&d.Metas[i].Content)
	}
	for i := range d.Links {
		l := &d.Links[i]
		f(&l.Ref)
		f(&l.Tag)
		f(&l.Attr)
		f(&l.Text)
		f(&l.Type)
	}
}

// within reports whether s is part of the page. Names of tags are constants of the program, and decoded text is in other memory.
func (m *mover) within(s string) bool {
	if s == "" || len(m.page) == 0 {
		return false
	}
	at, begin := uintptr(unsafe.Pointer(unsafe.StringData(s))), uintptr(unsafe.Pointer(unsafe.SliceData(m.page)))
	return at >= begin && at < begin+uintptr(len(m.page))
}

func (m *mover) measure(s *string) {
	if m.within(*s) {
		m.size += len(*s)
	}
}

func (m *mover) move(s *string) {
	if !m.within(*s) {
		return
	}
	n := m.to.Len()
	m.to.WriteString(*s)
	*s = m.to.String()[n:]
}
