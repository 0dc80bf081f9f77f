// Package extract finds the links of a document and its other properties that a crawler needs: the base address, robots directives,
// title and canonical address. It makes no requests.
//
// [HTML] reads a page in one pass over its bytes and builds no tree; [Scanner] does the same and reuses its memory between pages. [Feed],
// [CSS], [Sitemap] and [LinkHeader] read other texts that contain links. [Tree] is for programs that need elements rather than links.
//
// Everything here accepts hostile input: no input causes a panic, the work is linear in the size of the input, and the size of the
// result is bounded by [Options] and by the size of the input.
//
// The input is UTF-8 text: the charset of a page must have been decoded before.
//
//	d := extract.HTML(body, extract.Options{})
//	for _, l := range d.Links {
//		fmt.Println(l.Kind, l.Ref, l.Rel) // Ref is as the page has it: resolve it against d.Base
//	}
package extract

// Link is one reference, as written in the document.
type Link struct {
	// Ref is the reference, not resolved, with character references decoded and without surrounding control characters and spaces (URL
	// Standard, basic URL parser, step 1). It can be empty only for an Anchor or Area, where it means the document itself.
	Ref    string
	Kind   Kind
	Tag    string // name in lower case; "" for a header field or a stylesheet
	Attr   string // name in lower case; "" for a header field or the text of an element
	Rel    Rel    // link types of a, area and link elements, of an Atom link or a Link header field
	Text   string // text of the link, with white space collapsed, cut to 256 bytes
	Type   string // media type that the document declares for the target, as written; "" if there is none
	Offset int    // byte offset of the tag in the body, or of the reference in a stylesheet
}

// Resource reports whether the link names a part of the page, such as an image, script, stylesheet or font, and not another page.
func (l Link) Resource() bool {
	if l.Kind == LinkRel {
		return l.Rel&(Stylesheet|Icon|Preload|ModulePreload|Manifest) != 0
	}
	return !l.Kind.Navigation()
}

// Meta is one META element that has a name or http-equiv attribute.
type Meta struct {
	Name    string // name in lower case; value of http-equiv if there is no name
	Content string
}

// Document holds the links and properties of one page.
type Document struct {
	// Base is the href of the first base element that has one, as written. It is "" if there is none, or if its scheme is data or
	// javascript, which browsers ignore according to the HTML Standard. It applies to every link of the document, including links before
	// it (HTML Standard section 2.4.3). It must be resolved against the document's URL.
	Base      string
	Title     string // text of the first title element, with white space collapsed
	Canonical string // href of the first link with rel=canonical, as written
	Lang      string // language of the html element, as written
	Metas     []Meta // at most 1,000 elements
	Links     []Link // in document order
	Dropped   int    // number of links beyond the limit
}

// Kind says where a link was found.
type Kind uint8

// The kinds of links.
const (
	Anchor  Kind = iota // a href
	Area                // area href
	Frame               // frame and iframe src
	LinkRel             // link href, an Atom link or a Link header field; see Link.Rel
	Refresh             // meta http-equiv=refresh, or a Refresh header field
	Image               // img, picture, input, SVG image; also srcset, poster, background
	Script              // script src
	Media               // video, audio, source and track; a feed's enclosure
	Object              // object data, embed src, SVG use
	Import              // CSS @import
	Style               // CSS url()
	Form                // action of a form sent by GET
	Data                // an attribute named in Options.DataAttrs
	Entry               // an entry of a feed
)

var kindNames = [...]string{
	Anchor: "anchor", Area: "area", Frame: "frame", LinkRel: "link", Refresh: "refresh", Image: "image",
	Script: "script", Media: "media", Object: "object", Import: "import", Style: "style", Form: "form",
	Data: "data", Entry: "entry",
}

// String returns the kind's name in lower case, or "kind?" for an unknown value.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind?"
}

// Navigation reports whether links of this kind lead to another document, rather than to a resource or a description of this one. It is
// true for Data links, because their attributes were configured by name. The crawler decides which links it follows.
func (k Kind) Navigation() bool {
	switch k {
	case Anchor, Area, Frame, Refresh, Form, Data, Entry:
		return true
	}
	return false
}

// Options select the links that HTML looks for and set its limits. The zero value finds the links that can be followed: a, area, link,
// frame, iframe and meta refresh.
type Options struct {
	MaxLinks  int      // maximum number of links; further ones are counted in Document.Dropped; 0 means 10,000
	MaxAttr   int      // maximum length of an attribute's value as written, in bytes; longer values are skipped; 0 means 64 KiB
	MaxTitle  int      // length in bytes to which the title is cut; 0 means 4 KiB
	Resources bool     // find images, scripts, media, objects, and url() and @import in CSS, too
	DataAttrs []string // attributes of any element that contain one reference each, such as "data-href"; case is ignored
	Forms     bool     // also find the action of forms sent by GET; never of forms sent by POST
	// Scripting says that scripts have run on the page, so that the contents of noscript are text (HTML Standard section 4.12.2).
	// Otherwise they are read as markup, as in a browser without scripts.
	Scripting bool
	// XML says that the page has the type application/xhtml+xml: elements may be empty ("<script/>"), and CDATA sections are text. In a
	// page that is not well-formed, all tags that can be recognised are read.
	XML bool
}

const (
	defaultMaxLinks = 10_000
	defaultMaxAttr  = 64 << 10
	defaultMaxTitle = 4 << 10
	maxMetas        = 1_000
	maxText         = 256
)

// resolved returns o with defaults set.
func (o Options) resolved() Options {
	if o.MaxLinks == 0 {
		o.MaxLinks = defaultMaxLinks
	}
	if o.MaxAttr == 0 {
		o.MaxAttr = defaultMaxAttr
	}
	if o.MaxTitle == 0 {
		o.MaxTitle = defaultMaxTitle
	}
	for i, name := range o.DataAttrs {
		if lowered(name) != name {
			o.DataAttrs = append([]string(nil), o.DataAttrs...)
			o.DataAttrs[i] = lowered(name)
		}
	}
	return o
}
