package extract

// Kind says where in a document a link was found.
type Kind uint8

// The kinds of links.
const (
	Anchor  Kind = iota // a href
	Area                // area href
	Frame               // frame and iframe src
	LinkRel             // link href, an Atom link or a Link header field; see Link.Rel
	Refresh             // meta http-equiv=refresh
	Image               // img, picture, input and SVG image; srcset, poster, background
	Script              // script src
	Media               // video, audio, source and track; a feed's enclosure
	Object              // object data, embed src, SVG use
	Import              // CSS @import
	Style               // CSS url()
	Form                // form action of a form sent by GET
	Data                // an attribute named in Options.DataAttrs
	Entry               // an entry of a feed
)

var kindNames = [...]string{
	Anchor: "anchor", Area: "area", Frame: "frame", LinkRel: "link", Refresh: "refresh", Image: "image",
	Script: "script", Media: "media", Object: "object", Import: "import", Style: "style", Form: "form",
	Data: "data", Entry: "entry",
}

// String returns the kind's name in lower case, or "kind?" for an unknown value.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind?"
}

// Navigation reports whether links of this kind lead to another document, as opposed to a resource of this one or a
// statement about it. A Data link counts, because its attribute was configured by name. The crawler decides what is
// followed.
func (k Kind) Navigation() bool {
	switch k {
	case Anchor, Area, Frame, Refresh, Form, Data, Entry:
		return true
	}
	return false
}
