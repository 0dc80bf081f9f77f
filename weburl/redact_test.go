package weburl_test

import (
	"strings"
	"testing"

	"github.com/amble-crawler/amble/weburl"
)

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"http://a.test/":                     "http://a.test/",
		"http://user:secret@a.test/x?y#z":    "http://*****@a.test/x?y#z",
		"HTTPS://user@a.test":                "HTTPS://*****@a.test",
		"http://u:se@cret@a.test/":           "http://*****@a.test/",
		"//user:secret@a.test/":              "//*****@a.test/",
		`\\user:secret@a.test\`:              `\\*****@a.test\`,
		`http:\/user:secret@a.test`:          `http:\/*****@a.test`,
		"http:user:secret@a.test/":           "http:*****@a.test/",
		" \x00http://user:secret@a.test/":    " \x00http://*****@a.test/",
		"ht\ttp://us\ner:sec\rret@a.test/\t": "http://*****@a.test/",
		"ftp://user:secret@a.test/":          "ftp://*****@a.test/",
		"user:secret@a.test/":                "user:*****@a.test/",
		"http://user:se/cret@a.test/":        "http://*****@a.test/",
		"http://user:se?cr#et@a.test/":       "http://*****@a.test/",
		"http://user:%73ecret@[::1]:80/":     "http://*****@[::1]:80/",
		"/@user":                             "/@user",
		"@user":                              "@user",
		"user@host/path":                     "user@host/path",
		"http://a.test/@user":                "http://a.test/@user",
		"http://a.test:80/?mail=a@b":         "http://a.test:80/?mail=a@b",
		"http://[::1]/@x":                    "http://[::1]/@x",
		"http://@a.test/":                    "http://@a.test/",
	} {
		if got := weburl.Redact(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Errors of Parse never contain a password.
func TestErrorsHaveNoPasswords(t *testing.T) {
	for _, text := range []string{
		"http://user:secret@a.test/", "ftp://user:secret@a.test/", "http://user:secret@[bad/", "http://user:secret@a b/",
		"http://user:se/secret@a.test/", "http://user:secret@a.test/" + strings.Repeat("x", weburl.MaxLen),
		"http://" + strings.Repeat("u", 190) + ":secret@a.test/",
	} {
		_, err := weburl.Parse(text)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

// Redacted text is rejected for the same reason as the original, so that a replay of a ledger decides like the crawl.
func FuzzRedactedStaysNoURL(f *testing.F) {
	base, err := weburl.Parse("https://base.test/dir/page")
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"http://u:p@h/", "https:u:p@h", "http:u:p@h", "//u:p@h", "u:p@h", "http://u:p/q@h", `/\u:p@h`, "http://h:x@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := base.Resolve(s); err == nil {
			return
		}
		if to, err := base.Resolve(weburl.Redact(s)); err == nil {
			t.Errorf("%q is not a URL, but %q is %s", s, weburl.Redact(s), to)
		}
	})
}

// TestRefusedAllocs checks that rejecting a URL allocates only an error with a copy of its text, because most pages
// have a mailto link.
func TestRefusedAllocs(t *testing.T) {
	base, err := weburl.Parse("http://a.example/b")
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = base.Resolve("mailto:someone@site.example") }); n > 3 {
		t.Errorf("%v allocations, want 3", n)
	}
}
