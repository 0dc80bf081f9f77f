package fetcher

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// loaded returns a Jar with the cookies of a file.
func loaded(t *testing.T, text string, at ...weburl.URL) *Jar {
	t.Helper()
	j := NewJar()
	if _, err := j.Load(strings.NewReader(text), at...); err != nil {
		t.Fatal(err)
	}
	return j
}

// A file as curl writes it, with every feature of the format. The last line is from wget, and has no value.
const cookieFile = "# Netscape HTTP Cookie File\r\n# https://curl.se/docs/http-cookies.html\r\n\r\n" +
	"#HttpOnly_.a.test\tTRUE\t/\tTRUE\t0\twide\t1\r\n" +
	"www.a.test\tFALSE\t/\tFALSE\t4102444800\thost\t2\r\n" +
	"www.a.test\tFALSE\t/deep\tFALSE\t4102444800.5\tdeep\t\"3 3\"\r\n" +
	"www.a.test\tFALSE\t/\tFALSE\t1000000000\tgone\t4\r\n" +
	".co.uk\tTRUE\t/\tFALSE\t0\tsuffix\t5\n" +
	"127.0.0.1\tTRUE\t/\tFALSE\t0\tip\t6\n" +
	"www.a.test\tFALSE\t/\tFALSE\t0\tempty\n"

// TestLoadedCookiesGoWhereTheirFileSays checks domain, host-only, path, secure and expiry. A port other than
// the default one gets cookies only if it was passed to Load.
func TestLoadedCookiesGoWhereTheirFileSays(t *testing.T) {
	j := NewJar()
	n, err := j.Load(strings.NewReader(cookieFile), parse(t, "https://a.test:8443/x"))
	if err != nil || n.Cookies != 6 || n.Expired != 1 {
		t.Fatalf("%+v, %v", n, err)
	}
	for _, tc := range []struct{ origin, path, want string }{
		{"https://www.a.test", "/", "host=2; empty=; wide=1"},
		{"https://www.a.test", "/deep/x", `host=2; deep="3 3"; empty=; wide=1`},
		{"https://www.a.test", "/deeper", "host=2; empty=; wide=1"},
		{"http://www.a.test", "/", "host=2; empty="},
		{"https://a.test", "/", "wide=1"},
		{"https://x.y.a.test", "/", "wide=1"},
		{"https://www.a.test:8443", "/", ""},
		{"https://a.test:8443", "/", "wide=1"},
		{"http://a.test:8443", "/", ""},
		{"https://a.test:8444", "/", ""},
		{"https://xa.test", "/", ""},
		{"https://test", "/", ""},
		{"https://co.uk", "/", "suffix=5"},
		{"https://b.co.uk", "/", ""},
		{"http://127.0.0.1", "/", "ip=6"},
		{"http://127.0.0.1:8080", "/", ""},
		{"http://1.127.0.0.1", "/", ""},
	} {
		if got := j.header(tc.origin, tc.path, time.Now()); got != tc.want {
			t.Errorf("%s%s: %q, want %q", tc.origin, tc.path, got, tc.want)
		}
	}
}

// TestAnswersChangeLoadedCookies checks that a response from a cookie's host replaces or removes the cookie. A host-only
// cookie of the same name hides the loaded cookie only in requests to its own origin.
func TestAnswersChangeLoadedCookies(t *testing.T) {
	const file = "a.test\tTRUE\t/\tTRUE\t0\ts\told\n"
	for _, tc := range []struct{ name, origin, set, want, sibling string }{
		{"renewed", "https://www.a.test", "s=new; Domain=a.test; Path=/", "s=new", "s=new"},
		{"removed", "https://www.a.test", "s=; Domain=a.test; Path=/; Max-Age=0", "", ""},
		{"a cookie of the host", "https://www.a.test", "s=new; Path=/", "s=new", "s=old"},
		{"elsewhere", "https://www.a.test", "s=new; Path=/x", "s=old", "s=old"},
		{"another name", "https://www.a.test", "t=new; Path=/", "t=new; s=old", "s=old"},
		{"in clear text", "http://www.a.test", "s=new; Domain=a.test; Path=/", "s=old", "s=old"},
		{"another port", "https://www.a.test:99", "s=new; Domain=a.test; Path=/", "s=old", "s=old"},
		{"another domain", "https://b.test", "s=new; Domain=a.test; Path=/", "s=old", "s=old"},
	} {
		j := loaded(t, file)
		before := j.Changes()
		j.store(tc.origin, "/", []string{tc.set}, time.Now())
		if got := j.header("https://www.a.test", "/", time.Now()); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		if got := j.header("https://x.a.test", "/", time.Now()); got != tc.sibling {
			t.Errorf("%s: another host sends %q, want %q", tc.name, got, tc.sibling)
		}
		if changed := tc.name != "another domain"; (j.Changes() > before) != changed {
			t.Errorf("%s: changes %d to %d", tc.name, before, j.Changes())
		}
	}
}

// TestInvalidCookieFiles checks that the error names the line and reveals none of its text, which may be secret.
func TestInvalidCookieFiles(t *testing.T) {
	const good = "a.test\tFALSE\t/\tFALSE\t0\ta\tb\n"
	for name, tc := range map[string]struct{ text, want string }{
		"empty":           {"# Netscape HTTP Cookie File\n", "no cookie"},
		"JSON":            {`[{"name":"s3cret","value":"s3cret"}]`, "line 1: want seven fields"},
		"a header":        {"# x\n\nCookie: s3cret=s3cret", "line 3: want seven fields"},
		"a private key":   {good + "s3cret\n", "line 2: want seven fields"},
		"binary":          {"\x00\xff\x00s3cret", "line 1: want seven fields"},
		"spaces":          {"a.test FALSE / FALSE 0 s3cret s3cret", "it has 1"},
		"domain":          {"a test\tFALSE\t/\tFALSE\t0\ts3cret\ts3cret", "line 1: the first field"},
		"a URL":           {"http://a.test/\tFALSE\t/\tFALSE\t0\ts3cret\ts3cret", "line 1: the first field"},
		"a port":          {"a.test:80\tFALSE\t/\tFALSE\t0\ts3cret\ts3cret", "line 1: the first field"},
		"wide":            {"a.test\tyes\t/\tFALSE\t0\ts3cret\ts3cret", "line 1: the second field"},
		"path":            {"a.test\tFALSE\tx\tFALSE\t0\ts3cret\ts3cret", "line 1: the third field"},
		"secure":          {"a.test\tFALSE\t/\t1\t0\ts3cret\ts3cret", "line 1: the fourth field"},
		"expiry":          {"a.test\tFALSE\t/\tFALSE\tnever\ts3cret\ts3cret", "line 1: the fifth field"},
		"name":            {"a.test\tFALSE\t/\tFALSE\t0\ts3cret=\ts3cret", "line 1: the sixth field"},
		"value":           {good + "a.test\tFALSE\t/\tFALSE\t0\ts3cret\ts3cret\x01", "line 2: the value"},
		"several cookies": {"a.test\tFALSE\t/\tFALSE\t0\ta\ts3cret; b=c", "line 1: the value"},
		"a long value":    {"a.test\tFALSE\t/\tFALSE\t0\ta\t" + strings.Repeat("s3cret", 700), "longer than 4096 bytes"},
		"too many":        {strings.Repeat(good, maxLoaded+1), "line 5001"},
		"too big":         {strings.Repeat("#\n", maxCookieFile), "longer than"},
	} {
		j := NewJar()
		_, err := j.Load(strings.NewReader(tc.text))
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
		if len(j.loaded) > 0 || j.Changes() > 0 || j.Source() != "" {
			t.Errorf("%s: the Jar was changed", name)
		}
	}
	broken := errors.New("broken")
	if _, err := NewJar().Load(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// TestSavedJar checks that a Jar sends the same cookies after Restore, even those that are not valid UTF-8, and that
// saved data is bounded.
func TestSavedJar(t *testing.T) {
	j := loaded(t, cookieFile+"www.a.test\tFALSE\t/\tFALSE\t0\tlatin\t\xe9\n", parse(t, "http://www.a.test:8080/"))
	now := time.Now()
	j.store("http://b.test", "/", []string{"a=1; Path=/", "b=c; Path=/x; Max-Age=3600"}, now)
	for i := range 2000 {
		j.store(fmt.Sprintf("http://h%d.test", i), "/", []string{"a=" + strings.Repeat("x", 4000)}, now)
	}
	j.header("http://b.test", "/", now) // makes the cookies of b.test recently used
	b, err := j.Save()
	if err != nil || len(b) > 2*maxSaved {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	again := NewJar()
	if err := again.Restore(b); err != nil {
		t.Fatal(err)
	}
	for _, u := range []string{"https://www.a.test", "http://www.a.test:8080", "http://b.test", "http://h1999.test", "https://x.a.test"} {
		if got, want := again.header(u, "/x", now), j.header(u, "/x", now); got != want || got == "" {
			t.Errorf("%s: %q, want %q", u, got, want)
		}
	}
	if again.Source() != j.Source() || again.header("http://h0.test", "/", now) != "" {
		t.Error("the source, or more than fits")
	}
	for _, bad := range []string{"", "{}", "s3cret", `{"schema":"amble.cookies/9"}`, `{"schema":"amble.cookies/1","sites":"s3cret"}`} {
		if err := again.Restore([]byte(bad)); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if again.header("http://b.test", "/", now) == "" {
		t.Error("a failed Restore has emptied the Jar")
	}
}

// TestAJarIsShared checks that two Fetchers with one Jar share cookies.
func TestAJarIsShared(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "a=b; Path=/")
		_, _ = io.WriteString(w, r.Header.Get("Cookie"))
	})
	jar := NewJar()
	newRig(t, Config{Jar: jar}).page(s.URL)
	if got := newRig(t, Config{Jar: jar}).page(s.URL).Body; string(got) != "a=b" {
		t.Errorf("%q", got)
	}
}
