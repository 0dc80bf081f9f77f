// Package extract finds the links of a document and what else a crawler must read from it: the base address, robots
// directives, title and canonical address. It follows nothing itself.
//
// [HTML] reads a page in one pass over its bytes and builds no tree; [Scanner] does the same and reuses its memory
// between pages. [Feed], [CSS], [Sitemap] and [LinkHeader] read the other places that contain links. [Tree] is for
// programs that need elements rather than links.
//
// Everything here accepts hostile input: no input causes a panic, the work is linear in the size of the input, and
// what is kept is bounded by [Options] and by the size of the input.
//
// The input is UTF-8 text: the charset of a page must have been decoded before.
//
// Reading order: extract.go and options.go for what is found; html.go and scan.go for how a page is read, and
// collector.go for what its tags mean; then feed.go, sitemap.go, css.go and linkheader.go, which are independent of
// each other.
package extract

// Link is one reference, as written in the document.
type Link struct {
	// Ref is the value with character references decoded and without surrounding control characters and blanks (URL
	// Standard, basic URL parser, step 1), not yet resolved. It can be empty only for an Anchor or Area, where it
	// means the document itself.
	Ref    string
	Kind   Kind
	Tag    string // lower case; "" for a header field or a stylesheet
	Attr   string // lower case; "" for a header field or the text of an element
	Rel    Rel    // of a, area, link, an Atom link or a Link header field
	Text   string // of the link, white space collapsed; cut to 256 bytes
	Type   string // the media type that the document declares for the target, as written; of link elements and the like
	Offset int    // of the tag in the body, in bytes; of the reference in a stylesheet
}

// Resource reports whether the link names a part of the page rather than another page: an image, a script, a
// stylesheet or a font.
func (l Link) Resource() bool {
	if l.Kind == LinkRel {
		return l.Rel&(Stylesheet|Icon|Preload|ModulePreload|Manifest) != 0
	}
	return !l.Kind.Navigation()
}

// Meta is one META element that has a name or http-equiv attribute.
type Meta struct {
	Name    string // lower case; the http-equiv if there is no name
	Content string
}

// Document is what was read from one page.
type Document struct {
	// Base is the href of the first base element that has one, as written. It is "" if there is none, or if its
	// scheme is data or javascript, which browsers ignore by the HTML Standard. It applies to every link of the
	// document, including those before it (HTML Standard section 2.4.3), and is itself resolved against the
	// document's address.
	Base      string
	Title     string // of the first title element, white space collapsed
	Canonical string // href of the first link with rel=canonical, as written
	Lang      string // of the html element
	Metas     []Meta // at most 1,000
	Links     []Link // in document order
	Dropped   int    // number of links beyond the limit
}
