package extract

import "strings"

// Rel is a set of link types of a rel attribute.
type Rel uint32

// The link types that a crawler uses (HTML Standard section 4.6.7; ugc and sponsored as search engines define them).
const (
	NoFollow Rel = 1 << iota
	UGC
	Sponsored
	Canonical
	Alternate
	Next
	Prev // prev, or its old name previous
	Stylesheet
	Icon
	Other // any other link type
	Preload
	ModulePreload
	Prefetch
	Preconnect // preconnect or dns-prefetch
	Manifest
	Search
	Self // self, of a feed
	License
)

var relNames = [...]string{
	"nofollow", "ugc", "sponsored", "canonical", "alternate", "next", "prev", "stylesheet", "icon", "other",
	"preload", "modulepreload", "prefetch", "preconnect", "manifest", "search", "self", "license",
}

// parseRel parses the value of a rel attribute: link types separated by white space, in any case.
func parseRel(value string) Rel {
	var r Rel
	for i := 0; i < len(value); {
		if isSpace(value[i]) {
			i++
			continue
		}
		end := i
		for end < len(value) && !isSpace(value[end]) {
			end++
		}
		r |= relWord(value[i:end])
		i = end
	}
	return r
}

// relWord returns the Rel of one link type.
func relWord(word string) Rel {
	var buf [16]byte
	switch string(lower(buf[:0], word)) {
	case "nofollow":
		return NoFollow
	case "ugc":
		return UGC
	case "sponsored":
		return Sponsored
	case "canonical":
		return Canonical
	case "alternate":
		return Alternate
	case "next":
		return Next
	case "prev", "previous":
		return Prev
	case "stylesheet":
		return Stylesheet
	case "icon":
		return Icon
	case "preload":
		return Preload
	case "modulepreload":
		return ModulePreload
	case "prefetch":
		return Prefetch
	case "preconnect", "dns-prefetch":
		return Preconnect
	case "manifest":
		return Manifest
	case "search":
		return Search
	case "self":
		return Self
	case "license":
		return License
	}
	return Other
}

// String returns the names of the link types, separated by spaces.
func (r Rel) String() string {
	var names []string
	for i, name := range relNames {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}
