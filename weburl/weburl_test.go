package weburl

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

func TestParts(t *testing.T) {
	cases := []struct {
		in, scheme, hostname, port, host, authority, origin, domain, path, query string
	}{
		{"http://www.example.co.uk/a/b?c=d?e", "http", "www.example.co.uk", "80", "www.example.co.uk:80", "www.example.co.uk", "http://www.example.co.uk", "example.co.uk", "/a/b", "c=d?e"},
		{"https://example.com", "https", "example.com", "443", "example.com:443", "example.com", "https://example.com", "example.com", "/", ""},
		{"https://example.com:80/?", "https", "example.com", "80", "example.com:80", "example.com:80", "https://example.com:80", "example.com", "/", ""},
		{"http://[::1]/", "http", "::1", "80", "[::1]:80", "[::1]", "http://[::1]", "::1", "/", ""},
		{"http://[::1]:8080/a", "http", "::1", "8080", "[::1]:8080", "[::1]:8080", "http://[::1]:8080", "::1", "/a", ""},
		{"http://192.0.2.1/", "http", "192.0.2.1", "80", "192.0.2.1:80", "192.0.2.1", "http://192.0.2.1", "192.0.2.1", "/", ""},
		{"http://localhost:81/", "http", "localhost", "81", "localhost:81", "localhost:81", "http://localhost:81", "localhost", "/", ""},
		{"http://co.uk/", "http", "co.uk", "80", "co.uk:80", "co.uk", "http://co.uk", "co.uk", "/", ""},
		{"http://a.b.example.com./", "http", "a.b.example.com.", "80", "a.b.example.com.:80", "a.b.example.com.", "http://a.b.example.com.", "example.com", "/", ""},
		{"http://a.someone.github.io/", "http", "a.someone.github.io", "80", "a.someone.github.io:80", "a.someone.github.io", "http://a.someone.github.io", "someone.github.io", "/", ""},
		{"http://www.bücher.example/", "http", "www.xn--bcher-kva.example", "80", "www.xn--bcher-kva.example:80", "www.xn--bcher-kva.example", "http://www.xn--bcher-kva.example", "xn--bcher-kva.example", "/", ""},
	}
	for _, c := range cases {
		u := mustParse(t, c.in)
		got := []string{u.Scheme(), u.Hostname(), u.Port(), u.Host(), u.Authority(), u.Origin(), u.Domain(), u.Path(), u.Query()}
		want := []string{c.scheme, c.hostname, c.port, c.host, c.authority, c.origin, c.domain, c.path, c.query}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: %q, want %q", c.in, got[i], want[i])
			}
		}
	}
}

func TestIP(t *testing.T) {
	cases := []struct{ in, want string }{
		{"http://192.0.2.1:80/", "192.0.2.1"}, {"http://0x7f.1/", "127.0.0.1"}, {"http://[::1]/", "::1"},
		{"http://[::ffff:127.0.0.1]:8080/", "::ffff:127.0.0.1"}, {"http://example.com/", ""}, {"http://1.example/", ""},
		{"http://example.c0m/", ""}, {"http://localhost/", ""}, {"http://1../", ""}, {"http://1.2.3.4a/", ""},
	}
	for _, c := range cases {
		want, _ := netip.ParseAddr(c.want)
		if got, ok := mustParse(t, c.in).IP(); got != want || ok != (c.want != "") {
			t.Errorf("%q: %v, %v, want %q", c.in, got, ok, c.want)
		}
	}
}

// TestLiteralHosts checks that net/netip parses the same address from every spelling and from its canonical form.
func TestLiteralHosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0, 0, 1, 0x10, 0xab, 0xff}), 16, 16).Draw(t, "address")
		for _, a := range []netip.Addr{netip.AddrFrom16([16]byte(b)), netip.AddrFrom4([4]byte(b))} {
			text := a.String()
			if a.Is6() {
				text = "[" + a.StringExpanded() + "]"
			}
			u, err := Parse("http://" + text + "/")
			if got, ok := u.IP(); err != nil || !ok || got != a {
				t.Errorf("%q is %v, %v at %v", u, got, ok, err)
			}
		}
	})
}

// TestParsesIPv6AsNetip checks that this package and net/netip accept the same IPv6 addresses, except for zones.
func TestParsesIPv6AsNetip(t *testing.T) {
	piece := rapid.SampledFrom([]string{":", ":", "::", "0", "1", "a", "ffff", "00001", ".", "1.2.3.4", "255", "256", "01", "g", "+1"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(t, "text"), "")
		want, err := netip.ParseAddr(text)
		if err == nil && want.Is4() {
			return
		}
		u, uErr := Parse("http://[" + text + "]/")
		if got, _ := u.IP(); (err == nil) != (uErr == nil) || err == nil && got != want {
			t.Errorf("%q: %q, %v; netip has %v, %v", text, u, uErr, want, err)
		}
	})
}

func TestZeroURL(t *testing.T) {
	var u URL
	if !u.IsZero() || mustParse(t, "http://a/").IsZero() {
		t.Error("IsZero")
	}
	for _, s := range []string{u.String(), u.Scheme(), u.Hostname(), u.Port(), u.Host(), u.Authority(), u.Origin(), u.Domain(), u.PathQuery(), u.Path(), u.Query(), u.Normal(), Usual.Normal(u)} {
		if s != "" {
			t.Errorf("a part of the zero URL is %q", s)
		}
	}
	if _, ok := u.IP(); ok || u.RobotsURL() != u || u.Key() != (Key{}) || Usual.Key(u) != (Key{}) {
		t.Error("the zero URL has an address, a robots.txt or a key")
	}
}

// TestSize guards the size of URLs, which are passed and kept by value.
func TestSize(t *testing.T) {
	if n := unsafe.Sizeof(URL{}); n > 24 {
		t.Errorf("a URL has %d bytes", n)
	}
}

func TestPartsDoNotAllocate(t *testing.T) {
	for _, s := range []string{"https://www.example.com/a?b", "http://[::1]:80/", "http://127.0.0.1:1/", "http://localhost/"} {
		u := mustParse(t, s)
		if n := testing.AllocsPerRun(10, func() {
			_, _, _, _ = u.Hostname(), u.Port(), u.Authority(), u.Origin()
			_, _, _, _ = u.PathQuery(), u.Path(), u.Query(), u.Key()
			_, _ = u.IP()
		}); n != 0 {
			t.Errorf("%q: %v allocations", s, n)
		}
	}
	u := mustParse(t, "http://example.com:8080/")
	if n := testing.AllocsPerRun(10, func() { _ = u.Host() }); n != 0 {
		t.Errorf("Host of %q: %v allocations", u, n)
	}
}

func TestTextRoundTrip(t *testing.T) {
	type record struct {
		U URL         `json:"u"`
		M map[URL]int `json:"m"`
	}
	for _, c := range parseCases {
		u, err := Parse(c.in)
		if err != nil {
			continue
		}
		text, err := json.Marshal(record{u, map[URL]int{u: 1}})
		if err != nil {
			t.Fatal(err)
		}
		var back record
		if err := json.Unmarshal(text, &back); err != nil || back.U != u || back.M[u] != 1 {
			t.Errorf("%s: %q comes back as %q, %v", text, u, back.U, err)
		}
	}
}

func TestUnmarshalText(t *testing.T) {
	u := mustParse(t, "http://a/")
	if err := u.UnmarshalText([]byte("ftp://a/")); ReasonOf(err) != ReasonScheme || u.String() != "http://a/" {
		t.Errorf("%q, %v", u, err)
	}
	if err := u.UnmarshalText(nil); err != nil || !u.IsZero() {
		t.Errorf("%q, %v", u, err)
	}
	if text, err := (URL{}).MarshalText(); err != nil || len(text) != 0 {
		t.Errorf("%q, %v", text, err)
	}
}

func TestError(t *testing.T) {
	in := "ftp://a/\n" + strings.Repeat("x", 1000)
	_, err := Parse(in)
	if msg := err.Error(); ReasonOf(err) != ReasonScheme || len(msg) > 300 || strings.Contains(msg, "\n") {
		t.Errorf("the error is %q", msg)
	}
	if ReasonOf(nil) != "" || ReasonOf(errProfile) != "" {
		t.Error("a reason for other errors")
	}
}

// parseCases refers to sections of the WHATWG URL Standard. want is the URL, or the reason of the error.
var parseCases = []struct{ rule, in, want string }{
	{"4.4 scheme", "http://example.com/", "http://example.com/"},
	{"4.4 scheme in upper case", "HtTpS://example.com/", "https://example.com/"},
	{"4.4 path start: an empty path is /", "http://example.com", "http://example.com/"},
	{"4.4 path start: query without path", "http://example.com?a", "http://example.com/?a"},
	{"4.4 step 1: blanks around", "\x00\x1f \t http://example.com/ \n", "http://example.com/"},
	{"4.4 step 1: U+00A0 is no such blank", "\u00a0http://example.com/", ReasonSyntax},
	{"4.4 step 3: tabs and newlines inside", "ht\ttp:/\n/exam\rple.com/a\tb?c\nd", "http://example.com/ab?cd"},
	{"4.4 step 3: not other controls", "http://example.com/a\x0cb", "http://example.com/a%0Cb"},
	{"4.4 no scheme and no base", "example.com/", ReasonSyntax},
	{"4.4 no scheme and no base: empty", "", ReasonSyntax},
	{"4.4 no scheme and no base: blank", " \t\n", ReasonSyntax},
	{"4.4 no scheme and no base: slashes", "//example.com/", ReasonSyntax},
	{"4.4 a scheme begins with a letter", "1http://example.com/", ReasonSyntax},
	{"4.4 a scheme is ASCII", "httpſ://example.com/", ReasonSyntax},
	{"4.4 special authority slashes: none", "http:example.com/a", "http://example.com/a"},
	{"4.4 special authority slashes: one", "http:/example.com/a", "http://example.com/a"},
	{"4.4 special authority ignore slashes", "http:////example.com/a", "http://example.com/a"},
	{"4.4 backslashes", `http:\\example.com\a\b?c\d`, `http://example.com/a/b?c\d`},
	{"4.4 mixed slashes", `https:/\/example.com/`, "https://example.com/"},
	{"4.4 host missing", "http://", ReasonSyntax},
	{"4.4 host missing, query", "http://?a", ReasonSyntax},
	{"4.4 host missing, port", "http://:80/", ReasonSyntax},
	{"4.4 a third slash belongs to nothing", "http:///example.com", "http://example.com/"},

	{"5.1 other schemes", "ftp://example.com/", ReasonScheme},
	{"5.1 other schemes: file", "file:///etc/passwd", ReasonScheme},
	{"5.1 other schemes: mailto", "mailto:someone@example.com", ReasonScheme},
	{"5.1 other schemes: javascript", "JavaScript:void(0)", ReasonScheme},
	{"5.1 other schemes: data", "data:text/html,<p>", ReasonScheme},
	{"5.1 other schemes: a host with a port", "localhost:8080/a", ReasonScheme},
	{"5.1 other schemes: one letter", "c:/windows", ReasonScheme},
	{"5.1 other schemes: with + - .", "view+source-1.0:http://a/", ReasonScheme},

	{"4.4 fragment", "http://example.com/a?b#c?d#e", "http://example.com/a?b"},
	{"4.4 fragment behind the host", "http://example.com#a/b", "http://example.com/"},
	{"4.4 fragment with an @", "http://example.com#@evil.example/", "http://example.com/"},
	{"4.4 step 1 comes before the fragment", "http://example.com/a #b", "http://example.com/a%20"},

	{"4.4 credentials", "http://user:pass@example.com/", ReasonCredentials},
	{"4.4 credentials: user alone", "http://user@example.com/", ReasonCredentials},
	{"4.4 credentials: password alone", "http://:pass@example.com/", ReasonCredentials},
	{"4.4 credentials: empty", "http://@example.com/", "http://example.com/"},
	{"4.4 credentials: empty both", "http://:@example.com/", "http://example.com/"},
	{"4.4 credentials: the last @ counts", "http://a@b@example.com/", ReasonCredentials},
	{"4.4 credentials: only an @", "http://@@example.com/", ReasonCredentials},
	{"4.4 credentials without host", "http://user@/", ReasonSyntax},
	{"4.4 an @ in the path is none", "http://example.com/@user", "http://example.com/@user"},
	{"4.4 an @ in the query is none", "http://example.com?@user", "http://example.com/?@user"},
	{"4.4 a backslash ends the authority", `http://example.com\@evil.example/`, "http://example.com/@evil.example/"},

	{"4.4 port", "http://example.com:8080/", "http://example.com:8080/"},
	{"4.4 port: default of http", "http://example.com:80/", "http://example.com/"},
	{"4.4 port: default of https", "https://example.com:443/", "https://example.com/"},
	{"4.4 port: the other's default", "http://example.com:443/", "http://example.com:443/"},
	{"4.4 port: empty", "http://example.com:/a", "http://example.com/a"},
	{"4.4 port: leading zeros", "http://example.com:0000000000000000000000081/", "http://example.com:81/"},
	{"4.4 port: zero", "http://example.com:0/", "http://example.com:0/"},
	{"4.4 port: greatest", "http://example.com:65535/", "http://example.com:65535/"},
	{"4.4 port: out of range", "http://example.com:65536/", ReasonSyntax},
	{"4.4 port: far out of range", "http://example.com:99999999999999999999999999/", ReasonSyntax},
	{"4.4 port: no number", "http://example.com:8a/", ReasonSyntax},
	{"4.4 port: sign", "http://example.com:+80/", ReasonSyntax},
	{"4.4 port: two colons", "http://example.com:80:80/", ReasonSyntax},
	{"4.4 port: blank", "http://example.com: 80/", ReasonSyntax},

	{"3.3 lower case", "http://EXAMPLE.Com/", "http://example.com/"},
	{"3.3 punycode", "http://Bücher.example/", "http://xn--bcher-kva.example/"},
	{"3.3 punycode from escapes", "http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"},
	{"3.3 non-transitional", "http://faß.example/", "http://xn--fa-hia.example/"},
	{"3.3 width and ideographic stop", "http://ｗｗｗ。example。com/", "http://www.example.com/"},
	{"3.3 emoji", "http://☕.example/", "http://xn--53h.example/"},
	{"3.3 ignored code points", "http://exam\u00adple.com/", "http://example.com/"},
	{"3.3 nothing but ignored code points", "http://\u00ad/", ReasonSyntax},
	{"3.3 hyphens are not checked", "http://r3---sn-a5m.example/", "http://r3---sn-a5m.example/"},
	{"3.3 hyphens are not checked beside non-ASCII", "http://r3---sn.-ü-.example/", "http://r3---sn.xn-----xka.example/"},
	{"3.3 no STD3 rules", "http://a_b.example/", "http://a_b.example/"},
	{"3.3 no STD3 rules beside non-ASCII", "http://a_b.bücher.example/", "http://a_b.xn--bcher-kva.example/"},
	{"3.3 length is not checked", "http://" + strings.Repeat("a", 64) + ".example/", "http://" + strings.Repeat("a", 64) + ".example/"},
	{"3.3 ASCII is taken whatever IDNA says", "http://XN--8i7caa.example/", "http://xn--8i7caa.example/"},
	{"3.3 bidi rule", "http://א1b.example/", ReasonSyntax},
	{"3.3 joiner rule", "http://a\u200db.example/", ReasonSyntax},
	{"3.3 invalid punycode beside non-ASCII", "http://xn--8i7caa.bücher/", ReasonSyntax},
	{"3.3 U+FFFD", "http://\ufffd.example/", ReasonSyntax},
	{"3.5 escapes that are not UTF-8", "http://a%80.example/", ReasonSyntax},
	{"3.2 text that is not UTF-8", "http://a\x80.example/", ReasonSyntax},
	{"3.5 text that is not UTF-8, made so by an escape", "http://a%CC\xa1.example/", ReasonSyntax},
	{"3.3 width, and no STD3 rules", "http://１２７；/", "http://127;/"},
	{"3.2 forbidden: space", "http://a b/", ReasonSyntax},
	{"3.2 forbidden: %", "http://a%zz/", ReasonSyntax},
	{"3.2 forbidden: escaped slash", "http://a%2Fb/", ReasonSyntax},
	{"3.2 forbidden: escaped @", "http://a%40b/", ReasonSyntax},
	{"3.2 forbidden: NUL", "http://a\x00b/", ReasonSyntax},
	{"3.2 forbidden: DEL", "http://a\x7fb/", ReasonSyntax},
	{"3.2 forbidden: <", "http://a<b/", ReasonSyntax},
	{"3.2 forbidden: |", "http://a|b/", ReasonSyntax},
	{"3.2 forbidden: ^", "http://a^b/", ReasonSyntax},
	{"3.2 not forbidden", "http://!$&'()*,;={}~`\"/", "http://!$&'()*,;={}~`\"/"},
	{"3.5 percent-decoding", "http://%65x%41mple.com/", "http://example.com/"},
	{"3.1 the final dot stays", "http://example.com./", "http://example.com./"},
	{"3.5 dots alone", "http://../", "http://../"},

	{"3.5 IPv4", "http://192.0.2.1/", "http://192.0.2.1/"},
	{"3.5 IPv4: final dot", "http://192.0.2.1./", "http://192.0.2.1/"},
	{"3.5 IPv4: decimal", "http://3221225985/", "http://192.0.2.1/"},
	{"3.5 IPv4: hexadecimal", "http://0xC0000201/", "http://192.0.2.1/"},
	{"3.5 IPv4: octal", "http://0300.0.02.01/", "http://192.0.2.1/"},
	{"3.5 IPv4: mixed", "http://0xC0.0.0x2.01/", "http://192.0.2.1/"},
	{"3.5 IPv4: three parts", "http://192.0.513/", "http://192.0.2.1/"},
	{"3.5 IPv4: two parts", "http://127.1/", "http://127.0.0.1/"},
	{"3.5 IPv4: one part", "http://1/", "http://0.0.0.1/"},
	{"3.5 IPv4: 0x is zero", "http://0x/", "http://0.0.0.0/"},
	{"3.5 IPv4: escaped", "http://%31%32%37.1/", "http://127.0.0.1/"},
	{"3.5 IPv4: full width", "http://１２７．１/", "http://127.0.0.1/"},
	{"3.5 IPv4: part out of range", "http://256.0.0.1/", ReasonSyntax},
	{"3.5 IPv4: last part out of range", "http://1.2.3.256/", ReasonSyntax},
	{"3.5 IPv4: number out of range", "http://4294967296/", ReasonSyntax},
	{"3.5 IPv4: number far out of range", "http://99999999999999999999999/", ReasonSyntax},
	{"3.5 IPv4: five parts", "http://1.2.3.4.5/", ReasonSyntax},
	{"3.5 IPv4: empty part", "http://1..2/", ReasonSyntax},
	{"3.5 IPv4: not octal", "http://09/", ReasonSyntax},
	{"3.5 ends in a number", "http://example.1/", ReasonSyntax},
	{"3.5 ends in a number: hexadecimal", "http://example.0xF/", ReasonSyntax},
	{"3.5 ends in a number: final dot", "http://example.1./", ReasonSyntax},
	{"3.5 does not end in a number", "http://1.example/", "http://1.example/"},
	{"3.5 does not end in a number: digits first", "http://1.2a/", "http://1.2a/"},
	{"3.5 does not end in a number: sign", "http://1.-1/", "http://1.-1/"},
	{"3.5 does not end in a number: empty label", "http://1../", "http://1../"},
	{"3.5 a number with a sign beside a number", "http://-1.1/", ReasonSyntax},

	{"3.5 IPv6", "http://[2001:DB8:0:0:0:0:0:1]:8080/", "http://[2001:db8::1]:8080/"},
	{"3.5 IPv6: default port", "https://[::1]:443/", "https://[::1]/"},
	{"3.5 IPv6: first longest run", "http://[1:0:0:2:0:0:0:3]/", "http://[1:0:0:2::3]/"},
	{"3.5 IPv6: one zero stays", "http://[1:2:3:4:5:6:7::]/", "http://[1:2:3:4:5:6:7:0]/"},
	{"3.5 IPv6: with IPv4", "http://[::ffff:192.0.2.1]/", "http://[::ffff:c000:201]/"},
	{"3.5 IPv6: zone", "http://[fe80::1%25eth0]/", ReasonSyntax},
	{"3.5 IPv6: raw zone", "http://[fe80::1%eth0]/", ReasonSyntax},
	{"3.5 IPv6: unclosed", "http://[::1/", ReasonSyntax},
	{"3.5 IPv6: text behind", "http://[::1]a/", ReasonSyntax},
	{"3.5 IPv6: escaped bracket", "http://[::1%5D/", ReasonSyntax},
	{"3.5 IPv6: two brackets", "http://[[::1]]/", ReasonSyntax},
	{"3.5 IPv6: bracket twice in front", "http://[[::1]/", ReasonSyntax},
	{"3.5 IPv6: bracket twice", "http://[::1]]/", ReasonSyntax},
	{"3.5 IPv6: empty", "http://[]/", ReasonSyntax},
	{"3.5 IPv6: too many pieces", "http://[1:2:3:4:5:6:7:8:9]/", ReasonSyntax},
	{"3.5 IPv6: two compressions", "http://[1::2::3]/", ReasonSyntax},
	{"3.5 IPv6: IPv4 with leading zero", "http://[::1.2.3.04]/", ReasonSyntax},
	{"3.5 IPv6 without brackets", "http://::1/", ReasonSyntax},

	{"4.1 dot segments", "http://a/b/./c/../d/.", "http://a/b/d/"},
	{"4.1 dot segments: escaped", "http://a/b/%2e/c/.%2E/d/%2e%2E", "http://a/b/"},
	{"4.1 dot segments: above the root", "http://a/../../b", "http://a/b"},
	{"4.1 dot segments: last", "http://a/b/..", "http://a/"},
	{"4.1 dot segments: backslashes", `http://a/b\..\c`, "http://a/c"},
	{"4.1 dot segments: three dots are none", "http://a/.../b", "http://a/.../b"},
	{"4.1 dot segments: not in a name", "http://a/b../.c", "http://a/b../.c"},
	{"4.1 dot segments: twice escaped are none", "http://a/%252e%252e/b", "http://a/%252e%252e/b"},
	{"4.1 dot segments: empty segments count", "http://a/b//../c", "http://a/b/c"},
	{"4.4 empty segments stay", "http://a//b///c", "http://a//b///c"},
	{"4.4 dots in a query", "http://a/?/../b", "http://a/?/../b"},

	{"1.3 path percent-encode set", "http://a/ \"<>^`{}", "http://a/%20%22%3C%3E%5E%60%7B%7D"},
	{"1.3 path: not encoded", "http://a/!$&'()*+,-.;=@[]_|~:", "http://a/!$&'()*+,-.;=@[]_|~:"},
	{"1.3 path: controls", "http://a/\x01\x7f", "http://a/%01%7F"},
	{"1.3 path: non-ASCII", "http://a/é日\U0001f600", "http://a/%C3%A9%E6%97%A5%F0%9F%98%80"},
	{"1.3 path: text that is not UTF-8", "http://a/\xff\xe9b", "http://a/%EF%BF%BD%EF%BF%BDb"},
	{"1.3 path: escapes stay as they are", "http://a/%7e%2f%zz%", "http://a/%7e%2f%zz%"},
	{"1.3 special-query percent-encode set", "http://a/? \"<>'", "http://a/?%20%22%3C%3E%27"},
	{"1.3 query: not encoded", "http://a/?!$&()*+,-./:;=?@[\\]^_`{|}~", "http://a/?!$&()*+,-./:;=?@[\\]^_`{|}~"},
	{"1.3 query: controls", "http://a/?\x01\x7f", "http://a/?%01%7F"},
	{"1.3 query: non-ASCII is UTF-8", "http://a/?é=日", "http://a/?%C3%A9=%E6%97%A5"},
	{"1.3 query: escapes stay as they are", "http://a/?%7e%2f%zz%", "http://a/?%7e%2f%zz%"},
	{"4.5 an empty query stays", "http://a/?", "http://a/?"},
	{"4.5 an empty query and fragment", "http://a/?#", "http://a/?"},
}

func TestParse(t *testing.T) {
	for _, c := range parseCases {
		u, err := Parse(c.in)
		if got := outcome(u, err); got != c.want {
			t.Errorf("%s: Parse(%q) = %q, want %q", c.rule, c.in, got, c.want)
		}
		if err == nil {
			checkURL(t, c.in)
		}
		checkReference(t, URL{}, c.in)
	}
}

func outcome(u URL, err error) string {
	if err != nil {
		return ReasonOf(err)
	}
	return u.String()
}

// checkURL checks properties of every URL.
func checkURL(t rapid.TB, raw string) {
	t.Helper()
	u, err := Parse(raw)
	if err != nil {
		if !u.IsZero() || ReasonOf(err) == "" {
			t.Errorf("Parse(%q) = %q, %v", raw, u, err)
		}
		return
	}
	s := u.String()
	if again, err := Parse(s); err != nil || again != u {
		t.Errorf("Parse(%q) is %q, parsed again %q, %v", raw, s, again, err)
	}
	if len(s) > MaxLen || !isASCII(s) || strings.ContainsAny(s, " #\t\n\r") {
		t.Errorf("Parse(%q) = %q", raw, s)
	}
	if s != u.Origin()+u.PathQuery() || s != u.Scheme()+"://"+u.Authority()+u.PathQuery() || u.PathQuery()[0] != '/' {
		t.Errorf("parts of %q: %q %q %q %q", s, u.Scheme(), u.Authority(), u.Origin(), u.PathQuery())
	}
	if u.PathQuery() != u.Path() && u.PathQuery() != u.Path()+"?"+u.Query() {
		t.Errorf("parts of %q: %q %q", s, u.Path(), u.Query())
	}
	if u.Hostname() == "" || u.Domain() == "" && u.Hostname() != "." || !strings.HasSuffix(u.Host(), ":"+u.Port()) {
		t.Errorf("host of %q: %q %q %q", s, u.Hostname(), u.Domain(), u.Host())
	}
	if r := u.RobotsURL(); r.String() != u.Origin()+"/robots.txt" || r != mustParse(t, r.String()) {
		t.Errorf("robots of %q: %q", s, r)
	}
	if u.Key() != Safe.Key(u) || u.marks.normal != (u.Normal() == s) {
		t.Errorf("%q: normal form %q, normal %v", s, u.Normal(), u.marks.normal)
	}
}

// resolveCases are resolved against http://a/b/c/d;p?q unless they have another base.
var resolveCases = []struct{ rule, ref, want, base string }{
	{rule: "RFC 3986 5.4.1", ref: "g", want: "http://a/b/c/g"},
	{rule: "RFC 3986 5.4.1", ref: "./g", want: "http://a/b/c/g"},
	{rule: "RFC 3986 5.4.1", ref: "g/", want: "http://a/b/c/g/"},
	{rule: "RFC 3986 5.4.1", ref: "/g", want: "http://a/g"},
	{rule: "RFC 3986 5.4.1", ref: "//g", want: "http://g/"},
	{rule: "RFC 3986 5.4.1", ref: "?y", want: "http://a/b/c/d;p?y"},
	{rule: "RFC 3986 5.4.1", ref: "g?y", want: "http://a/b/c/g?y"},
	{rule: "RFC 3986 5.4.1", ref: "#s", want: "http://a/b/c/d;p?q"},
	{rule: "RFC 3986 5.4.1", ref: "g#s", want: "http://a/b/c/g"},
	{rule: "RFC 3986 5.4.1", ref: "g?y#s", want: "http://a/b/c/g?y"},
	{rule: "RFC 3986 5.4.1", ref: ";x", want: "http://a/b/c/;x"},
	{rule: "RFC 3986 5.4.1", ref: "", want: "http://a/b/c/d;p?q"},
	{rule: "RFC 3986 5.4.1", ref: ".", want: "http://a/b/c/"},
	{rule: "RFC 3986 5.4.1", ref: "./", want: "http://a/b/c/"},
	{rule: "RFC 3986 5.4.1", ref: "..", want: "http://a/b/"},
	{rule: "RFC 3986 5.4.1", ref: "../", want: "http://a/b/"},
	{rule: "RFC 3986 5.4.1", ref: "../g", want: "http://a/b/g"},
	{rule: "RFC 3986 5.4.1", ref: "../..", want: "http://a/"},
	{rule: "RFC 3986 5.4.1", ref: "../../g", want: "http://a/g"},
	{rule: "RFC 3986 5.4.2", ref: "../../../../g", want: "http://a/g"},
	{rule: "RFC 3986 5.4.2", ref: "/../g", want: "http://a/g"},
	{rule: "RFC 3986 5.4.2", ref: "..g", want: "http://a/b/c/..g"},
	{rule: "RFC 3986 5.4.2", ref: "./g/.", want: "http://a/b/c/g/"},
	{rule: "RFC 3986 5.4.2", ref: "g;x=1/../y", want: "http://a/b/c/y"},
	{rule: "RFC 3986 5.4.2", ref: "g?y/../x", want: "http://a/b/c/g?y/../x"},
	{rule: "4.4 special relative: RFC 3986 5.4.2 for old parsers", ref: "http:g", want: "http://a/b/c/g"},
	{rule: "4.4 special relative: upper case", ref: "HTTP:g", want: "http://a/b/c/g"},
	{rule: "4.4 special relative: empty", ref: "http:", want: "http://a/b/c/d;p?q"},
	{rule: "4.4 special relative: query", ref: "http:?y", want: "http://a/b/c/d;p?y"},
	{rule: "4.4 special relative: one slash", ref: "http:/g", want: "http://a/g"},
	{rule: "4.4 special authority: another scheme", ref: "https:g", want: "https://g/"},
	{rule: "4.4 special authority: another scheme, one slash", ref: "https:/g", want: "https://g/"},
	{rule: "4.4 blank reference", ref: " \t\r\n ", want: "http://a/b/c/d;p?q"},
	{rule: "4.4 blanks around", ref: "  g h ", want: "http://a/b/c/g%20h"},
	{rule: "4.4 tabs and newlines inside", ref: "/\n/g\t/h", want: "http://g/h"},
	{rule: "4.4 tabs between dots", ref: ".\t./g", want: "http://a/b/g"},
	{rule: "4.4 relative slash: backslashes", ref: `\\g\h`, want: "http://g/h"},
	{rule: "4.4 relative slash: backslash", ref: `\g`, want: "http://a/g"},
	{rule: "4.4 relative slash: mixed", ref: `/\g`, want: "http://g/"},
	{rule: "4.4 relative slash: three", ref: "///g", want: "http://g/"},
	{rule: "4.4 empty query", ref: "?", want: "http://a/b/c/d;p?"},
	{rule: "4.4 a fragment drops none of the query", ref: "#", want: "http://a/b/c/d;p?q"},
	{rule: "4.4 a colon in a later segment", ref: "g/h:i", want: "http://a/b/c/g/h:i"},
	{rule: "4.4 a colon behind no scheme", ref: "1:2", want: "http://a/b/c/1:2"},
	{rule: "4.4 a colon behind a dot", ref: "./g:h", want: "http://a/b/c/g:h"},
	{rule: "4.4 a colon first", ref: ":g", want: "http://a/b/c/:g"},
	{rule: "4.1 dots, escaped", ref: "%2e%2E/g", want: "http://a/b/g"},
	{rule: "5.1 other schemes", ref: "g:h", want: ReasonScheme},
	{rule: "5.1 other schemes: mailto", ref: "mailto:a@b", want: ReasonScheme},
	{rule: "5.1 other schemes: tel", ref: "tel:+49", want: ReasonScheme},
	{rule: "4.4 host missing", ref: "//", want: ReasonSyntax},
	{rule: "4.4 credentials", ref: "//u@g/", want: ReasonCredentials},
	{rule: "4.4 the base's port stays", ref: "g", base: "http://a:8080/b", want: "http://a:8080/g"},
	{rule: "4.4 the base's port goes with its host", ref: "//g", base: "http://a:8080/b", want: "http://g/"},
	{rule: "4.4 the base's scheme", ref: "//g:80", base: "https://a/", want: "https://g:80/"},
	{rule: "4.4 the base's default port", ref: "//g:443", base: "https://a/", want: "https://g/"},
	{rule: "4.4 the base's query goes", ref: "g", base: "http://a/b/c?x/y/z", want: "http://a/b/g"},
	{rule: "4.1 shorten: empty last segment", ref: "../g", base: "http://a/b//", want: "http://a/b/g"},
	{rule: "4.1 shorten: root", ref: "g", base: "http://a", want: "http://a/g"},
	{rule: "3.5 an IPv6 base", ref: "/g", base: "http://[::1]:81/", want: "http://[::1]:81/g"},
}

func TestResolve(t *testing.T) {
	for _, c := range resolveCases {
		if c.base == "" {
			c.base = "http://a/b/c/d;p?q"
		}
		base := mustParse(t, c.base)
		u, err := base.Resolve(c.ref)
		if got := outcome(u, err); got != c.want {
			t.Errorf("%s: %q at %q = %q, want %q", c.rule, c.ref, c.base, got, c.want)
		}
		checkReference(t, base, c.ref)
	}
}
