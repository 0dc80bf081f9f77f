package crawler

import (
	"testing"

	"github.com/amble-crawler/amble/frontier"
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
		{ScopeHost, []ScopeRule{ex(`\.pdf$`)}, "https://b.site.org/x.pdf", false, `exclude \.pdf$`},
		{ScopeHost, []ScopeRule{ex(`x`), in(`x`)}, "https://b.site.org/x", false, "scope host"},
		{ScopeDomain, nil, "https://xsite.org/", false, "scope domain"},
		{ScopeDomain, nil, "https://b.site.org./", true, "scope domain"},
		{ScopePrefix, nil, "https://b.site.org/dir/x", false, "scope prefix"},
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

// Include rules decide which links are followed. A seed needs no include rule, but exclude rules apply to it.
func TestSeedsAreExemptFromIncludeRules(t *testing.T) {
	rules := []ScopeRule{{Pattern: `/docs/`}, {Exclude: true, Pattern: `/docs/old/`}, {Exclude: true, Kinds: []frontier.Kind{frontier.KindSeed}, Pattern: `/no/`}}
	s, err := NewSeedScope(ScopeHost, rules, mustURL(t, "http://a.test/"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		url  string
		kind frontier.Kind
		in   bool
		rule string
	}{
		{"http://a.test/", frontier.KindSeed, true, "scope host"},
		{"http://a.test/", frontier.KindAnchor, false, "no include rule matches"},
		{"http://a.test/", frontier.KindRedirect, false, "no include rule matches"},
		{"http://a.test/docs/x", frontier.KindSeed, true, "include /docs/"},
		{"http://a.test/docs/old/x", frontier.KindSeed, false, "exclude /docs/old/"},
		{"http://a.test/no/x", frontier.KindSeed, false, "exclude seed of /no/"},
		{"http://b.test/", frontier.KindSeed, false, "scope host"},
	} {
		if d := s.JudgeKind(mustURL(t, c.url), c.kind); d.In != c.in || d.Rule != c.rule {
			t.Errorf("%s as %s: %+v, want %v by %q", c.url, c.kind, d, c.in, c.rule)
		}
	}
}

// If a seed is a public suffix itself, the sites registered under it are still out of scope.
func TestScopeDomainOfASuffix(t *testing.T) {
	s, err := NewSeedScope(ScopeDomain, nil, mustURL(t, "https://github.io/"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Decide(mustURL(t, "https://somebody.github.io/")).In || !s.Decide(mustURL(t, "https://github.io/x")).In {
		t.Error("a public suffix includes the domains registered under it")
	}
}

// Links are judged by their kind, and rules for other kinds do not apply.
func TestScopeRulesForKinds(t *testing.T) {
	s, err := NewSeedScope(ScopeHost, []ScopeRule{
		{Exclude: true, Kinds: []frontier.Kind{frontier.KindImage, frontier.KindSitemap}},
		{Pattern: `/keep/`, Kinds: []frontier.Kind{frontier.KindImage}},
		{Exclude: true, Pattern: `/out/`},
	}, mustURL(t, "http://a.test/"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		url  string
		kind frontier.Kind
		want Decision
	}{
		{"http://a.test/x", frontier.KindAnchor, Decision{In: true, Rule: "scope host"}},
		{"http://a.test/x", frontier.KindPage, Decision{In: true, Rule: "scope host"}},
		{"http://a.test/x", frontier.KindImage, Decision{Rule: "exclude image,sitemap", Firm: true}},
		{"http://a.test/x", frontier.KindSitemap, Decision{Rule: "exclude image,sitemap", Firm: true}},
		{"http://a.test/keep/x", frontier.KindImage, Decision{In: true, Rule: "include image of /keep/"}},
		{"http://a.test/keep/x", frontier.KindSitemap, Decision{Rule: "exclude image,sitemap", Firm: true}},
		{"http://a.test/keep/out/x", frontier.KindImage, Decision{Rule: "exclude /out/", Firm: true}},
		{"http://b.test/keep/x", frontier.KindImage, Decision{Rule: "scope host"}},
	} {
		if got := s.JudgeKind(mustURL(t, c.url), c.kind); got != c.want {
			t.Errorf("%s as %s: %+v, want %+v", c.url, c.kind, got, c.want)
		}
	}
}

// Responses are judged by type, by the last matching rule. The body of a type is read to its end if at least one URL of
// that type may be in scope.
func TestScopeRulesForTypes(t *testing.T) {
	only := []ScopeRule{{Types: []string{"text/HTML"}}, {Types: []string{"image/*"}, Pattern: `/gallery/`}}
	not := []ScopeRule{{Types: []string{"*/*"}, Pattern: `.`}, {Exclude: true, Types: []string{"image/*", "application/pdf"}}, {Types: []string{"image/png"}, Pattern: `/keep/`}}
	some := []ScopeRule{{Exclude: true, Types: []string{"text/css"}, Pattern: `/x`}}
	for _, c := range []struct {
		rules   []ScopeRule
		url, ty string
		in      bool
		rule    string
		wanted  bool
	}{
		{only, "/", "text/html", true, "include text/HTML", true},
		{only, "/", "image/png", false, "media type not kept", true},
		{only, "/gallery/", "image/png", true, "include image/* of /gallery/", true},
		{only, "/gallery/", "application/pdf", false, "media type not kept", false},
		{only, "/", "", false, "media type not kept", false},
		{[]ScopeRule{{Types: []string{"application/pdf"}}}, "/", "text/html", false, "media type not kept", true},
		{not, "/", "text/html", true, "include */* of .", true},
		{not, "/", "image/png", false, "exclude image/*,application/pdf", true},
		{not, "/keep/", "image/png", true, "include image/png of /keep/", true},
		{not, "/keep/", "image/gif", false, "exclude image/*,application/pdf", false},
		{some, "/x", "text/css", false, "exclude text/css of /x", true},
		{some, "/", "text/css", true, "scope host", true},
		{nil, "/", "text/css", true, "scope host", true},
	} {
		s, err := NewSeedScope(ScopeHost, c.rules, mustURL(t, "http://a.test/"))
		if err != nil {
			t.Fatal(err)
		}
		u := mustURL(t, "http://a.test"+c.url)
		if d := s.JudgeType(u, c.ty); d.In != c.in || d.Rule != c.rule {
			t.Errorf("%v %s %s: %+v, want %v by %q", c.rules, c.url, c.ty, d, c.in, c.rule)
		}
		if got := s.WantsType(c.ty); got != c.wanted {
			t.Errorf("%v wants %s: %v", c.rules, c.ty, got)
		}
		if d := s.Decide(u); !d.In {
			t.Errorf("%v keeps URLs out: %+v", c.rules, d)
		}
	}
}

func TestInvalidScopeRules(t *testing.T) {
	for _, r := range []ScopeRule{
		{}, {Pattern: "("}, {Kinds: []frontier.Kind{frontier.KindPage}}, {Kinds: []frontier.Kind{99}}, {Types: []string{"html"}}, {Types: []string{"text/html; charset=x"}},
		{Types: []string{"*/html"}}, {Types: []string{"text/html"}, Kinds: []frontier.Kind{frontier.KindAnchor}},
	} {
		if _, err := NewSeedScope(ScopeHost, []ScopeRule{r}); err == nil {
			t.Errorf("%+v is taken", r)
		}
	}
}

// A decision about a link allocates no memory.
func TestScopeAllocatesNothing(t *testing.T) {
	for _, kind := range []ScopeKind{ScopeHost, ScopePrefix, ScopeAny} {
		s, err := NewSeedScope(kind, []ScopeRule{{Exclude: true, Kinds: []frontier.Kind{frontier.KindImage}}}, mustURL(t, "https://www.a.test/dir/"))
		if err != nil {
			t.Fatal(err)
		}
		in, out := mustURL(t, "https://www.a.test/dir/x/y"), mustURL(t, "https://b.test/x.pdf")
		if n := testing.AllocsPerRun(100, func() { s.JudgeKind(in, frontier.KindAnchor); s.JudgeKind(out, frontier.KindAnchor) }); n > 0 {
			t.Errorf("%s: %v allocations", kind, n)
		}
	}
}
