package extract

// element identifies an element name that the package uses.
type element uint8

const (
	elOther element = iota
	elA
	elArea
	elAudio
	elBackground // body and the parts of a table, of which only the background attribute is used
	elBase
	elEmbed
	elForm
	elFrame
	elHTML
	elIframe
	elImage // image of SVG; in HTML another name for img
	elImg
	elInput
	elLink
	elMath
	elMeta
	elNoembed
	elNoframes
	elNoscript
	elObject
	elPlaintext
	elScript
	elSource
	elStyle
	elSVG
	elTemplate
	elTextarea
	elTitle
	elTrack
	elUse
	elVideo
	elXmp
	elements // number of elements
)

// elementOf looks up an element by its name in lower case.
func elementOf(name string) element {
	switch name {
	case "a":
		return elA
	case "area":
		return elArea
	case "audio":
		return elAudio
	case "base":
		return elBase
	case "body", "table", "thead", "tbody", "tfoot", "tr", "td", "th":
		return elBackground
	case "embed":
		return elEmbed
	case "feimage", "image":
		return elImage
	case "form":
		return elForm
	case "frame":
		return elFrame
	case "html":
		return elHTML
	case "iframe":
		return elIframe
	case "img":
		return elImg
	case "input":
		return elInput
	case "link":
		return elLink
	case "math":
		return elMath
	case "meta":
		return elMeta
	case "noembed":
		return elNoembed
	case "noframes":
		return elNoframes
	case "noscript":
		return elNoscript
	case "object":
		return elObject
	case "plaintext":
		return elPlaintext
	case "script":
		return elScript
	case "source":
		return elSource
	case "style":
		return elStyle
	case "svg":
		return elSVG
	case "template":
		return elTemplate
	case "textarea":
		return elTextarea
	case "title":
		return elTitle
	case "track":
		return elTrack
	case "use":
		return elUse
	case "video":
		return elVideo
	case "xmp":
		return elXmp
	}
	return elOther
}

// elementNamed looks up an element by its name as written.
func elementNamed(name string) element {
	if len(name) > maxName {
		return elOther
	}
	if el := elementOf(name); el != elOther || lowerCase(name) {
		return el
	}
	var buf [maxName]byte
	return elementOf(string(lower(buf[:0], name)))
}

// maxName is at least the length of every name that is looked up.
const maxName = 16

// lowerCase reports whether s has no upper case letters.
func lowerCase(s string) bool {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			return false
		}
	}
	return true
}

// navigates reports whether the element's attributes are used even without Options.Resources.
func (e element) navigates() bool {
	switch e {
	case elA, elArea, elBase, elForm, elFrame, elHTML, elIframe, elLink, elMath, elMeta, elSVG, elTemplate:
		return true
	}
	return false
}

// rawText reports whether the element's content is text up to its end tag (HTML Standard section 13.1.2, and
// noscript, which depends on scripting).
func (e element) rawText() bool {
	switch e {
	case elIframe, elNoembed, elNoframes, elNoscript, elPlaintext, elScript, elStyle, elTextarea, elTitle, elXmp:
		return true
	}
	return false
}

// attribute identifies an attribute name that the package uses.
type attribute uint8

const (
	atAction attribute = iota
	atAlt
	atBackground
	atColor
	atContent
	atData
	atEncoding
	atFace
	atHTTPEquiv
	atHref
	atImagesrcset
	atLang
	atMethod
	atName
	atPoster
	atRel
	atShadow
	atSize
	atSrc
	atSrcset
	atStyle
	atType
	atXlinkHref
	atOther // any other name; also the number of attributes
)

// attributeOf looks up an attribute by its name in lower case.
func attributeOf(name string) attribute {
	switch name {
	case "action":
		return atAction
	case "alt":
		return atAlt
	case "background":
		return atBackground
	case "color": //nolint:misspell // HTML spells it so
		return atColor
	case "content":
		return atContent
	case "data":
		return atData
	case "encoding":
		return atEncoding
	case "face":
		return atFace
	case "href":
		return atHref
	case "http-equiv":
		return atHTTPEquiv
	case "imagesrcset":
		return atImagesrcset
	case "lang":
		return atLang
	case "method":
		return atMethod
	case "name":
		return atName
	case "poster":
		return atPoster
	case "rel":
		return atRel
	case "shadowrootmode":
		return atShadow
	case "size":
		return atSize
	case "src":
		return atSrc
	case "srcset":
		return atSrcset
	case "style":
		return atStyle
	case "type":
		return atType
	case "xlink:href":
		return atXlinkHref
	}
	return atOther
}

// attributeNamed looks up an attribute by its name as written.
func attributeNamed(name string) attribute {
	if len(name) > maxName {
		return atOther
	}
	if at := attributeOf(name); at != atOther || lowerCase(name) {
		return at
	}
	var buf [maxName]byte
	return attributeOf(string(lower(buf[:0], name)))
}
