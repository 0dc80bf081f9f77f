package challenge

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestHintsAreFound: in bodies made of pieces of hints, the search finds each complete hint, wherever it is, and nothing else.
func TestHintsAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	contains := func(body []byte) bool {
		for _, text := range hints.texts {
			if bytes.Contains(body, []byte(text)) {
				return true
			}
		}
		return false
	}
	found := 0
	for range 200_000 {
		var body []byte
		for range rng.IntN(6) {
			text := hints.texts[rng.IntN(len(hints.texts))]
			from := rng.IntN(len(text))
			switch rng.IntN(4) {
			case 0:
				body = append(body, text...)
			case 1:
				body = append(body, strings.Repeat("x", rng.IntN(9))...)
			default:
				body = append(body, text[from:from+rng.IntN(len(text)-from+1)]...)
			}
		}
		want := contains(body)
		if want {
			found++
		}
		if hints.in(body) != want {
			t.Fatalf("%q contains a hint: %v, found: %v", body, want, !want)
		}
	}
	t.Logf("%d of 200,000 bodies contain a hint", found)
}
