package extract

import (
	"strings"
	"testing"

	"golang.org/x/net/html/atom"
)

func TestTreeOfADeepPageIsAnErrorAndItsLinksAreNot(t *testing.T) {
	page := []byte(strings.Repeat("<div>", 10_000) + "<a href=x>")
	if _, err := Tree(page); err == nil || !strings.HasPrefix(err.Error(), "extract: tree: ") {
		t.Errorf("error %v", err)
	}
	if d := HTML(page, Options{}); len(d.Links) != 1 {
		t.Errorf("%d links, want 1", len(d.Links))
	}
}

// The tree contains what HTML reads: no script runs, so noscript contains elements.
func TestTreeOfNoscript(t *testing.T) {
	tree, err := Tree([]byte(`<noscript><a href=x>x</a></noscript>`))
	if err != nil {
		t.Fatal(err)
	}
	for n := range tree.Descendants() {
		if n.DataAtom == atom.A {
			return
		}
	}
	t.Error("no a element")
}
