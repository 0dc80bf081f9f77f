// Package extract finds the links of a document and what else a crawler must read from it: the base
// address, robots directives, title and canonical address. It never follows anything itself.
//
// [HTML] reads a page in one pass over its octets and builds no tree; [Scanner] does the same with
// its memory kept between pages. [Feed], [CSS], [Sitemap] and [LinkHeader] read the other places
// where links stand. [Tree] is for those who want elements and not links.
//
// Everything here takes hostile input: no input makes it panic, work is linear in the input's size,
// and what is kept is bounded by [Options] and by the size of the input.
//
// The input is UTF-8 text: decoding a page's charset comes before.
package extract

// Link is one reference, as written in the document.
type Link struct {
	// Ref is the value, character references decoded, without the control characters and blanks
	// around it (URL Standard, basic URL parser, step 1), not yet resolved. It may be empty only for
	// an Anchor or Area, where it means the document itself.
	Ref    string
	Kind   Kind
	Tag    string // lower case; "" for a header field or a stylesheet
	Attr   string // lower case; "" for a header field or an element's text
	Rel    Rel    // of a, area, link, an Atom link or a Link header field
	Text   string // of the link, white space collapsed; cut to 256 octets
	Type   string // the media type the document names for the target, as written; of link and the like
	Offset int    // of the tag in the body, in octets; of the reference in a stylesheet
}

// Resource reports whether the link names a part of the page rather than another page: an image, a
// script, a stylesheet, a font.
func (l Link) Resource() bool {
	if l.Kind == LinkRel {
		return l.Rel&(Stylesheet|Icon|Preload|ModulePreload|Manifest) != 0
	}
	return !l.Kind.Navigation()
}

// Meta is one META element with a name, or with http-equiv.
type Meta struct {
	Name    string // lower case; of http-equiv when there is no name
	Content string
}

// Document is what was read from one page.
type Document struct {
	// Base is the href of the first base element that has one, as written; "" without, or where it
	// has the scheme data or javascript, which the HTML Standard has a browser ignore. It is the base
	// of every link of the document, those before it too (HTML Standard section 2.4.3), and is itself
	// resolved against the document's address.
	Base      string
	Title     string // of the first title element, white space collapsed
	Canonical string // href of the first link rel=canonical, as written
	Lang      string // of the html element
	Metas     []Meta // at most 1,000
	Links     []Link // in the order of the document
	Dropped   int    // links beyond the limit
}
