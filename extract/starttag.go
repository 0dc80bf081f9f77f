package extract

// startTag is one start tag, as far as the collector needs it.
type startTag struct {
	el     element
	name   string // as written, in any case
	offset int
	closed bool // written with "/>"
	has    uint32
	vals   [atOther]value
	data   []value // of Options.DataAttrs, by index
}

// value is an attribute's value or a piece of text.
type value struct {
	s   string
	raw bool // as written: references, NUL and CR not yet decoded
	set bool // in startTag.data: the attribute is present
	big bool // longer than Options.MaxAttr
}

// reset prepares t for the next tag.
func (t *startTag) reset() {
	t.has, t.closed = 0, false
	clear(t.data)
}

// put stores the value of a known attribute; the first of each name counts (HTML Standard section 13.2.5.33).
func (t *startTag) put(a attribute, v value) {
	if t.has&(1<<a) == 0 {
		t.has |= 1 << a
		t.vals[a] = v
	}
}

// putData stores the value of an attribute in Options.DataAttrs.
func (t *startTag) putData(i int, v value) {
	if !t.data[i].set {
		v.set = true
		t.data[i] = v
	}
}

// attr returns the value of an attribute if it is present and not too long.
func (t *startTag) attr(a attribute) (value, bool) {
	if t.has&(1<<a) == 0 || t.vals[a].big {
		return value{}, false
	}
	return t.vals[a], true
}

// decoded returns an attribute's value as a string of its own, for the few that are compared outside a collector.
func (v value) decoded() string {
	if !v.raw {
		return v.s
	}
	return string(appendDecoded(nil, v.s, true))
}
