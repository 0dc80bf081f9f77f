package weburl

import (
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/purell"
	"pgregory.net/rapid"
)

// normalCases lists spellings with their normal form. URLs with different normal forms are different pages.
var normalCases = []struct {
	rule, normal string
	spellings    []string
}{
	{"RFC 3986 6.2.2.1: case of scheme and host", "http://example.com/A", []string{"HTTP://EXAMPLE.com/A"}},
	{"RFC 3986 6.2.2.1: case of escapes", "http://a/%C3%BC?%C3%BC", []string{"http://a/%c3%bc?%c3%bC", "http://a/ü?ü"}},
	{"RFC 3986 6.2.2.2: unreserved bytes", "http://a/~A-Z_a.0?~b", []string{"http://a/%7eA%2DZ%5fa%2E0?%7Eb", "http://a/%7E%41-%5A_%61.%30?~%62"}},
	{"RFC 3986 6.2.2.2: escaped bytes of an escape are none", "http://a/%2541?%2541", []string{"http://a/%25%34%31?%25%341"}},
	{"RFC 3986 2.2: reserved bytes stay escaped", "http://a/a%2Fb%3Fc%3Bd%40e?f%26g%3Dh%2Fi", []string{"http://a/a%2fb%3fc%3bd%40e?f%26g%3dh%2fi"}},
	{"RFC 3986 2.2: and are not escaped", "http://a/a/b;c@d:e!$&'()*+,=[]?f&g=h/i?[]", []string{"http://a/a/b;c@d:e!$&'()*+,=[]?f&g=h/i?[]"}},
	{"RFC 3986 6.2.2.3: dot segments", "http://a/b/d", []string{"http://a/b/c/.././d", "http://a/x/%2e%2E/b/d"}},
	{"RFC 3986 6.2.3: empty path and default port", "https://a/", []string{"https://a", "https://a:443", "https://a:/"}},
	{"RFC 3986 6.1: the fragment is no part of it", "http://a/b", []string{"http://a/b#c", "http://a/b#"}},
	{"an empty query is none", "http://a/c", []string{"http://a/c?", "http://a/c?#"}},
	{"but one of a question mark is one", "http://a/c??", []string{"http://a/c??"}},
	{"% that begins no escape counts as %25", "http://a/%25zz%25?%25z%25", []string{"http://a/%zz%?%z%", "http://a/%25zz%25?%25z%25"}},
	{"also before what looks like an escape", "http://a/%2541", []string{"http://a/%%34%31", "http://a/%2541"}},
	{"bytes no URI has are encoded", "http://a/%7C%5E?%7C%5C%5E%60%7B%7D", []string{"http://a/|^?|\\^`{}", "http://a/%7c%5e?%7c%5c%5e%60%7b%7d"}},
	{"empty segments are segments", "http://a//b/", []string{"http://a//b/"}},
	{"a final slash counts", "http://a/b/", []string{"http://a/b/"}},
	{"the order of a query counts", "http://a/?b&a", []string{"http://a/?b&a"}},
	{"the final dot of a host counts", "http://a./", []string{"http://a./"}},
	{"an odd host that net/url refuses", "http://{a}`/~", []string{"http://{A}`/%7e"}},
}

func TestNormal(t *testing.T) {
	seen := map[Key]string{}
	for _, c := range normalCases {
		for _, s := range append(c.spellings, c.normal) {
			if u := mustParse(t, s); u.Normal() != c.normal || u.Key() != mustParse(t, c.normal).Key() {
				t.Errorf("%s: %q has normal form %q, want %q", c.rule, s, u.Normal(), c.normal)
			}
		}
		k := mustParse(t, c.normal).Key()
		if other, ok := seen[k]; ok {
			t.Errorf("%s: %q has the key of %q", c.rule, c.normal, other)
		}
		seen[k] = c.normal
	}
}

// checkNormal compares the fast implementations of the normal form with purell.
func checkNormal(t rapid.TB, raw string) {
	t.Helper()
	u, err := Parse(raw)
	if err != nil {
		return
	}
	path := int(u.marks.path)
	want := purellNormal(u.String(), path)
	if got := u.Normal(); got != want {
		t.Errorf("%q: normal form %q, by purell %q", u, got, want)
	}
	if got := string(appendNormal([]byte("?x"), []byte(u.String()), path)); got != "?x"+want {
		t.Errorf("%q: appended normal form %q, by purell %q", u, got, want)
	}
	if got := isNormal(u.PathQuery()); got != (want == u.String()) {
		t.Errorf("%q: normal %v, by purell %q", u, got, want)
	}
	if again, err := Parse(want); err == nil && again.Normal() != want || err != nil && len(want) <= MaxLen {
		t.Errorf("%q: normal form %q, normalized again %q, %v", u, want, again.Normal(), err)
	}
	checkPurell(t, u)
}

// checkPurell compares the normal form with that of unmodified purell, except for URLs in which purell deviates: those with
// escapes, and those with query characters that purell does not escape.
func checkPurell(t rapid.TB, u URL) {
	t.Helper()
	p, err := url.Parse(u.String())
	if err != nil || strings.Contains(u.PathQuery(), "%") || strings.ContainsAny(u.Query(), "|\\^`{}") {
		return
	}
	if want := purell.NormalizeURL(p, purellFlags|purell.FlagRemoveFragment); u.Normal() != want {
		t.Errorf("%q: normal form %q, purell has %q", u, u.Normal(), want)
	}
}

// TestNormalAgreesWithPurell checks that all implementations of the normal form give the same result.
func TestNormalAgreesWithPurell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 30 {
			checkNormal(t, "http://a.example/"+drawReference(t))
		}
	})
}

func FuzzNormalIdempotent(f *testing.F) {
	for _, c := range normalCases {
		f.Add(c.normal)
		for _, s := range c.spellings {
			f.Add(s)
		}
	}
	f.Fuzz(func(t *testing.T, s string) { checkNormal(t, s) })
}

// TestNormalDoesNotAllocate checks that a URL in normal form is returned unchanged.
func TestNormalDoesNotAllocate(t *testing.T) {
	for _, s := range []string{"http://a/", "https://a.example:8080/b/c?d=e&f=%C3%BC", "http://a/?" + strings.Repeat("b", 2000)} {
		u := mustParse(t, s)
		if n := testing.AllocsPerRun(100, func() { _, _ = u.Normal(), u.Key() }); n != 0 {
			t.Errorf("%.40q: %v allocations", s, n)
		}
	}
	u := mustParse(t, "http://a.example/%c3%bc/%7Euser?")
	if n := testing.AllocsPerRun(100, func() { u.Key() }); n != 0 {
		t.Errorf("key of %q: %v allocations", u, n)
	}
}
