package extract

import (
	"errors"
	"io"
)

// sitemapField identifies an element of an entry.
type sitemapField uint8

const (
	fieldNone sitemapField = iota
	fieldLoc
	fieldLastMod
	fieldChangeFreq
	fieldPriority
)

func fieldOf(name []byte) sitemapField {
	switch string(name) {
	case "loc":
		return fieldLoc
	case "lastmod":
		return fieldLastMod
	case "changefreq":
		return fieldChangeFreq
	case "priority":
		return fieldPriority
	}
	return fieldNone
}

// readXML reads to the end of the next entry that has a URL.
func (s *SitemapReader) readXML() (SitemapEntry, error) {
	for {
		t, err := s.xml.next()
		if err != nil {
			return s.xmlEnd(err)
		}
		switch t.kind {
		case xmlText, xmlCDATA:
			s.fieldText(t)
			continue
		case xmlStart, xmlEmpty:
			switch {
			case s.rooted:
			case isSitemapRoot(t.name):
				s.rooted = true
			case isFeedRoot(string(t.name)):
				s.rooted, s.feed = true, &feed{x: s.xml, doc: new(Document)}
				s.feed.token(t)
				return s.readFeed()
			default:
				return SitemapEntry{}, ErrNotSitemap
			}
		}
		s.endField()
		if e, ok := s.tag(t); ok {
			return e, nil
		}
	}
}

func isSitemapRoot(name []byte) bool {
	return string(name) == "urlset" || string(name) == "sitemapindex"
}

// readFeed reads to the end of the next entry that has a URL.
func (s *SitemapReader) readFeed() (SitemapEntry, error) {
	f := s.feed
	for {
		t, err := s.xml.next()
		if err != nil {
			f.endEntry()
		} else {
			f.token(t)
		}
		e, ended := f.entry, f.ended
		if ended {
			f.ended, f.first, f.doc.Links = false, 0, f.doc.Links[:0]
		}
		switch {
		case ended && e.Loc != "" && len(e.Loc) <= maxLoc:
			return e, nil
		case err != nil:
			return SitemapEntry{}, err
		}
	}
}

// xmlEnd returns the entry that was open at the end of the text, if any.
func (s *SitemapReader) xmlEnd(err error) (SitemapEntry, error) {
	if !s.rooted && errors.Is(err, io.EOF) {
		return SitemapEntry{}, ErrNotSitemap
	}
	return SitemapEntry{}, err
}

// tag processes a tag. It returns the entry if the tag ends one.
func (s *SitemapReader) tag(t xmlToken) (SitemapEntry, bool) {
	isSitemap := string(t.name) == "sitemap"
	if isSitemap || string(t.name) == "url" {
		done, e := s.open && s.entry.Loc != "", s.entry
		s.open = t.kind == xmlStart
		s.prefix = string(t.prefix)
		s.entry = SitemapEntry{Priority: defaultPriority, Sitemap: isSitemap}
		return e, done
	}
	// The loc of an image or a video has another prefix. It is not the page's loc.
	if s.open && t.kind == xmlStart && string(t.prefix) == s.prefix {
		s.field = fieldOf(t.name)
	}
	return SitemapEntry{}, false
}

// fieldText collects the open field's text.
func (s *SitemapReader) fieldText(t xmlToken) {
	if s.field != fieldNone && len(s.value) <= maxLoc {
		s.value = t.appendText(s.value)
	}
}

// endField stores the text of the open field. The first field of each name applies.
func (s *SitemapReader) endField() {
	if s.field == fieldNone {
		return
	}
	limit := maxField
	if s.field == fieldLoc {
		limit = maxLoc
	}
	text := ""
	if len(s.value) <= limit {
		text = trimSpace(string(s.value))
	}
	s.store(text)
	s.field, s.value = fieldNone, s.value[:0]
}

func (s *SitemapReader) store(text string) {
	switch {
	case s.field == fieldLoc && s.entry.Loc == "":
		s.entry.Loc = text
	case s.field == fieldLastMod && s.entry.LastMod == "":
		s.entry.LastMod = text
	case s.field == fieldChangeFreq && s.entry.ChangeFreq == "":
		s.entry.ChangeFreq = text
	case s.field == fieldPriority:
		s.entry.Priority = parsePriority(text)
	}
}
