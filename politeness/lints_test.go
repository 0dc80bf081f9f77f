package politeness

import (
	"slices"
	"testing"
	"time"
)

func TestLintsOfOddAnswers(t *testing.T) {
	for _, c := range []struct {
		name string
		r    Reply
		want string
	}{
		{"plain", Reply{Status: 200, Body: []byte("User-agent: *\nDisallow: /x\n")}, ""},
		{"missing", Reply{Status: 404}, ""},
		{"forbidden", Reply{Status: 403}, "forbidden"},
		{"HTML", Reply{Status: 200, Body: []byte("<!DOCTYPE html><html><body>home</body></html>")}, "html"},
		{"nowhere", Reply{Status: 302}, "redirect_nowhere"},
		{"nowhere to go", redirect("mailto:x@y.z"), "redirect_nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newClient(t, Config{})
				b.send(b.must("https://a.test/"), 0, c.r)
				var got []string
				for _, l := range b.gate.Origin(b.url("https://a.test/")).Lints() {
					got = append(got, string(l.Code))
				}
				if c.want == "" && len(got) > 0 || c.want != "" && !slices.Contains(got, c.want) {
					t.Errorf("lints %q, want %q", got, c.want)
				}
			})
		})
	}
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{})
		for range 6 {
			time.Sleep(time.Until(b.send(b.must("https://a.test/"), 0, redirect("/robots.txt"))))
		}
		if l := b.gate.Origin(b.url("https://a.test/")).Lints(); len(l) != 1 || l[0].Code != lintRedirectLimit {
			t.Errorf("lints %v", l)
		}
	})
}
