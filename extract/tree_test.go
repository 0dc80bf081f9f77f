package extract

import (
	"strings"
	"testing"
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
