package extract

import "strings"

// collector builds a Document from the tags and texts of a page, in their order. The Scanner (in tests, the tokenizer of x/net/html)
// calls its methods start, end, text and raw.
type collector struct {
	o       Options // options, with defaults set
	doc     *Document
	foreign foreign
	arena   arena
	scratch []byte

	inert     int  // number of open templates from the outermost one whose content is not shown
	shadow    int  // number of open templates whose content is shown: declarative shadow roots
	based     bool // the base element that counts was read
	titled    bool // the title element that counts was read
	inTitle   bool // the next text is that of the title
	refreshed bool // the meta refresh that counts was read
	svgStyle  bool // inside a style element of SVG, whose content arrives as text
	styleAt   int  // offset of the style element

	linkText linkText
	buf      textBuf // other text
}

// reset prepares c for a page whose links and properties are added to doc.
func (c *collector) reset(doc *Document) {
	doc.Base, doc.Title, doc.Canonical, doc.Lang, doc.Dropped = "", "", "", "", 0
	doc.Metas, doc.Links = doc.Metas[:0], doc.Links[:0]
	c.doc = doc
	c.foreign.reset()
	c.inert, c.shadow = 0, 0
	c.based, c.titled, c.inTitle, c.refreshed, c.svgStyle = false, false, false, false, false
	c.linkText.link = -1
}

// release drops the references to the page.
func (c *collector) release() {
	c.doc, c.linkText.first, c.linkText.link = nil, value{}, -1
	if cap(c.scratch) > defaultMaxAttr {
		c.scratch = nil
	}
}

// wantsText reports whether text at this position is used.
func (c *collector) wantsText() bool { return c.linkText.link >= 0 || c.svgStyle }

// start processes a start tag and reports whether the element's content is raw text.
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

// isRawText reports whether an HTML element's content is read as text. XML has no raw text, but the content of these elements is not
// shown as markup there either.
func (c *collector) isRawText(t *startTag) bool {
	switch {
	case t.el == elNoscript && !c.o.Scripting, t.el == elPlaintext && c.o.XML:
		return false
	}
	return t.el.rawText() && !c.empty(t)
}

// empty reports whether the element is written as empty ("<br/>"), which is only possible in XML.
func (c *collector) empty(t *startTag) bool { return c.o.XML && t.closed }

// startTemplate counts open templates. The content of a template is not part of the page, unless the template is the shadow root of the
// element around it.
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

// end processes an end tag. name is the name as written.
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

// raw processes the content of a raw text element.
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

// element processes the start tag of an HTML element.
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

// foreignElement processes the start tag of an SVG or MathML element.
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

// tagImage returns the name of a tag whose element is elImage.
func tagImage(t *startTag) string {
	if len(t.name) == len("feimage") {
		return "feimage"
	}
	return "image"
}

// svgHref returns the attribute that contains the reference of an SVG element: href or, if there is none, xlink:href (SVG 2, chapter
// Linking).
func svgHref(t *startTag) (at attribute, name string) {
	if t.has&(1<<atHref) == 0 {
		return atXlinkHref, "xlink:href"
	}
	return atHref, "href"
}

// anchor adds the link of an a element and begins to collect its text.
func (c *collector) anchor(t *startTag, at attribute, name string) {
	v, ok := t.attr(at)
	if !ok {
		return
	}
	l := Link{Ref: trimRef(c.str(v)), Kind: Anchor, Tag: "a", Attr: name, Rel: c.rel(t), Type: c.mediaType(t), Offset: t.offset}
	if c.add(l) {
		c.linkText.open(len(c.doc.Links) - 1)
	}
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

// base records the first base element with an href; others have no effect (HTML Standard section 4.2.3).
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

// refresh records the first valid refresh. A document has at most one (HTML Standard section 4.2.5.3).
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

// simple adds the link in one attribute, unless the link is empty, or is a resource and part of the page itself.
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

// inPage reports whether a resource can be loaded without a request.
func inPage(ref string) bool { return ref[0] == '#' || hasPrefixFold(ref, "data:") }

// dataAttrs adds the links in the attributes that Options.DataAttrs names.
func (c *collector) dataAttrs(t *startTag) {
	for i, v := range t.data {
		if v.set && !v.big {
			c.addRef(trimRef(c.str(v)), Data, tagName(t), c.o.DataAttrs[i], t)
		}
	}
}

// tagName returns the tag's name in lower case.
func tagName(t *startTag) string { return strings.ReplaceAll(lowered(t.name), "\x00", "\ufffd") }

// add adds a link, unless there are too many.
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
	return parseRel(c.str(v))
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

// str returns the value of an attribute, decoded.
func (c *collector) str(v value) string {
	if !v.raw {
		return v.s
	}
	c.scratch = appendDecoded(c.scratch[:0], v.s, true)
	return c.arena.add(c.scratch)
}
