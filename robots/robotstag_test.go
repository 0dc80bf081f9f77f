package robots

import (
	"fmt"
	"strings"
	"testing"
)

// TestRobotsTag follows draft-illyes-repext-03 section 2, except that a directive without a name applies to all robots,
// which is stricter.
func TestRobotsTag(t *testing.T) {
	for _, c := range []struct {
		legacy, value string
		want          string // NoIndex, NoFollow and Terms
	}{
		{"", "noindex, nofollow", "true true [noindex nofollow]"},
		{"", "*;noindex, Bot;nofollow", "true true [noindex nofollow]"},
		{"", "*;noindex, other;nofollow", "true false [noindex]"},
		{"", "*;noindex;nofollow", "true true [noindex nofollow]"},
		{"", "noindex;nofollow", "true true [noindex nofollow]"},
		{"", `"bot"; nofollow`, "false true [nofollow]"},
		{"", "bot ; NoFollow", "false true [nofollow]"},
		{"", "other, bot", "false false []"},
		{"", "*;nofollow=?0;noindex=?1", "true false [noindex]"},
		{"", "*;max-snippet=0", "false false [max-snippet:0]"},
		{"", "max-snippet:0", "false false [max-snippet:0]"},
		{"", `*;unavailable_after="Friday, 25-Jun-10 15:00:00 PST";nofollow`, "false true [unavailable_after:Friday, 25-Jun-10 15:00:00 PST nofollow]"},
		{"", `*;x="a;nofollow, nofollow"`, "false false [x:a;nofollow, nofollow]"},
		{"", `*;x="a\";nofollow`, "false true [x:a nofollow]"},
		{"", "other: noindex, nofollow", "false true [nofollow]"},
		{"", "bot: noindex", "true false [noindex]"},
		{"", "none", "true true [none]"},
		{"noindex", "*;nofollow", "true true [noindex nofollow]"},
		{"nofollow", "*;noindex", "true true [nofollow noindex]"},
		{"", ",;=,*;=;,*", "false false []"},
	} {
		d := PageDirectives("Bot", nonEmpty(c.legacy), nil, WithRobotsTag(nonEmpty(c.value)...))
		if got := fmt.Sprint(d.NoIndex, d.NoFollow, d.Terms()); got != c.want {
			t.Errorf("%q and %q: %s, want %s", c.legacy, c.value, got, c.want)
		}
	}
	d := PageDirectives("Bot", nil, nil, WithRobotsTag("*;unavailable_after=@1277506800"))
	if d.UnavailableAfter.Unix() != 1277506800 {
		t.Errorf("unavailable after %v", d.UnavailableAfter)
	}
	d = PageDirectives("Bot", nil, nil, WithRobotsTag(strings.Repeat("*;x,", 1e5)+"nofollow"))
	if len(d.terms) > maxTerms {
		t.Errorf("%d directives", len(d.terms))
	}
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
