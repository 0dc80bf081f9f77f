package extract

// linkText collects the text of a link.
type linkText struct {
	link  int     // index of the link; -1 if no link is open
	first value   // first non-blank piece of the text
	more  bool    // there is more than one piece; join contains all pieces
	gap   bool    // white space follows the last piece
	join  textBuf // the joined pieces, if there is more than one
}

// open begins the text of a link.
func (t *linkText) open(link int) { t.link, t.first, t.more, t.gap = link, value{}, false, false }

// add collects a piece of the text. The first piece is kept as it is, because most links have only one. When there are more, they are
// joined.
func (t *linkText) add(v value) {
	if t.more && t.join.full() {
		return
	}
	switch {
	case blank(v.s):
		t.gap = true
		return
	case t.first.s == "":
		t.first, t.gap = v, false
		return
	case !t.more:
		t.more = true
		t.join.reset(maxText)
		t.join.add(t.first)
	}
	t.join.gap = t.join.gap || t.gap
	t.gap = false
	t.join.add(v)
}

// text processes text between tags.
func (c *collector) text(v value) {
	if c.inert > 0 {
		return
	}
	if c.svgStyle {
		c.css(c.textString(v), cssPlace{tag: "style", sheet: true, offset: c.styleAt})
		return
	}
	if c.linkText.link >= 0 {
		c.linkText.add(v)
	}
}

// endText sets the text of the open link.
func (c *collector) endText() {
	t := &c.linkText
	if t.link < 0 {
		return
	}
	l := &c.doc.Links[t.link]
	t.link = -1
	if t.more {
		l.Text = c.arena.add(t.join.text())
		return
	}
	l.Text = c.collapse(t.first, maxText)
}

// collapse returns the text of v with white space collapsed, cut to limit bytes.
func (c *collector) collapse(v value, limit int) string {
	if s, ok := plainText(v, limit); ok {
		return s
	}
	c.buf.reset(limit)
	c.buf.add(v)
	return c.arena.add(c.buf.text())
}

// textString returns the text of v with references decoded.
func (c *collector) textString(v value) string {
	if !v.raw {
		return v.s
	}
	c.scratch = appendDecoded(c.scratch[:0], v.s, false)
	return c.arena.add(c.scratch)
}

// blank reports whether s consists of white space.
func blank(s string) bool {
	for i := range len(s) {
		if !isSpace(s[i]) {
			return false
		}
	}
	return true
}
