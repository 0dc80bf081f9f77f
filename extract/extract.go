// Package extract finds the links of a document and what else a crawler must read from it: the base
// address, robots directives, title and canonical address. It never follows anything itself.
package extract

// Kind is where in a document a link stands.
type Kind uint8

// The kinds. Navigation kinds are Anchor, Area, Frame and Refresh; the rest are a page's resources
// or statements about it.
const (
	Anchor  Kind = iota // a href
	Area                // area href
	Frame               // frame and iframe src
	LinkRel             // link href; see Link.Rel
	Refresh             // meta http-equiv=refresh
)

// Rel is a set of link types of a rel attribute.
type Rel uint32

// The link types a crawler acts on (HTML Standard section 4.6.7; ugc and sponsored by the search
// engines' usage).
const (
	NoFollow Rel = 1 << iota
	UGC
	Sponsored
	Canonical
	Alternate
	Next
	Prev
	Stylesheet
	Icon
	Other // any other word
)

// Link is one reference, as written in the document.
type Link struct {
	Ref    string // the attribute's value, character references decoded, not yet resolved
	Kind   Kind
	Tag    string // lower case
	Attr   string // lower case
	Rel    Rel
	Text   string // of the link, white space collapsed; cut to 256 octets
	Offset int    // of the tag in the body, in octets
}

// Meta is one META element with a name, or with http-equiv.
type Meta struct {
	Name    string // lower case; of http-equiv when there is no name
	Content string
}

// Document is what was read from one page.
type Document struct {
	Base      string // href of the first base element with one, as written; "" without
	Title     string
	Canonical string // href of link rel=canonical, as written
	Lang      string // of the html element
	Metas     []Meta
	Links     []Link
	Dropped   int // links beyond the limit
}
