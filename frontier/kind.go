package frontier

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is the kind of place where a URL was found. Its text, used by MarshalText and JSON, is its name in lower case.
type Kind uint8

// The kinds. Their numbers are stored: new ones go to the end.
const (
	KindPage     Kind = iota // unknown: from a handler or an earlier crawl, or the kind of link was not kept
	KindSeed                 // a seed
	KindRedirect             // the target of a redirect
	KindSitemap              // listed in a sitemap, or a sitemap itself
	KindAnchor               // a href
	KindArea                 // area href
	KindFrame                // frame and iframe src
	KindLink                 // link href, an Atom link or a Link header field
	KindRefresh              // meta http-equiv=refresh
	KindImage                // img, picture, input and SVG image
	KindScript               // script src
	KindMedia                // video, audio, source and track; a feed's enclosure
	KindObject               // object data, embed src, SVG use
	KindImport               // CSS @import
	KindStyle                // CSS url()
	KindForm                 // the action of a form sent by GET
	KindData                 // an attribute that was configured by name
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

// ParseKind returns the kind of a name; "a", "img", "iframe", "embed" and "feed" are other names of anchor, image, frame, object
// and entry. KindPage, which means unknown, has no name here. The error lists all names.
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

// UnmarshalText implements encoding.TextUnmarshaler for the names of ParseKind and that of KindPage.
func (k *Kind) UnmarshalText(text []byte) (err error) {
	if string(text) == kindNames[KindPage] {
		*k = KindPage
		return nil
	}
	*k, err = ParseKind(string(text))
	return err
}
