package weburl

import (
	"errors"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"
)

const token = "0123456789abcdef"

var usualCases = []struct{ rule, in, want string }{
	{"Safe is part of it", "http://a/%7e|?", "http://a/~%7C"},
	{"index file", "http://a/b/index.html", "http://a/b/"},
	{"index file in the root", "http://a/index.php", "http://a/"},
	{"index file with a query", "http://a/index.php?id=1", "http://a/?id=1"},
	{"index file in upper case", "http://a/Default.ASPX", "http://a/"},
	{"index file, escaped", "http://a/%69ndex.html", "http://a/"},
	{"index file, as a directory", "http://a/index.html/", "http://a/index.html/"},
	{"no index file: other extension", "http://a/index.xml", "http://a/index.xml"},
	{"no index file: two extensions", "http://a/index.html.bak", "http://a/index.html.bak"},
	{"no index file: longer name", "http://a/myindex.html", "http://a/myindex.html"},
	{"no index file: no extension", "http://a/index", "http://a/index"},
	{"sorted query", "http://a/?c=3&a=1&b=2", "http://a/?a=1&b=2&c=3"},
	{"one name keeps its order", "http://a/?b=2&a=2&b=1&a=1", "http://a/?a=2&a=1&b=2&b=1"},
	{"one name of many keeps its order", "http://a/?b" + strings.Repeat("&b=2&b=1", 15) + "&a", "http://a/?a&b" + strings.Repeat("&b=2&b=1", 15)},
	{"a name ends at the first =", "http://a/?b=c=d&b=a", "http://a/?b=c=d&b=a"},
	{"a name is before one that it begins", "http://a/?ab=1&a=2&a%20=3", "http://a/?a=2&a%20=3&ab=1"},
	{"names without value", "http://a/?b&a", "http://a/?a&b"},
	{"a value with =", "http://a/?b=c=d&a", "http://a/?a&b=c=d"},
	{"empty parameters", "http://a/?&a=1&&b=2&", "http://a/?a=1&b=2"},
	{"nothing but empty parameters", "http://a/?&&", "http://a/"},
	{"empty name", "http://a/?a&=", "http://a/?=&a"},
	{"many parameters", "http://a/?" + strings.Repeat("b&", 40) + "a", "http://a/?a" + strings.Repeat("&b", 40)},
	{"tracking", "http://a/?utm_source=x&id=1&gclid=2&fbclid=3&msclkid=4", "http://a/?id=1"},
	{"tracking: case", "http://a/?UTM_Source=x&GCLID=1", "http://a/"},
	{"tracking: escaped", "http://a/?utm%5Fsource=x", "http://a/"},
	{"tracking: no value", "http://a/?gclid&utm_medium", "http://a/"},
	{"tracking: another name", "http://a/?gclid2=1&xutm_source=2&utm=3", "http://a/?gclid2=1&utm=3&xutm_source=2"},
	{"session", "http://a/?PHPSESSID=1&a=b", "http://a/?a=b"},
	{"session: ASP", "http://a/?ASPSESSIONIDABCDEFGH=1", "http://a/"},
	{"session: token", "http://a/?sid=" + token + "&SessionID=" + token, "http://a/"},
	{"session: no token", "http://a/?sid=42&session=summer-2026-in-berlin", "http://a/?session=summer-2026-in-berlin&sid=42"},
	{"session: a long name", "http://a/?" + strings.Repeat("phpsessid", 5) + "=1", "http://a/?" + strings.Repeat("phpsessid", 5) + "=1"},
	{"session in the path", "http://a/b;jsessionid=1?c", "http://a/b?c"},
	{"session in the path: case", "http://a/b;JSESSIONID=1.node1", "http://a/b"},
	{"session in the path: index file", "http://a/b/index.jsp;jsessionid=1", "http://a/b/"},
	{"session in the path: between others", "http://a/b;x=1;jsessionid=2;y=3/c;sid=" + token + "/d", "http://a/b;x=1;y=3/c/d"},
	{"session in the path: an empty segment stays", "http://a/;jsessionid=1/b", "http://a//b"},
	{"session in the path: no dot segment is made", "http://a/b/..;jsessionid=1", "http://a/b/..;jsessionid=1"},
	{"other path parameters", "http://a/b;jsession=1;v=2;jsessionid", "http://a/b;jsession=1;v=2;jsessionid"},
	{"escaped ; is no separator", "http://a/b%3Bjsessionid=1", "http://a/b%3Bjsessionid=1"},
	{"tracking names mean nothing in the path", "http://a/b;gclid=1", "http://a/b;gclid=1"},
}

func TestUsual(t *testing.T) {
	for _, c := range usualCases {
		u := mustParse(t, c.in)
		if got := Usual.Normal(u); got != c.want {
			t.Errorf("%s: Usual.Normal(%q) = %q, want %q", c.rule, c.in, got, c.want)
		}
		if Usual.Key(u) != Usual.Key(mustParse(t, c.want)) {
			t.Errorf("%s: %q has not the key of %q", c.rule, c.in, c.want)
		}
		checkProfiles(t, c.in)
	}
}

// TestExact checks that Exact distinguishes URLs that Safe treats as equal, but not those that Parse makes equal.
func TestExact(t *testing.T) {
	a, b, c := mustParse(t, "http://a/~"), mustParse(t, "http://a/%7E"), mustParse(t, "HTTP://A:80/./~#x")
	if Exact.Normal(b) != b.String() || Exact.Key(a) == Exact.Key(b) || Safe.Key(a) != Safe.Key(b) {
		t.Errorf("Exact.Normal(%q) = %q", b, Exact.Normal(b))
	}
	if Exact.Key(a) != Exact.Key(c) {
		t.Errorf("%q and %q differ", a, c)
	}
}

var profiles = []Profile{Safe, Exact, Usual}

// checkProfiles checks properties of every profile and URL.
func checkProfiles(t rapid.TB, raw string) {
	t.Helper()
	u, err := Parse(raw)
	if err != nil {
		return
	}
	for _, p := range profiles {
		n := p.Normal(u)
		if again, err := Parse(n); err == nil && p.Normal(again) != n || err != nil && len(n) <= MaxLen {
			t.Errorf("%v.Normal(%q) = %q, normalized again %q, %v", p, u, n, p.Normal(again), err)
		}
		if p.Key(u) != Key(xxh3.HashString128(n).Bytes()) {
			t.Errorf("%v.Key(%q) is not the hash of %q", p, u, n)
		}
		if !strings.HasPrefix(n, u.Origin()+"/") {
			t.Errorf("%v.Normal(%q) = %q: another origin", p, u, n)
		}
	}
}

// usualPieces are combined into paths and queries that Usual changes.
var usualPieces = []string{
	"/", "/", "?", "&", "&", "=", ";", "index", "default", ".html", ".php", ".", "..", "utm_", "gclid", "sid", "phpsessid",
	"jsessionid", "=1", "=" + token, "a", "b", "%41", "%2F", "%", "%3b", "|", "~",
}

func TestProfilesAreIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 30 {
			s := rapid.SliceOfN(rapid.SampledFrom(usualPieces), 0, 15).Draw(t, "path")
			checkProfiles(t, "http://a.example/"+strings.Join(s, ""))
		}
	})
}

func FuzzProfilesIdempotent(f *testing.F) {
	for _, c := range usualCases {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, s string) { checkProfiles(t, s) })
}

func TestParseProfile(t *testing.T) {
	for _, p := range profiles {
		text, err := p.MarshalText()
		var back Profile = 9
		if err2 := back.UnmarshalText(text); err != nil || err2 != nil || back != p || string(text) != p.String() {
			t.Errorf("%v: text %q, %v, back %v, %v", p, text, err, back, err2)
		}
	}
	if p, err := parseProfile(""); p != Safe || err != nil {
		t.Errorf(`parseProfile("") = %v, %v`, p, err)
	}
	p := Usual
	if err := p.UnmarshalText([]byte("Safe")); !errors.Is(err, errProfile) || p != Usual {
		t.Errorf("UnmarshalText(Safe) = %v, %v", p, err)
	}
	if text, err := Profile(9).MarshalText(); !errors.Is(err, errProfile) {
		t.Errorf("Profile(9).MarshalText() = %q, %v", text, err)
	}
}

func TestKeysDoNotAllocate(t *testing.T) {
	for _, c := range usualCases[:len(usualCases)-5] {
		u := mustParse(t, c.in)
		if strings.Count(c.in, "&") > 32 || strings.Contains(c.in, "|") {
			continue
		}
		for _, p := range profiles {
			if n := testing.AllocsPerRun(10, func() { p.Key(u) }); n != 0 {
				t.Errorf("%v.Key(%q): %v allocations", p, u, n)
			}
		}
	}
}
