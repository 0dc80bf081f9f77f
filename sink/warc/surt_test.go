package warc

import (
	"strings"
	"testing"
)

// The sort keys of URLs equal those of the Internet Archive's surt library.
func TestSURT(t *testing.T) {
	id32, id24 := "0123456789abcdefghijklmnopqrstuv", "abcdefghijklmnopqrstuvwx"
	for in, want := range map[string]string{
		"http://archive.org/":                    "org,archive)/",
		"http://archive.org":                     "org,archive)/",
		"https://www.Archive.ORG/goo/":           "org,archive)/goo",
		"http://www34.archive.org/a":             "org,archive)/a",
		"http://www2foo.com/":                    "com,www2foo)/",
		"http://www2.www2foo.com/":               "com,www2foo)/",
		"http://archive.org/goo/?":               "org,archive)/goo",
		"http://archive.org/goo/?b&a":            "org,archive)/goo?a&b",
		"http://archive.org/goo/?a=2&b&a=1":      "org,archive)/goo?a=1&a=2&b",
		"http://archive.org/?a=1&":               "org,archive)/?&a=1",
		"http://archive.org/?b=&b&a":             "org,archive)/?a&b&b=",
		"http://archive.org/?a-b=1&a=1":          "org,archive)/?a=1&a-b=1",
		"http://archive.org/A%2Fb%20c%C3%A9?Q=É": "org,archive)/a/b%20c%c3%a9?q=%c3%89",
		"http://host/%25%32%35":                  "host)/%25",
		"http://host/%2525252525252525":          "host)/%25",
		"http://host/%%%25%32%35asd%%":           "host)/%25%25%25asd%25%25",
		"http://host/%257Ea%2521b%2540c%2523d%2524e%25f%255E00%252611%252A22%252833%252944_55%252B": "host)/~a!b@c%23d$e%25f^00&11*22(33)44_55+",
		"http://host/a/./b/../c//d":                 "host)/a/c/d",
		"http://host/blah/..":                       "host)/",
		"http://host/../a":                          "host)/../a",
		"http://host.com//twoslashes?more//slashes": "com,host)/twoslashes?more//slashes",
		"http://user:pw@host.com:8080/x#frag":       "com,host:8080)/x",
		"http://host.com:80/":                       "com,host)/",
		"https://host.com:443/":                     "com,host)/",
		"https://host.com:80/":                      "com,host:80)/",
		"http://127.0.0.1/":                         "1,0,0,127)/",
		"http://[::1]:8080/":                        "[::1]:8080)/",
		"http://host.com./":                         "com,host)/",
		"http://x.test/a?q=a b":                     "test,x)/a?q=a%20b",
		"http://x.test/a\u2028b c":                  "test,x)/a%e2%80%a8b%20c",
		"http://x.test/i.php?PHPSESSID=" + id32 + "&action=profile;u=1":                                  "test,x)/i.php?action=profile;u=1",
		"http://x.test/?one=two&jsessionid=" + id32:                                                      "test,x)/?&one=two",
		"http://x.test/?jsessionid=" + id32 + "0":                                                        "test,x)/?jsessionid=" + id32 + "0",
		"http://x.test/?sid=" + id32 + "&jsessionid=" + id32:                                             "test,x)/",
		"http://x.test/?aspsessionidABCDEFGH=" + strings.ToUpper(id24) + "&x=y":                          "test,x)/?x=y",
		"http://x.test/?CFID=1169580&CFTOKEN=48630702&dt=22":                                             "test,x)/?dt=22",
		"http://x.test/(S(" + id24 + "))/mileg.aspx":                                                     "test,x)/mileg.aspx",
		"http://x.test/(" + id24 + ")/mileg.aspx":                                                        "test,x)/mileg.aspx",
		"http://x.test/(a(" + id24 + ")S(" + id24 + ")f(" + id24 + "))/mileg.aspx?page=sessionschedules": "test,x)/mileg.aspx?page=sessionschedules",
		"http://x.test/photos/36050182@N05/":                                                             "test,x)/photos/36050182@n05",
		"":                                                                                               ")/",
	} {
		if got := surt(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestUnescapeIsRepeated(t *testing.T) {
	for in, want := range map[string]string{
		"%!A%21%21%25": "%!A!!%", "%": "%", "%2": "%2", "%25": "%", "%25%": "%%", "%2525": "%", "%252525": "%", "%25%32%35": "%",
		"%%32%35": "%", "%%%32%35%32%35": "%%", "%2%35%32%35": "%",
	} {
		if got := string(unescape(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzSURT(f *testing.F) {
	for _, s := range []string{"http://www.x.test/a?b=%41", "https://[::1]:1/%25", "http://x/?sid=", "a b\x00\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key := surt(s)
		if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) || strings.ToLower(key) != key || !strings.Contains(key, ")/") {
			t.Fatalf("%q: %q", s, key)
		}
	})
}

func BenchmarkSURT(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		surt("https://www.example.org/articles/2026/a-title-of-some-length?page=2&lang=en")
	}
}
