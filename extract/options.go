package extract

// Options say what HTML looks for and where it stops. The zero value finds what can be followed:
// a, area, link, frame, iframe, meta refresh.
type Options struct {
	MaxLinks  int      // links kept, the rest is counted in Document.Dropped; 0 is 10,000
	MaxAttr   int      // octets of an attribute's value as written, longer ones are skipped; 0 is 64 KiB
	MaxTitle  int      // octets of the title, cut there; 0 is 4 KiB
	Resources bool     // also images, scripts, media, objects, and the url() and @import of CSS
	DataAttrs []string // attributes of any element that hold one reference each, such as "data-href"; any case
	Forms     bool     // also the action of forms sent by GET; those sent by POST never
	// Scripting says that scripts have run on the page, so that what is inside noscript is text (HTML
	// Standard section 4.12.2). Without it noscript is read as markup, as by a browser that runs none.
	Scripting bool
	// XML says that the page is XML, of type application/xhtml+xml: elements may be empty ("<script/>"), and CDATA
	// sections are text. What is not well-formed is read as far as tags can be told.
	XML bool
}

const (
	defaultMaxLinks = 10_000
	defaultMaxAttr  = 64 << 10
	defaultMaxTitle = 4 << 10
	maxMetas        = 1_000
	maxText         = 256
)

// resolved is o with the defaults in place.
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
