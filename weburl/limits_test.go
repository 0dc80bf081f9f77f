package weburl

import (
	"strings"
	"testing"
)

func TestTooLong(t *testing.T) {
	const root = "http://a/"
	path := func(n int) string { return strings.Repeat("b", n) }
	cases := []struct{ rule, in, want string }{
		{"MaxLen is accepted", root + path(MaxLen-len(root)), ""},
		{"one more is not", root + path(MaxLen-len(root)+1), ReasonTooLong},
		{"nor what encoding makes longer", root + strings.Repeat("é", MaxLen/6), ReasonTooLong},
		{"the fragment does not count", root + "#" + path(1<<20), ""},
		{"blanks do not count", strings.Repeat(" ", 1<<20) + root + strings.Repeat("\t", 1<<20) + "b" + strings.Repeat("\n", 1<<20), ""},
		{"dot segments do", root + strings.Repeat("../", MaxLen), ReasonTooLong},
		{"another scheme goes first", "data:" + path(1<<20), ReasonScheme},
		{"no scheme goes first", path(1 << 20), ReasonSyntax},
		{"a host of maxHostLen", "http://" + path(maxHostLen) + "/", ""},
		{"one more", "http://" + path(maxHostLen+1) + "/", ReasonTooLong},
	}
	for _, c := range cases {
		if _, err := Parse(c.in); ReasonOf(err) != c.want {
			t.Errorf("%s: %q, want %q", c.rule, ReasonOf(err), c.want)
		}
	}
	base := mustParse(t, root+path(MaxLen-len(root)-1)+"/")
	if _, err := base.Resolve("b"); ReasonOf(err) != ReasonTooLong {
		t.Errorf("base and reference together: %v", err)
	}
	if u, err := base.Resolve("../b"); err != nil || u.String() != root+"b" {
		t.Errorf("base and a shorter reference: %q, %v", u, err)
	}
}

// TestLinearTime would exceed the time limit of a test if parsing took quadratic time.
func TestLinearTime(t *testing.T) {
	const n = 8 << 20
	for _, s := range []string{"/", "/../", "/a/..", "%2e%2e/", "\\", "é/../", "a/b/../../"} {
		b := builder{marks: marks{host: 7, port: 8, path: 8}}
		b.pathAndQuery([]byte("http://a"), strings.Repeat(s, n/len(s)))
	}
	for _, s := range []string{"/", ";", "/;", "%41", "%2f", "/%zz", "?", "?a&"} {
		href := "http://a/" + strings.Repeat(s, n/len(s)/8)
		appendUsual(nil, appendNormal(nil, href, 8), 8)
	}
	for _, s := range []string{"a", ":", "/", "@", "a@", "[", "%41", "."} {
		text := strings.Repeat(s, n/len(s))
		if user, host, port := cutAuthority(text); len(user)+len(host)+len(port) > len(text) {
			t.Errorf("%q: the authority grew", s)
		}
	}
}

// TestHostileInput checks that texts of any length and kind are accepted or refused quickly.
func TestHostileInput(t *testing.T) {
	const n = 1 << 20
	base := mustParse(t, "http://a/b/c?d")
	for _, s := range []string{" ", "\t", "a\t", "#", "a:", ":", "/", "/../", "@", "a@", "[", "http:", "%41", ".", "ü", "%C3%BC", "0", "-"} {
		for _, prefix := range []string{"", "http://", "http:", "//", "http://a:", "http://a?", "data:"} {
			for _, size := range []int{n, MaxLen, maxHostLen} {
				ref := prefix + strings.Repeat(s, (size-len(prefix))/len(s))
				if _, err := base.Resolve(ref); err != nil && ReasonOf(err) == "" {
					t.Errorf("%.20q: %v", ref, err)
				}
			}
		}
	}
}
