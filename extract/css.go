package extract

// CSS finds the references of a stylesheet: url() and @import. Its links have the kinds Style and Import, and no
// tag. A url() that is only a name and loads nothing, as in @namespace, does not count. At most 10,000 links are
// kept; the others are counted in Dropped.
func CSS(body []byte) *Document {
	d := new(Document)
	c := collector{o: Options{}.resolved()}
	c.reset(d)
	c.css(string(body), cssPlace{sheet: true})
	return d
}

// cssPlace says where CSS was found: whether it is a stylesheet, and which names its links get.
type cssPlace struct {
	tag, attr string
	sheet     bool // @import is valid
	offset    int  // of the links, unless they have their own
}

// css adds the references in s.
func (c *collector) css(s string, p cssPlace) {
	sc := cssScanner{s: s, imports: p.sheet}
	for sc.next() {
		ref := sc.ref
		if sc.escaped {
			c.scratch = appendCSSUnescaped(c.scratch[:0], ref)
			ref = c.arena.add(c.scratch)
		}
		ref = trimRef(ref)
		if ref == "" || inPage(ref) || len(ref) > c.o.MaxAttr {
			continue
		}
		l := Link{Ref: ref, Kind: Style, Tag: p.tag, Attr: p.attr, Offset: p.offset}
		if sc.isImport {
			l.Kind = Import
		}
		if p.tag == "" {
			l.Offset = sc.start
		}
		c.add(l)
	}
}

// CSSReferences calls f with each reference of a stylesheet, or of a style attribute if sheet is false: with its escapes decoded,
// and where it is in s, without its quotes. A reference is what [CSS] finds, fragments included.
func CSSReferences(s string, sheet bool, f func(ref string, from, to int)) {
	sc := cssScanner{s: s, imports: sheet}
	for sc.next() {
		ref := sc.ref
		if sc.escaped {
			ref = string(appendCSSUnescaped(nil, ref))
		}
		if ref = trimRef(ref); ref != "" {
			f(ref, sc.at, sc.at+len(sc.ref))
		}
	}
}
