package extract

import (
	"strings"
	"unsafe"
)

// ScanBytes is Scan for octets that their owner will use again: no string of the Document is a part of
// page, which may be overwritten as soon as ScanBytes returns. It costs one allocation for the strings
// there are, which is a tenth of most pages, in place of a copy of the page. The strings share it:
// [strings.Clone] what outlives the Document by long.
func (s *Scanner) ScanBytes(page []byte) *Document {
	s.own(unsafe.String(unsafe.SliceData(page), len(page)))
	m := mover{page: page}
	m.each(&s.doc, m.measure)
	m.to.Grow(m.size)
	m.each(&s.doc, m.move)
	s.leave()
	return &s.doc
}

// leave lets go of the page's octets, wherever the last tags and texts are still remembered.
func (s *Scanner) leave() {
	s.page = ""
	s.t = startTag{data: s.t.data}
	clear(s.t.data)
	s.c.first = value{}
}

// mover gives the strings of a Document that are parts of a page a place of their own.
type mover struct {
	page []byte
	size int
	to   strings.Builder
}

// each calls f for every string of d that can be a part of its page.
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

// within reports whether s is a part of the page: names of tags are the program's own, and what had
// to be decoded has its own place already.
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
