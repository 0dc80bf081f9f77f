package crawler

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/frontier"
)

// Rules stored with another name for a kind count as the same rules.
func TestRulesAreTheSameByAnyNameOfAKind(t *testing.T) {
	now, err := json.Marshal(rulebook{Scope: ScopeHost, Rules: []ScopeRule{{Exclude: true, Kinds: []frontier.Kind{frontier.KindImage}}}, MaxDepth: 3})
	if err != nil {
		t.Fatal(err)
	}
	for was, want := range map[string][]string{
		`{"Scope":"host","Rules":[{"exclude":true,"pattern":"","kinds":["img"]}]}`:                nil,
		`{"Scope":"host","Rules":[{"exclude":true,"pattern":"","kinds":["frame"]}],"MaxDepth":4}`: {"Limits.Depth", "Scope.Rules"},
	} {
		if got, err := differing([]byte(was), now); !slices.Equal(got, want) || err != nil {
			t.Errorf("%s: %q, %v; want %q", was, got, err, want)
		}
	}
}

// Each kind of link has the name used in the documentation.
func TestKindsOfLinks(t *testing.T) {
	for k := extract.Anchor; k <= extract.Entry; k++ {
		if got := kindOf(k); got.String() != k.String() {
			t.Errorf("%s is %s", k, got)
		}
	}
	if last := kindOf(extract.Entry) + 1; last.String() != "kind?" || (extract.Entry+1).String() != "kind?" {
		t.Errorf("%s and %s are beyond the last kind", last, extract.Entry+1)
	}
}
