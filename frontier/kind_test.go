package frontier_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/frontier"
)

// Numbers and names are stored on disk and must not change.
func TestKindsAsStored(t *testing.T) {
	names := strings.Fields("page seed redirect sitemap anchor area frame link refresh image script media object import style form data entry")
	for i, name := range names {
		k := frontier.Kind(i)
		text, err := json.Marshal(k)
		if err != nil || string(text) != `"`+name+`"` {
			t.Errorf("kind %d is %s, %v; want %q", i, text, err, name)
		}
		var back frontier.Kind
		if err := json.Unmarshal(text, &back); err != nil || back != k {
			t.Errorf("%s is read as %d, %v", text, back, err)
		}
		if got, err := frontier.ParseKind(name); (got != k || err != nil) != (k == frontier.KindPage) {
			t.Errorf("ParseKind of %s: %d, %v", name, got, err)
		}
	}
	beyond := frontier.Kind(len(names))
	if _, err := beyond.MarshalText(); err == nil || beyond.String() != "kind?" {
		t.Errorf("kind %d has the name %s", beyond, beyond)
	}
}

func TestParseKind(t *testing.T) {
	for alias, want := range map[string]frontier.Kind{
		"a": frontier.KindAnchor, "img": frontier.KindImage, "iframe": frontier.KindFrame, "feed": frontier.KindEntry, "embed": frontier.KindObject,
	} {
		if k, err := frontier.ParseKind(alias); k != want || err != nil {
			t.Errorf("%s is %s, %v", alias, k, err)
		}
	}
	for _, bad := range []string{"", "picture", "Seed"} {
		if _, err := frontier.ParseKind(bad); err == nil || !strings.Contains(err.Error(), "seed, redirect, sitemap, anchor") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
