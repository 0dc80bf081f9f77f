package extract

// Options say what HTML looks for and where it stops. The zero value finds what can be followed: a, area, link,
// frame, iframe and meta refresh.
type Options struct {
	MaxLinks  int      // links kept, the others are counted in Document.Dropped; 0 means 10,000
	MaxAttr   int      // bytes of an attribute's value as written, longer ones are skipped; 0 means 64 KiB
	MaxTitle  int      // bytes after which the title is cut; 0 means 4 KiB
	Resources bool     // also images, scripts, media, objects, and url() and @import in CSS
	DataAttrs []string // attributes of any element that hold one reference each, such as "data-href"; case is ignored
	Forms     bool     // also the action of forms sent by GET, never of those sent by POST
	// Scripting says that scripts have run on the page, so that the contents of noscript are text (HTML Standard
	// section 4.12.2). Otherwise they are read as markup, as in a browser without scripts.
	Scripting bool
	// XML says that the page is XML, of type application/xhtml+xml: elements may be empty ("<script/>"), and CDATA
	// sections are text. A page that is not well-formed is read as far as its tags can be recognised.
	XML bool
}

const (
	defaultMaxLinks = 10_000
	defaultMaxAttr  = 64 << 10
	defaultMaxTitle = 4 << 10
	maxMetas        = 1_000
	maxText         = 256
)

// resolved returns o with defaults filled in.
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
