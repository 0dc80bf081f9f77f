package fetcher

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestCookiesAreOffByDefault(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "a=b")
		echo(w, r)
	})
	r := newRig(t, Config{})
	for range 2 {
		if p := r.page(s.URL); len(p.Body) != 0 {
			t.Fatalf("%q", p.Body)
		}
	}
}

func TestCookiesReturnToTheirOriginOnly(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/set" {
			w.Header()["Set-Cookie"] = []string{"a=b; Path=/", "c=\"d e\"; Path=/deep; HttpOnly", "s=x; Secure", "o=x; Domain=other.test"}
			return
		}
		echo(w, r)
	}
	a, b := serve(t, handler), serve(t, handler)
	r := newRig(t, Config{Cookies: true})
	r.page(a.URL + "/set")
	for url, want := range map[string]string{a.URL + "/x": "Cookie: a=b\n", a.URL + "/deep/x": "Cookie: a=b; c=\"d e\"\n", b.URL + "/x": ""} {
		p := r.page(url)
		if body, _ := io.ReadAll(strings.NewReader(string(p.Body))); string(body) != want {
			t.Errorf("%s: %q", url, body)
		}
	}
}

func TestJar(t *testing.T) {
	const origin = "https://www.a.co.uk"
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct{ name, set, path, want string }{
		{"plain", "a=b", "/", "a=b"},
		{"own host", "a=b; Domain=www.a.co.uk", "/", "a=b"},
		{"parent, to the origin alone", "a=b; Domain=.A.co.uk", "/", "a=b"},
		{"public suffix", "a=b; Domain=co.uk", "/", ""},
		{"child", "a=b; Domain=x.www.a.co.uk", "/", ""},
		{"other", "a=b; Domain=evil.test", "/", ""},
		{"suffix of letters", "a=b; Domain=w.a.co.uk", "/", ""},
		{"deleted", "a=b; Max-Age=0", "/", ""},
		{"past", "a=b; Expires=Fri, 20 Nov 2026 00:00:00 GMT", "/", ""},
		{"future", "a=b; Expires=Sun, 22 Nov 2026 00:00:00 GMT", "/", "a=b"},
		{"huge Max-Age", "a=b; Max-Age=9223372036854775807", "/", "a=b"},
		{"path", "a=b; Path=/x", "/x/y", "a=b"},
		{"path's boundary", "a=b; Path=/x", "/xy", ""},
		{"relative path", "a=b; Path=x", "/dir/z", "a=b"},
		{"default path", "a=b", "/dir/other", "a=b"},
		{"default path elsewhere", "a=b", "/elsewhere", "a=b"},
		{"no name", "=b", "/", ""},
		{"nonsense", "\x00", "/", ""},
		{"too big", "a=" + strings.Repeat("x", maxCookie), "/", ""},
		{"biggest", "a=" + strings.Repeat("x", maxCookie-1), "/", "a=" + strings.Repeat("x", maxCookie-1)},
	} {
		j := NewJar()
		j.store(origin, "/page", []string{tc.set}, now)
		if got := j.header(origin, tc.path, now); got != tc.want {
			t.Errorf("%s: %.60q", tc.name, got)
		}
		if got := j.header("http://www.a.co.uk", tc.path, now); got != "" {
			t.Errorf("%s: another origin got %q", tc.name, got)
		}
	}
	j := NewJar()
	j.store("http://a.test", "/dir/page", []string{"a=1", "b=2; Secure", "a=3"}, now)
	if got := j.header("http://a.test", "/dir/x", now); got != "a=3" {
		t.Errorf("%q", got)
	}
	if got := j.header("http://a.test", "/x", now); got != "" {
		t.Errorf("default path: %q", got)
	}
}

// With two pages that set 60 cookies each, the jar of net/http sends a header of 458 kB.
func TestJarIsBounded(t *testing.T) {
	j, now := NewJar(), time.Now()
	var set []string
	for i := range 200 {
		set = append(set, fmt.Sprintf("c%d=%s; Path=/", i, strings.Repeat("x", 4000)))
	}
	j.store("http://a.test", "/", set, now)
	j.store("http://a.test", "/", set[100:], now)
	if n := len(j.site("http://a.test").cookies); n != maxCookies {
		t.Errorf("%d cookies", n)
	}
	if n := len(j.header("http://a.test", "/", now)); n > maxCookieHeader || n < maxCookieHeader/2 {
		t.Errorf("header of %d bytes", n)
	}
	for i := range maxCookieSites + 100 {
		j.store(fmt.Sprintf("http://h%d.test", i), "/", []string{"a=b"}, now)
	}
	if len(j.sites) != maxCookieSites || j.recent.Len() != maxCookieSites || j.site("http://a.test") != nil {
		t.Errorf("%d sites", len(j.sites))
	}
}
