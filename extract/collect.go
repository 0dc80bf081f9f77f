package extract

import "strings"

// collector makes a Document of the tags and texts of a page, in their order. Whoever reads the octets
// (the scanner; in tests, x/net/html's tokenizer) calls start, end, text and raw.
type collector struct {
	o       Options // resolved
	doc     *Document
	foreign foreign
	arena   arena
	scratch []byte

	inert     int  // templates open, counted from the outermost whose content is inert
	shadow    int  // templates open whose content is shown: declarative shadow roots
	based     bool // the base element that counts was seen
	titled    bool // the title element that counts was seen
	inTitle   bool // and its text is next
	refreshed bool // the refresh that counts was seen
	svgStyle  bool // inside a style element of SVG, whose text comes as text
	styleAt   int  // where the style element begins

	link  int     // index of the link whose text is collected, -1 without
	first value   // the text's first piece that is not blank
	more  bool    // there are further pieces, in join with the first
	gap   bool    // white space followed the last piece
	join  textBuf // the open link's text
	buf   textBuf // any other text
}

// reset prepares c for a page, which goes to doc.
func (c *collector) reset(doc *Document) {
	doc.Base, doc.Title, doc.Canonical, doc.Lang, doc.Dropped = "", "", "", "", 0
	doc.Metas, doc.Links = doc.Metas[:0], doc.Links[:0]
	c.doc = doc
	c.foreign.reset()
	c.inert, c.shadow = 0, 0
	c.based, c.titled, c.inTitle, c.refreshed, c.svgStyle = false, false, false, false, false
	c.link = -1
}

// release lets go of the page.
func (c *collector) release() {
	c.doc, c.first, c.link = nil, value{}, -1
	if cap(c.scratch) > defaultMaxAttr {
		c.scratch = nil
	}
}

// wantsText reports whether text matters now.
func (c *collector) wantsText() bool { return c.link >= 0 || c.svgStyle }

// start takes a start tag and reports whether the element's content is raw text.
func (c *collector) start(t *startTag) (rawText bool) {
	isHTML := c.foreign.start(t)
	rawText = isHTML && c.isRawText(t)
	if t.el == elTemplate && isHTML && !c.empty(t) {
		c.startTemplate(t)
	}
	if c.inert > 0 {
		return rawText
	}
	if isHTML {
		c.element(t)
	} else {
		c.foreignElement(t)
	}
	c.styleAttr(t)
	c.dataAttrs(t)
	return rawText
}

// isRawText reports whether an HTML element's content is read as text: also in XML, where that is so of none by
// itself, but what stands there is not shown as markup.
func (c *collector) isRawText(t *startTag) bool {
	switch {
	case t.el == elNoscript && !c.o.Scripting, t.el == elPlaintext && c.o.XML:
		return false
	}
	return t.el.rawText() && !c.empty(t)
}

// empty reports whether the element has no content: XML has a sign for that.
func (c *collector) empty(t *startTag) bool { return c.o.XML && t.closed }

// startTemplate counts templates: their content is no part of the page, unless it is the shadow root
// of the element around it.
func (c *collector) startTemplate(t *startTag) {
	v, _ := t.attr(atShadow)
	mode := c.str(v)
	switch {
	case c.inert > 0:
		c.inert++
	case equalFold(mode, "open") || equalFold(mode, "closed"):
		c.shadow++
	default:
		c.inert++
	}
}

// end takes an end tag; name is as written.
func (c *collector) end(el element, name string) {
	if c.foreign.active() {
		c.foreign.end(name)
	}
	switch el {
	case elA:
		if c.inert == 0 {
			c.endText()
		}
	case elStyle:
		c.svgStyle = false
	case elTemplate:
		if c.inert > 0 {
			c.inert--
		} else if c.shadow > 0 {
			c.shadow--
		}
	}
}

// raw takes the content of a raw text element.
func (c *collector) raw(el element, v value) {
	if c.inert > 0 {
		return
	}
	switch el {
	case elTitle:
		if c.inTitle {
			c.doc.Title = c.collapse(v, c.o.MaxTitle)
		}
		c.inTitle = false
	case elStyle:
		if c.o.Resources {
			c.css(v.s, cssPlace{tag: "style", sheet: true, offset: c.styleAt})
		}
	}
}

// element takes an HTML element's start tag.
func (c *collector) element(t *startTag) {
	switch t.el {
	case elA:
		c.endText()
		c.anchor(t, atHref, "href")
		if c.empty(t) {
			c.endText()
		}
	case elArea:
		c.area(t)
	case elBase:
		c.base(t)
	case elFrame:
		c.simple(t, Frame, "frame", "src", atSrc)
	case elIframe:
		c.simple(t, Frame, "iframe", "src", atSrc)
	case elHTML:
		if v, ok := t.attr(atLang); ok && c.doc.Lang == "" {
			c.doc.Lang = trimSpace(c.str(v))
		}
	case elLink:
		c.linkElement(t)
	case elMeta:
		c.meta(t)
	case elTitle:
		c.inTitle, c.titled = !c.titled && !c.empty(t), true
	case elStyle:
		c.styleAt = t.offset
	case elForm:
		c.form(t)
	default:
		if c.o.Resources {
			c.resource(t)
		}
	}
}

// foreignElement takes the start tag of an element of SVG or MathML.
func (c *collector) foreignElement(t *startTag) {
	if t.el == elA {
		c.endText()
	}
	at, name := svgHref(t)
	switch {
	case t.el == elA:
		c.anchor(t, at, name)
	case !c.o.Resources:
	case t.el == elImage:
		c.simple(t, Image, tagImage(t), name, at)
	case t.el == elUse:
		c.simple(t, Object, "use", name, at)
	case t.el == elScript:
		c.simple(t, Script, "script", name, at)
	case t.el == elStyle:
		c.svgStyle, c.styleAt = !t.closed, t.offset
	}
}

// tagImage is the name of an elImage.
func tagImage(t *startTag) string {
	if len(t.name) == len("feimage") {
		return "feimage"
	}
	return "image"
}

// svgHref is the attribute by which an element of SVG refers to something: href, or else xlink:href (SVG 2,
// chapter Linking).
func svgHref(t *startTag) (at attribute, name string) {
	if t.has&(1<<atHref) == 0 {
		return atXlinkHref, "xlink:href"
	}
	return atHref, "href"
}

// anchor adds the link of an a element and begins its text.
func (c *collector) anchor(t *startTag, at attribute, name string) {
	v, ok := t.attr(at)
	if !ok {
		return
	}
	l := Link{Ref: trimRef(c.str(v)), Kind: Anchor, Tag: "a", Attr: name, Rel: c.rel(t), Type: c.mediaType(t), Offset: t.offset}
	if !c.add(l) {
		return
	}
	c.link, c.first, c.more, c.gap = len(c.doc.Links)-1, value{}, false, false
}

func (c *collector) area(t *startTag) {
	v, ok := t.attr(atHref)
	if !ok {
		return
	}
	c.add(Link{
		Ref: trimRef(c.str(v)), Kind: Area, Tag: "area", Attr: "href", Rel: c.rel(t), Text: c.alt(t), Offset: t.offset,
	})
}

// base keeps the first base element with an href: the others say nothing (HTML Standard section 4.2.3).
func (c *collector) base(t *startTag) {
	v, ok := t.attr(atHref)
	if !ok || c.based {
		return
	}
	c.based = true
	ref := trimRef(c.str(v))
	if !hasPrefixFold(ref, "data:") && !hasPrefixFold(ref, "javascript:") {
		c.doc.Base = ref
	}
}

func (c *collector) linkElement(t *startTag) {
	rel := c.rel(t)
	v, ok := t.attr(atHref)
	ref := trimRef(c.str(v))
	if ok && ref != "" && rel != 0 {
		c.add(Link{Ref: ref, Kind: LinkRel, Tag: "link", Attr: "href", Rel: rel, Type: c.mediaType(t), Offset: t.offset})
		if rel&Canonical != 0 && c.doc.Canonical == "" {
			c.doc.Canonical = ref
		}
	}
	if v, ok := t.attr(atImagesrcset); ok && c.o.Resources {
		c.srcset(t, "link", "imagesrcset", v)
	}
}

func (c *collector) meta(t *startTag) {
	name, named := t.attr(atName)
	equiv, hasEquiv := t.attr(atHTTPEquiv)
	content, ok := t.attr(atContent)
	if !ok || !named && !hasEquiv {
		return
	}
	text := c.str(content)
	if hasEquiv && equalFold(c.str(equiv), "refresh") && !c.refreshed {
		c.refresh(t, text)
	}
	if !named {
		name = equiv
	}
	if len(c.doc.Metas) < maxMetas {
		c.doc.Metas = append(c.doc.Metas, Meta{Name: lowered(trimSpace(c.str(name))), Content: text})
	}
}

// refresh takes the first refresh that is one: a document has one (HTML Standard section 4.2.5.3).
func (c *collector) refresh(t *startTag, content string) {
	ref, ok := MetaRefresh(content)
	if !ok {
		return
	}
	c.refreshed = true
	if ref != "" && !hasPrefixFold(ref, "javascript:") {
		c.add(Link{Ref: ref, Kind: Refresh, Tag: "meta", Attr: "content", Offset: t.offset})
	}
}

func (c *collector) form(t *startTag) {
	if !c.o.Forms {
		return
	}
	v, _ := t.attr(atMethod)
	if method := c.str(v); equalFold(method, "post") || equalFold(method, "dialog") {
		return
	}
	c.simple(t, Form, "form", "action", atAction)
}

// simple adds the link of one attribute, unless it is empty or, for a resource, stands for something
// in the page itself.
func (c *collector) simple(t *startTag, k Kind, tag, name string, at attribute) {
	v, ok := t.attr(at)
	if !ok {
		return
	}
	c.addRef(trimRef(c.str(v)), k, tag, name, t)
}

func (c *collector) addRef(ref string, k Kind, tag, name string, t *startTag) {
	if ref == "" || !k.Navigation() && inPage(ref) {
		return
	}
	l := Link{Ref: ref, Kind: k, Tag: tag, Attr: name, Offset: t.offset}
	if k != Style && k != Data {
		l.Type = c.mediaType(t)
	}
	if k == Image {
		l.Text = c.alt(t)
	}
	c.add(l)
}

// inPage reports whether a resource's reference asks nothing of the network.
func inPage(ref string) bool { return ref[0] == '#' || hasPrefixFold(ref, "data:") }

// dataAttrs adds the links of the attributes the user named.
func (c *collector) dataAttrs(t *startTag) {
	for i, v := range t.data {
		if v.set && !v.big {
			c.addRef(trimRef(c.str(v)), Data, tagName(t), c.o.DataAttrs[i], t)
		}
	}
}

// tagName is the tag's name in lower case.
func tagName(t *startTag) string { return strings.ReplaceAll(lowered(t.name), "\x00", "\ufffd") }

// add keeps a link unless there are too many.
func (c *collector) add(l Link) bool {
	if len(c.doc.Links) >= c.o.MaxLinks {
		c.doc.Dropped++
		return false
	}
	c.doc.Links = append(c.doc.Links, l)
	return true
}

func (c *collector) rel(t *startTag) Rel {
	v, ok := t.attr(atRel)
	if !ok {
		return 0
	}
	return ParseRel(c.str(v))
}

func (c *collector) alt(t *startTag) string {
	v, ok := t.attr(atAlt)
	if !ok {
		return ""
	}
	return c.collapse(value{s: c.str(v)}, maxText)
}

func (c *collector) mediaType(t *startTag) string {
	v, ok := t.attr(atType)
	if !ok || t.el == elInput {
		return ""
	}
	return trimSpace(c.str(v))
}

// str is an attribute's value, decoded.
func (c *collector) str(v value) string {
	if !v.raw {
		return v.s
	}
	c.scratch = appendDecoded(c.scratch[:0], v.s, true)
	return c.arena.add(c.scratch)
}
