package simhash

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestMarkupDoesNotCount(t *testing.T) {
	h := NewHasher()
	a, n := h.HTML([]byte("<html><style>p{x}</style><p class='x'>one two three four five</p><script>var a = 'six <b>';</script>"))
	b, m := h.HTML([]byte("<div><SCRIPT src=x></SCRIPT>one <b>two</b> three\nfour five</div>"))
	if a != b || n != 5 || m != 5 {
		t.Errorf("%x of %d words, %x of %d", a, n, b, m)
	}
	h.HTML([]byte("<script>"))
	h.HTML([]byte("<"))
	h.HTML([]byte("<style></st"))
}

// corpus is pages of random words in families: a page, and versions of it with a share of the words
// replaced, as the same article stands on several pages with other dates, teasers and counters.
func corpus(rng *rand.Rand, families, versions, words int, share float64) (pages []string, family []int) {
	word := func() string { return fmt.Sprintf("w%d", rng.IntN(20_000)) }
	for f := range families {
		base := make([]string, words)
		for i := range base {
			base[i] = word()
		}
		for range versions {
			page := append([]string(nil), base...)
			for range int(share * float64(words)) {
				page[rng.IntN(words)] = word()
			}
			pages, family = append(pages, "<p>"+strings.Join(page, " ")), append(family, f)
		}
	}
	return pages, family
}

// TestPrecision measures on a made corpus: of the pairs found near, how many are of one family
// (precision), and of the later versions, how many are found (recall).
func TestPrecision(t *testing.T) {
	for _, c := range []struct{ share, precision, recall float64 }{{0.002, 0.99, 0.8}, {0.01, 0.99, 0.2}, {0.3, 0.99, 0}} {
		rng := rand.New(rand.NewPCG(1, 2))
		pages, family := corpus(rng, 400, 3, 800, c.share)
		h, x := NewHasher(), NewIndex(1<<20, MaxDistance)
		found, right := 0, 0
		for i, p := range pages {
			f, _ := h.HTML([]byte(p))
			if near := x.Meet(fmt.Sprint(family[i]), f); near != "" {
				found++
				if near == fmt.Sprint(family[i]) {
					right++
				}
			}
		}
		precision, recall := 1.0, float64(right)/float64(len(pages)*2/3)
		if found > 0 {
			precision = float64(right) / float64(found)
		}
		t.Logf("%4.1f %% of the words changed: precision %.3f, recall %.3f (%d pages)", c.share*100, precision, recall, len(pages))
		if precision < c.precision || recall < c.recall {
			t.Errorf("%v of the words changed: precision %.3f, recall %.3f", c.share, precision, recall)
		}
	}
}

func BenchmarkHTML(b *testing.B) {
	pages, _ := corpus(rand.New(rand.NewPCG(1, 2)), 1, 1, 4000, 0)
	page, h := []byte(pages[0]), NewHasher()
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		h.HTML(page)
	}
}
