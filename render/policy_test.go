package render_test

import (
	"strings"
	"testing"

	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/weburl"
)

func parse(t testing.TB, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestRefuses(t *testing.T) {
	const same, sub, other = "https://www.a.test/x", "https://cdn.a.test/x", "https://cdn.b.test/x"
	for _, c := range []struct {
		name   string
		policy render.Policy
		url    string
		method string
		kind   render.Kind
		want   string
	}{
		{"scripts are requested", render.Policy{}, same, "GET", render.KindScript, ""},
		{"workers are requested", render.Policy{}, same, "GET", render.KindWorker, ""},
		{"fetches are requested", render.Policy{}, same, "GET", render.KindFetch, ""},
		{"nothing is posted", render.Policy{Hosts: "any"}, same, "POST", render.KindFetch, render.ReasonMethod},
		{"HEAD is not requested", render.Policy{}, same, "HEAD", render.KindFetch, render.ReasonMethod},
		{"frames are links", render.Policy{}, same, "GET", render.KindFrame, "frame"},
		{"style sheets are refused", render.Policy{}, same, "GET", render.KindStyle, render.ReasonKind},
		{"but for a list", render.Policy{Kinds: []render.Kind{render.KindStyle}}, same, "GET", render.KindStyle, ""},
		{"that names one kind", render.Policy{Kinds: []render.Kind{render.KindStyle}}, same, "GET", render.KindImage, render.ReasonKind},
		{"or a screenshot", render.Policy{Screenshot: true}, same, "GET", render.KindFont, ""},
		{"a screenshot needs no video", render.Policy{Screenshot: true}, same, "GET", render.KindMedia, render.ReasonKind},
		{"event streams are refused", render.Policy{Screenshot: true}, same, "GET", render.KindEvents, render.ReasonKind},
		{"other sites are left to the count", render.Policy{}, other, "GET", render.KindScript, ""},
		{"site: no other site", render.Policy{Hosts: "site"}, other, "GET", render.KindScript, render.ReasonHost},
		{"site: not even a host of that name", render.Policy{Hosts: "site"}, "https://site/", "GET", render.KindScript, render.ReasonHost},
		{"site: the domain's other hosts", render.Policy{Hosts: "site"}, sub, "GET", render.KindScript, ""},
		{"any: every site", render.Policy{Hosts: "any"}, other, "GET", render.KindScript, ""},
		{"a pattern: what it matches", render.Policy{Hosts: "*.B.test"}, other, "GET", render.KindScript, ""},
		{"a pattern: nothing else", render.Policy{Hosts: "*.c.test"}, other, "GET", render.KindScript, render.ReasonHost},
		{"a pattern: the page's site", render.Policy{Hosts: "*.c.test"}, sub, "GET", render.KindScript, ""},
	} {
		w := render.Want{URL: parse(t, c.url), Method: c.method, Kind: c.kind}
		if got := c.policy.Refuses(parse(t, "https://www.a.test/"), w); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		policy render.Policy
		want   string // part of the error, "" for no error
	}{
		{render.Policy{}, ""},
		{render.Policy{Mode: render.Auto, Kinds: []render.Kind{render.KindStyle, render.KindScript}, Hosts: "*.cdn.test"}, ""},
		{render.Policy{Mode: "sometimes"}, `"sometimes": it can be never, auto or always`},
		{render.Policy{Kinds: []render.Kind{"media"}}, `"media": it can have style, image and font`},
		{render.Policy{Hosts: "[a-"}, `"[a-": it can be site, any or a pattern`},
		{render.Policy{MaxRounds: -1}, "MaxRounds -1"},
	} {
		err := c.policy.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.policy, err, c.want)
		}
	}
}
