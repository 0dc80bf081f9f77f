package frontier

import (
	"fmt"
	"slices"
	"strings"
)

// Kind describes where a URL was found. Its text, used by MarshalText and JSON, is its name in lower case.
type Kind uint8

// The kinds. Their numbers are stored, so new kinds are added at the end.
const (
	KindPage     Kind = iota // unknown: the URL is from a handler or an earlier crawl, or its kind of link was not kept
	KindSeed                 // a seed
	KindRedirect             // the target of a redirect
	KindSitemap              // URL listed in a sitemap, or a sitemap
	KindAnchor               // a href
	KindArea                 // area href
	KindFrame                // frame and iframe src
	KindLink                 // link href, an Atom link or a Link header field
	KindRefresh              // meta http-equiv=refresh, or a Refresh header field
	KindImage                // img, picture, input and SVG image
	KindScript               // script src
	KindMedia                // video, audio, source and track; a feed's enclosure
	KindObject               // object data, embed src, SVG use
	KindImport               // CSS @import
	KindStyle                // CSS url()
	KindForm                 // action of a form sent by GET
	KindData                 // attribute whose name was configured
	KindEntry                // an entry of a feed
)

var kindNames = [...]string{
	KindPage: "page", KindSeed: "seed", KindRedirect: "redirect", KindSitemap: "sitemap", KindAnchor: "anchor",
	KindArea: "area", KindFrame: "frame", KindLink: "link", KindRefresh: "refresh", KindImage: "image",
	KindScript: "script", KindMedia: "media", KindObject: "object", KindImport: "import", KindStyle: "style",
	KindForm: "form", KindData: "data", KindEntry: "entry",
}

// kindAliases are additional names, of elements and of feeds.
var kindAliases = map[string]Kind{"a": KindAnchor, "img": KindImage, "iframe": KindFrame, "feed": KindEntry, "embed": KindObject}

// String returns the kind's name, or "kind?" for an unknown value.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind?"
}

// ParseKind returns the kind of a name; "a", "img", "iframe", "embed" and "feed" are other names of anchor, image, frame, object and
// entry. KindPage, which means unknown, cannot be parsed. The error lists all names.
func ParseKind(name string) (Kind, error) {
	if k, ok := kindAliases[name]; ok {
		return k, nil
	}
	if i := slices.Index(kindNames[KindSeed:], name); i >= 0 {
		return KindSeed + Kind(i), nil
	}
	return 0, fmt.Errorf("frontier: kind %q: want one of %s", name, strings.Join(kindNames[KindSeed:], ", "))
}

// MarshalText implements encoding.TextMarshaler. It returns an error for an unknown value.
func (k Kind) MarshalText() ([]byte, error) {
	if int(k) >= len(kindNames) {
		return nil, fmt.Errorf("frontier: kind %d is unknown", k)
	}
	return []byte(kindNames[k]), nil
}

// UnmarshalText implements encoding.TextUnmarshaler for the names that ParseKind accepts and for the name of KindPage.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	if string(text) == kindNames[KindPage] {
		*k = KindPage
		return nil
	}
	*k, err = ParseKind(string(text))
	return err
}
