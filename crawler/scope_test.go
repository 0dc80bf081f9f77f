package crawler

import (
	"testing"

	"github.com/amble-crawler/amble/weburl"
)

func mustURL(t *testing.T, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestSeedScope(t *testing.T) {
	in, ex := func(p string) ScopeRule { return ScopeRule{Pattern: p} }, func(p string) ScopeRule { return ScopeRule{Pattern: p, Exclude: true} }
	for _, c := range []struct {
		kind  ScopeKind
		rules []ScopeRule
		url   string
		in    bool
		rule  string
	}{
		{ScopeHost, nil, "https://a.site.org/x", true, "scope host"},
		{ScopeHost, nil, "http://www.a.site.org/", true, "scope host"},
		{ScopeHost, nil, "https://b.site.org/", false, "scope host"},
		{ScopeHost, nil, "https://a.site.org:8443/", false, "scope host"},
		{ScopeDomain, nil, "https://b.site.org/", true, "scope domain"},
		{ScopeDomain, nil, "https://site.com/", false, "scope domain"},
		{ScopePrefix, nil, "https://a.site.org/dir/x", true, "scope prefix"},
		{ScopePrefix, nil, "https://a.site.org/dir/", true, "scope prefix"},
		{ScopePrefix, nil, "https://a.site.org/dir", false, "scope prefix"},
		{ScopePrefix, nil, "https://a.site.org/directory/x", false, "scope prefix"},
		{ScopePrefix, nil, "https://a.site.org/dir/deep/er/x?q=/y/", true, "scope prefix"},
		{ScopeAny, nil, "http://else.net/", true, "scope any"},
		{ScopeHost, []ScopeRule{ex(`\.pdf$`)}, "https://a.site.org/x.pdf", false, `exclude \.pdf$`},
		{ScopeHost, []ScopeRule{ex(`\.pdf$`), in(`/keep/`)}, "https://a.site.org/keep/x.pdf", true, `include /keep/`},
		{ScopeHost, []ScopeRule{in(`/keep/`), ex(`\.pdf$`)}, "https://a.site.org/keep/x.pdf", false, `exclude \.pdf$`},
		{ScopeHost, []ScopeRule{in(`/keep/`)}, "https://a.site.org/x", false, "no include rule matches"},
		{ScopeHost, []ScopeRule{in(`.`)}, "https://b.site.org/", false, "scope host"},
	} {
		s, err := NewSeedScope(c.kind, c.rules, mustURL(t, "https://a.site.org/dir/page"))
		if err != nil {
			t.Fatal(err)
		}
		if d := s.Decide(mustURL(t, c.url)); d.In != c.in || d.Rule != c.rule {
			t.Errorf("%s %v %s: %+v, want %v by %q", c.kind, c.rules, c.url, d, c.in, c.rule)
		}
	}
}
