package text

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// edit represents a change of part of the words of a text, in one place or spread over the text.
type edit struct {
	name  string
	share float64
	apply func(rng *rand.Rand, words []string, n int) []string
}

func replaced(rng *rand.Rand, words []string, n int) []string {
	words = slices.Clone(words)
	for range n {
		words[rng.IntN(len(words))] = fmt.Sprint("other", rng.IntN(1000))
	}
	return words
}

func cut(_ *rand.Rand, words []string, n int) []string { return words[n:] }

func added(rng *rand.Rand, words []string, n int) []string {
	words = slices.Clone(words)
	for range n {
		words = append(words, fmt.Sprint("more", rng.IntN(1000)))
	}
	return words
}

// articles returns distinct texts of 80 to 800 words, with the word frequencies of a natural language (Zipf's law).
func articles(rng *rand.Rand, n int) (all [][]string) {
	zipf := rand.NewZipf(rng, 1.1, 20, 50_000)
	for range n {
		words := make([]string, 80+rng.IntN(720))
		for i := range words {
			words[i] = fmt.Sprint("w", zipf.Uint64())
		}
		all = append(all, words)
	}
	return all
}

// near returns the groups of near-duplicates among the texts.
func near(t *testing.T, texts []string) []int32 {
	t.Helper()
	dir := t.TempDir()
	signatures, err := os.Create(filepath.Join(dir, "signatures"))
	if err != nil {
		t.Fatal(err)
	}
	defer signatures.Close()
	for _, text := range texts {
		s := signatureOf(text)
		if _, err := signatures.Write(s[:]); err != nil {
			t.Fatal(err)
		}
	}
	first, err := firstOf(dir, signatures)
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// The table in docs/text.md shows the figures that this test measures.
func TestNearDuplicatesByEdit(t *testing.T) {
	least := map[string]float64{"same": 1, "1 % replaced": 1, "2 % replaced": 0.99, "5 % replaced": 0.6, "10 % cut": 1, "20 % cut": 0.99, "20 % added": 0.99, "30 % added": 0.98}
	most := map[string]float64{"20 % replaced": 0, "half replaced by another text": 0}
	for _, e := range []edit{
		{"same", 0, cut}, {"1 % replaced", 0.01, replaced}, {"2 % replaced", 0.02, replaced}, {"5 % replaced", 0.05, replaced}, {"20 % replaced", 0.2, replaced},
		{"10 % cut", 0.1, cut}, {"20 % cut", 0.2, cut}, {"20 % added", 0.2, added}, {"30 % added", 0.3, added},
		{"half replaced by another text", 0.5, func(rng *rand.Rand, words []string, n int) []string { return added(rng, words[n:], n) }},
	} {
		rng := rand.New(rand.NewPCG(36, 5))
		var texts []string
		originals := articles(rng, 300)
		for _, words := range originals {
			texts = append(texts, strings.Join(words, " "))
		}
		for _, words := range originals {
			texts = append(texts, strings.Join(e.apply(rng, words, int(e.share*float64(len(words)))), " "))
		}
		found, wrong := 0, 0
		for i, first := range near(t, texts) {
			switch {
			case int(first) == i:
			case int(first) == i-len(originals):
				found++
			default:
				wrong++
			}
		}
		recall := float64(found) / float64(len(originals))
		t.Logf("%s: recall %.3f, %d wrong", e.name, recall, wrong)
		limit, ok := most[e.name]
		if wrong > 0 || recall < least[e.name] || ok && recall > limit {
			t.Errorf("%s: recall %.3f, %d wrong", e.name, recall, wrong)
		}
	}
}

func TestGroupsOfTexts(t *testing.T) {
	long := strings.Join(articles(rand.New(rand.NewPCG(1, 2)), 1)[0], " ")
	for _, c := range []struct {
		texts []string
		want  []int32
	}{
		{[]string{"", "", "...", "..."}, []int32{0, 1, 2, 3}},
		{[]string{"A pen.", "a pen", "a pencil", "pen a"}, []int32{0, 0, 2, 3}},
		{[]string{"蒼鷺立在湖邊等待魚兒游近", "蒼鷺立在湖邊等待魚兒游近", "白鷺飛過田野尋找食物充飢"}, []int32{0, 0, 2}},
		{[]string{long, "x " + long, long, long + " y"}, []int32{0, 0, 0, 0}},
	} {
		if got := near(t, c.texts); !slices.Equal(got, c.want) {
			t.Errorf("%.60q: %v, want %v", c.texts, got, c.want)
		}
	}
}

func TestManyCopiesAreOneGroup(t *testing.T) {
	texts := slices.Repeat([]string{"a text that a site has under very many addresses, with and without a session"}, 5_000)
	groups := map[int32]int{}
	for _, first := range near(t, texts) {
		groups[first]++
	}
	if !maps.Equal(groups, map[int32]int{0: len(texts)}) {
		t.Errorf("%d groups", len(groups))
	}
}
