package weburl

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// checkView checks that a Resolver agrees with URL.Resolve, whatever it resolved before.
func checkView(t rapid.TB, r *Resolver, ref string) {
	t.Helper()
	checkViewIn(t, r, nil, ref)
	checkViewIn(t, r, latin, ref)
}

func checkViewIn(t rapid.TB, r *Resolver, e Encoder, ref string) {
	t.Helper()
	u, err := r.base.ResolveIn(e, ref)
	v, viewErr := r.ResolveIn(e, ref)
	if ReasonOf(err) != ReasonOf(viewErr) {
		t.Errorf("%q at %q: %v, the Resolver has %v", ref, r.base, err, viewErr)
	}
	if err != nil || viewErr != nil {
		return
	}
	if v.Key() != r.profile.Key(u) || v.URL() != u || v.Peek() != u || v.Key() != r.profile.Key(u) {
		t.Errorf("%q at %q: %q, the Resolver has %q", ref, r.base, u, v.URL())
	}
	parts := []string{string(v.Bytes()), string(v.Hostname()), string(v.Origin()), string(v.PathQuery())}
	want := []string{u.String(), u.Hostname(), u.Origin(), u.PathQuery()}
	for i := range parts {
		if parts[i] != want[i] {
			t.Errorf("%q at %q: part %q, want %q", ref, r.base, parts[i], want[i])
		}
	}
}

func TestResolverAgreesWithURL(t *testing.T) {
	for _, p := range profiles {
		r := NewResolver(URL{}, p)
		for _, c := range parseCases {
			checkView(t, r, c.in)
		}
		r.Reset(mustParse(t, "http://a/b/c/d;p?q"))
		for _, c := range resolveCases {
			checkView(t, r, c.ref)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		base, _ := Parse(rapid.SampledFrom(bases).Draw(t, "base"))
		r := NewResolver(base, rapid.SampledFrom(profiles).Draw(t, "profile"))
		for range 20 {
			checkView(t, r, drawReference(t))
		}
	})
}

func FuzzResolver(f *testing.F) {
	for i, c := range resolveCases {
		f.Add(uint8(i), bases[i%len(bases)], c.ref, c.ref+"?b&a")
	}
	f.Fuzz(func(t *testing.T, p uint8, base, first, second string) {
		u, _ := Parse(base)
		r := NewResolver(u, profiles[int(p)%len(profiles)])
		checkView(t, r, first)
		checkView(t, r, second)
	})
}

// TestURLOutlivesView checks that a URL from a View does not change when the Resolver reuses its buffers.
func TestURLOutlivesView(t *testing.T) {
	r := NewResolver(mustParse(t, "http://a.example/b/"), Usual)
	v, err := r.Resolve("c?x=1")
	if err != nil {
		t.Fatal(err)
	}
	u, k := v.URL(), v.Key()
	if _, err := r.Resolve("//zzzzzzzzz/zzzzzzzzzz"); err != nil {
		t.Fatal(err)
	}
	if u != mustParse(t, "http://a.example/b/c?x=1") || k != Usual.Key(u) {
		t.Errorf("the URL became %q", u)
	}
}

func TestResolverDoesNotAllocate(t *testing.T) {
	links := append([]string{
		"/ümläut/ßtraße", "a b", "/%c3%bc/%7Euser", "?", "index.html?utm_source=x&b&a", `\a\..\b`, "http://127.0.0.1:8080/", "HTTP://EXAMPLE.COM",
	}, benchLinks...)
	for _, p := range profiles {
		r := NewResolver(mustParse(t, benchBase), p)
		for _, ref := range links {
			if n := testing.AllocsPerRun(10, func() {
				if v, err := r.Resolve(ref); err == nil {
					v.Key()
					v.Peek()
				}
			}); n != 0 {
				t.Errorf("%v: %q: %v allocations", p, ref, n)
			}
		}
	}
}

// TestViewOfTheBase checks that a link into the same page resolves to the page's URL.
func TestViewOfTheBase(t *testing.T) {
	r := NewResolver(mustParse(t, benchBase), Safe)
	v, err := r.Resolve("#top")
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() { v.URL() }); n != 0 || v.URL() != r.base {
		t.Errorf("%q: %v allocations", v.URL(), n)
	}
}

// TestResolveAllocatesItsResultOnly checks that resolving a URL of up to 512 bytes takes one allocation, for the result.
func TestResolveAllocatesItsResultOnly(t *testing.T) {
	base := mustParse(t, benchBase)
	for _, ref := range benchLinks {
		want := 1.0
		if strings.HasPrefix(ref, "#") {
			want = 0 // the result is the base itself
		}
		if n := testing.AllocsPerRun(10, func() { _, _ = base.Resolve(ref) }); n != want {
			t.Errorf("%q: %v allocations, want %v", ref, n, want)
		}
	}
}

// latin is an Encoder for ISO-8859-1, except that it encodes "ö" as ASCII characters with a special meaning.
func latin(dst []byte, text string) ([]byte, int) {
	for i, r := range text {
		switch {
		case r == 'ö':
			dst = append(dst, 0x81, '|', '#')
		case r > 0xff || r == utf8.RuneError:
			return dst, i
		default:
			dst = append(dst, byte(r))
		}
	}
	return dst, len(text)
}

// The rules are in the WHATWG URL Standard, sections 4.4 (query state) and 1.3 (percent-encode after encoding).
func TestResolveInAnEncoding(t *testing.T) {
	base := mustParse(t, "http://a.example/dir/page?b=%C3%A9")
	for _, tt := range []struct{ ref, want string }{
		{"?q=é", "http://a.example/dir/page?q=%E9"},
		{"é?é&日=%E9#é", "http://a.example/dir/%C3%A9?%E9&%26%2326085%3B=%E9"},
		{"//é.example/é?é", "http://xn--9ca.example/%C3%A9?%E9"},
		{"https://b.example?é", "https://b.example/?%E9"},
		{"?ö", "http://a.example/dir/page?%81|%23"},
		{"?a'b\" <>|\\^`{}", "http://a.example/dir/page?a%27b%22%20%3C%3E|\\^`{}"},
		{"?\xff", "http://a.example/dir/page?%26%2365533%3B"},
		{"?日本", "http://a.example/dir/page?%26%2326085%3B%26%2326412%3B"},
		{"?", "http://a.example/dir/page?"},
		{"", "http://a.example/dir/page?b=%C3%A9"},
		{"#é", "http://a.example/dir/page?b=%C3%A9"},
	} {
		u, err := base.ResolveIn(latin, tt.ref)
		if err != nil || u.String() != tt.want {
			t.Errorf("%q: %s, %v, want %s", tt.ref, u, err, tt.want)
		}
		again, err := Parse(u.String())
		if err != nil || again != u || again.Key() != u.Key() {
			t.Errorf("%q: %s parses to %s, %v", tt.ref, u, again, err)
		}
	}
}

func TestResolveInTooLong(t *testing.T) {
	ref := "?"
	for range 1000 {
		ref += "日"
	}
	if _, err := mustParse(t, "http://a.example/").ResolveIn(latin, ref); ReasonOf(err) != ReasonTooLong {
		t.Errorf("%v, want %s", err, ReasonTooLong)
	}
}
