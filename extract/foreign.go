package extract

// foreign tracks whether the parser is inside SVG or MathML, where title, style and script are markup and CDATA sections are text (HTML
// Standard sections 13.2.6.5 and 13.2.5.42). It records only the open svg and math elements and the integration points between them. The
// result is exact for documents whose elements are closed in order.
type foreign struct {
	stack []place
	html  bool // the innermost integration point contains an HTML element
}

// place is an element of the stack: a root of foreign content, or an integration point, in which HTML content is allowed.
type place uint8

const (
	inSVG place = iota
	inMath
	inForeignObject
	inDesc
	inTitle
	inAnnotation
	inMI
	inMO
	inMN
	inMS
	inMtext
)

// maxForeign limits the stack. x/net/html builds no tree deeper than 512 elements.
const maxForeign = 512

// active reports whether any SVG or MathML element is open.
func (f *foreign) active() bool { return len(f.stack) > 0 }

// content reports whether the current node is foreign and not an integration point.
func (f *foreign) content() bool {
	return len(f.stack) > 0 && f.stack[len(f.stack)-1] <= inMath
}

// cdata reports whether a CDATA section is text at this position.
func (f *foreign) cdata() bool { return len(f.stack) > 0 && (f.content() || !f.html) }

func (f *foreign) reset() { f.stack = f.stack[:0] }

func (f *foreign) push(p place) {
	if len(f.stack) < maxForeign {
		f.stack = append(f.stack, p)
	}
	f.html = false
}

// pop closes the innermost p and all elements inside it, if p is open.
func (f *foreign) pop(p place) {
	for i := len(f.stack) - 1; i >= 0; i-- {
		if f.stack[i] == p {
			f.stack = f.stack[:i]
			f.html = true
			return
		}
	}
}

// breakOut closes foreign content up to the HTML around it.
func (f *foreign) breakOut() {
	for f.content() {
		f.stack = f.stack[:len(f.stack)-1]
	}
	f.html = true
}

// start processes a start tag and reports whether it begins an HTML element.
func (f *foreign) start(t *startTag) (isHTML bool) {
	if f.content() && breaksOut(t) {
		f.breakOut()
	}
	if !f.content() {
		return f.startHTML(t)
	}
	if t.closed {
		return false
	}
	var buf [16]byte
	name := lower(buf[:0], t.name)
	if f.stack[len(f.stack)-1] == inSVG {
		f.startSVG(string(name))
	} else {
		f.startMath(string(name), t)
	}
	return false
}

func (f *foreign) startHTML(t *startTag) (isHTML bool) {
	root := inSVG
	switch t.el {
	case elSVG:
	case elMath:
		root = inMath
	default:
		f.html = true
		return true
	}
	if !t.closed {
		f.push(root)
	}
	return false
}

func (f *foreign) startSVG(name string) {
	switch name {
	case "svg":
		f.push(inSVG)
	case "foreignobject":
		f.push(inForeignObject)
	case "desc":
		f.push(inDesc)
	case "title":
		f.push(inTitle)
	}
}

func (f *foreign) startMath(name string, t *startTag) {
	switch name {
	case "math":
		f.push(inMath)
	case "svg":
		f.push(inSVG)
	case "annotation-xml":
		v, _ := t.attr(atEncoding)
		if encoding := v.decoded(); equalFold(encoding, "text/html") || equalFold(encoding, "application/xhtml+xml") {
			f.push(inAnnotation)
		}
	default:
		if p, ok := mathText(name); ok {
			f.push(p)
		}
	}
}

// mathText finds a MathML text integration point by name.
func mathText(name string) (place, bool) {
	switch name {
	case "mi":
		return inMI, true
	case "mo":
		return inMO, true
	case "mn":
		return inMN, true
	case "ms":
		return inMS, true
	case "mtext":
		return inMtext, true
	}
	return 0, false
}

// end processes an end tag.
func (f *foreign) end(name string) {
	var buf [16]byte
	switch n := string(lower(buf[:0], name)); n {
	case "br", "p":
		f.breakOut()
	case "svg":
		f.pop(inSVG)
	case "math":
		f.pop(inMath)
	case "foreignobject":
		f.pop(inForeignObject)
	case "desc":
		f.pop(inDesc)
	case "title":
		f.pop(inTitle)
	case "annotation-xml":
		f.pop(inAnnotation)
	default:
		if p, ok := mathText(n); ok {
			f.pop(p)
		}
	}
}

// breaksOut reports whether a start tag ends foreign content (HTML Standard section 13.2.6.5).
func breaksOut(t *startTag) bool {
	var buf [16]byte
	switch string(lower(buf[:0], t.name)) {
	case "b", "big", "blockquote", "body", "br", "center", "code", "dd", //nolint:misspell // the HTML names have this spelling
		"div", "dl", "dt", "em", "embed",
		"h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta",
		"nobr", "ol", "p", "pre", "ruby", "s", "small", "span", "strong", "strike", "sub", "sup", "table",
		"tt", "u", "ul", "var":
		return true
	case "font":
		return t.has&(1<<atColor|1<<atFace|1<<atSize) != 0
	}
	return false
}
