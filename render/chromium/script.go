package chromium

import (
	_ "embed"
	"fmt"
	"strings"
)

const (
	binding = "__amble" // by which the prelude tells of things; it takes the name away from the page
	world   = "amble"   // the JavaScript world in which the document is written out
)

//go:embed prelude.js
var preludeSource string

//go:embed serialize.js
var serializeSource string

// prelude is the script that runs before those of a page, for a seed.
func prelude(seed uint64) string {
	a, b := mix(&seed), mix(&seed)
	words := fmt.Sprintf("[%d,%d,%d,%d]", int32(a), int32(a>>32), int32(b), int32(b>>32))
	return strings.NewReplacer("%NAME%", binding, "%SEED%", words).Replace(preludeSource)
}

// mix is splitmix64: it makes a seed of few bits one of many.
func mix(s *uint64) uint64 {
	*s += 0x9e3779b97f4a7c15
	z := *s
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// serialize is an expression that writes the document out.
func serialize(limit int) string { return fmt.Sprintf("(%s)(%d)", serializeSource, limit) }
