package packed

import (
	"testing"

	"github.com/amble-crawler/amble/weburl"
)

func parse(t *testing.T, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestJoinUndoesSplit(t *testing.T) {
	for _, tc := range []struct {
		url  string
		host string // "": the host of the URL
		form Form
		text string
	}{
		{"http://a.test/x?y", "", HTTP, "/x?y"},
		{"https://a.test/x?y", "", HTTPS, "/x?y"},
		{"https://a.test/", "", HTTPS, "/"},
		{"http://a.test:8080/x", "", HTTPPort, "/x"},
		{"http://a.test:443/x", "", HTTPPort, "/x"},
		{"https://a.test:80/x", "", HTTPSPort, "/x"},
		{"https://a.test:8443/x", "", HTTPSPort, "/x"},
		{"http://[::1]/x", "", HTTP, "/x"},
		{"https://[::1]:8443/x", "", HTTPSPort, "/x"},
		{"http://127.0.0.1/", "", HTTP, "/"},
		{"http://bücher.test/ü?ü", "", HTTP, "/%C3%BC?%C3%BC"},
		{"http://b.test/x", "a.test:80", Whole, "http://b.test/x"},
		{"http://a.test/x", "a.test:443", Whole, "http://a.test/x"},
		{"http://a.test/x", "a.test.test:80", Whole, "http://a.test/x"},
	} {
		u := parse(t, tc.url)
		host := tc.host
		if host == "" {
			host = u.Host()
		}
		form, text := Split(host, u)
		if form != tc.form || text != tc.text {
			t.Errorf("Split(%q, %v) = %d, %q; want %d, %q", host, u, form, text, tc.form, tc.text)
		}
		if back, err := Join(host, form, text); err != nil || back != u {
			t.Errorf("Join(%q, %d, %q) = %v, %v; want %v", host, form, text, back, err, u)
		}
	}
}

func FuzzJoinUndoesSplit(f *testing.F) {
	for _, s := range []string{"http://a.test/x?y", "https://[::1]:80/", "http://a.test:81?q", "HTTP://A.TEST\\b", "http://a%41.test/%zz?%"} {
		f.Add(s, "a.test:80")
	}
	f.Fuzz(func(t *testing.T, s, other string) {
		u, err := weburl.Parse(s)
		if err != nil {
			return
		}
		for _, host := range []string{u.Host(), other} {
			form, text := Split(host, u)
			if back, err := Join(host, form, text); err != nil || back != u {
				t.Errorf("Join(%q, %d, %q) = %v, %v; want %v", host, form, text, back, err, u)
			}
		}
	})
}
