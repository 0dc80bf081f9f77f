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
