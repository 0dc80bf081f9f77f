package extract

// resource adds the links of what an HTML element loads.
func (c *collector) resource(t *startTag) {
	switch t.el {
	case elImg, elImage:
		c.simple(t, Image, "img", "src", atSrc)
		c.srcsetAttr(t, "img")
	case elInput:
		c.inputImage(t)
	case elSource:
		c.simple(t, Media, "source", "src", atSrc)
		c.srcsetAttr(t, "source")
	case elScript:
		c.simple(t, Script, "script", "src", atSrc)
	case elAudio:
		c.simple(t, Media, "audio", "src", atSrc)
	case elVideo:
		c.simple(t, Media, "video", "src", atSrc)
		c.simple(t, Image, "video", "poster", atPoster)
	case elTrack:
		c.simple(t, Media, "track", "src", atSrc)
	case elObject:
		c.simple(t, Object, "object", "data", atData)
	case elEmbed:
		c.simple(t, Object, "embed", "src", atSrc)
	case elBackground:
		if t.has&(1<<atBackground) != 0 {
			c.simple(t, Image, tagName(t), "background", atBackground)
		}
	}
}

func (c *collector) inputImage(t *startTag) {
	if v, ok := t.attr(atType); ok && equalFold(c.str(v), "image") {
		c.simple(t, Image, "input", "src", atSrc)
	}
}

func (c *collector) srcsetAttr(t *startTag, tag string) {
	if v, ok := t.attr(atSrcset); ok {
		c.srcset(t, tag, "srcset", v)
	}
}

// srcset adds the candidates of a srcset attribute.
func (c *collector) srcset(t *startTag, tag, name string, v value) {
	rest := c.str(v)
	for rest != "" {
		var ref string
		ref, rest = cutSrcset(rest)
		c.addRef(ref, Image, tag, name, t)
	}
}

// styleAttr adds the references of a style attribute.
func (c *collector) styleAttr(t *startTag) {
	if !c.o.Resources {
		return
	}
	if v, ok := t.attr(atStyle); ok {
		c.css(c.str(v), cssPlace{tag: tagName(t), attr: "style", offset: t.offset})
	}
}
