package extract

// text takes text between tags.
func (c *collector) text(v value) {
	if c.inert > 0 {
		return
	}
	if c.svgStyle {
		c.css(c.textString(v), cssPlace{tag: "style", sheet: true, offset: c.styleAt})
		return
	}
	if c.link >= 0 {
		c.linkText(v)
	}
}

// linkText collects a piece of the open link's text. One piece, as most links have, is kept as it
// stands; from the second on the pieces are joined in join.
func (c *collector) linkText(v value) {
	if c.more && c.join.full() {
		return
	}
	switch {
	case blank(v.s):
		c.gap = true
		return
	case c.first.s == "":
		c.first, c.gap = v, false
		return
	case !c.more:
		c.more = true
		c.join.reset(maxText)
		c.join.add(c.first)
	}
	c.join.gap = c.join.gap || c.gap
	c.gap = false
	c.join.add(v)
}

// endText gives the open link its text.
func (c *collector) endText() {
	if c.link < 0 {
		return
	}
	l := &c.doc.Links[c.link]
	c.link = -1
	if c.more {
		l.Text = c.arena.add(c.join.text())
		return
	}
	l.Text = c.collapse(c.first, maxText)
}

// collapse is v with white space collapsed and cut to limit.
func (c *collector) collapse(v value, limit int) string {
	if s, ok := plainText(v, limit); ok {
		return s
	}
	c.buf.reset(limit)
	c.buf.add(v)
	return c.arena.add(c.buf.text())
}

// textString is text with its references decoded.
func (c *collector) textString(v value) string {
	if !v.raw {
		return v.s
	}
	c.scratch = appendDecoded(c.scratch[:0], v.s, false)
	return c.arena.add(c.scratch)
}

// blank reports whether s is white space alone.
func blank(s string) bool {
	for i := range len(s) {
		if !isSpace(s[i]) {
			return false
		}
	}
	return true
}
