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

// TestLiteralHosts checks that net/netip reads the same address from every spelling and from its canonical form.
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

// TestParsesIPv6AsNetip checks that the same texts are IPv6 addresses, except for zones.
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
