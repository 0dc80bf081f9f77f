package article

import (
	"slices"
	"strings"
	"testing"
)

func TestPruneRemovesBlocks(t *testing.T) {
	page := strings.NewReplacer("Small fish,", "<p>Small fish,</p>", "Frogs", "<b>Frogs</b>").Replace(news)
	a, err := Read([]byte(page), "https://birds.site.example/2026/herons")
	if err != nil {
		t.Fatal(err)
	}
	before := a.Words
	var blocks []string
	a.Prune(func(text string) bool {
		blocks = append(blocks, text)
		return false
	})
	if a.Words != before || !slices.Contains(blocks, "Small fish,") || !slices.Contains(blocks, "Frogs and mice, if there are no fish to be had.") ||
		slices.ContainsFunc(blocks, func(s string) bool { return strings.Contains(s, "What they eat") || strings.Contains(s, "Pairs") }) {
		t.Errorf("%d words, %d before; %q", a.Words, before, blocks)
	}
	a.Prune(func(text string) bool { return strings.HasPrefix(text, "Frogs") || strings.HasPrefix(text, "Whoever") })
	md := a.Markdown()
	if strings.Contains(md, "Frogs") || strings.Contains(md, "Whoever") || !strings.Contains(md, "| 2011 |") || a.Words >= before || strings.Contains(md, "-\n") {
		t.Errorf("%d words of %d: %s", a.Words, before, md)
	}
	a.Prune(func(string) bool { return true })
	if md := a.Markdown(); !strings.Contains(md, "## What they eat") || strings.Contains(md, "society") {
		t.Errorf("%s", md)
	}
}
