package crawltest

import (
	"net/http"
	"strings"
	"testing"
)

func TestCaptureIsReadBack(t *testing.T) {
	bodies := map[string]string{
		"/":       "plain text\n",
		"/empty":  "",
		"/bare":   "no line end",
		"/marker": "x\n-- http://b.example/ --\ny\n",
		"/crlf":   "a\r\nb\r\n",
		"/binary": "\x1f\x8b\x00\xff" + strings.Repeat("\x00\xfe", 200),
	}
	var c Capture
	h := http.Header{
		"Content-Type": {"text/html; charset=utf-8"}, "Etag": {`W/"x y"`}, "X-Robots-Tag": {"noindex", "bot: nofollow"},
		"Set-Cookie": {"id=1"}, "Location": {"/b c?d=\"e\""},
	}
	for path, body := range bodies {
		if err := c.Add("http://a.example"+path, 203, h, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Add("http://a.example/untyped", 200, http.Header{}, nil); err != nil {
		t.Fatal(err)
	}
	bubble(t, func(t *testing.T, w *Web) {
		w.Load(c.Fixture())
		cl := client(t, w)
		for path, body := range bodies {
			resp, got, err := get(cl, "http://a.example"+path)
			if err != nil || got != body || resp.StatusCode != http.StatusNonAuthoritativeInfo {
				t.Fatalf("%s: %q %v %v", path, got, resp, err)
			}
			for key, want := range h {
				if got := strings.Join(resp.Header[key], "|"); key != "Set-Cookie" && got != strings.Join(want, "|") || key == "Set-Cookie" && got != "" {
					t.Errorf("%s: %s is %q", path, key, got)
				}
			}
		}
		if resp, _, err := get(cl, "http://a.example/untyped"); err != nil || resp.Header["Content-Type"] != nil {
			t.Errorf("%v %v", resp, err)
		}
	})
}

func TestCaptureRefusesWhatCannotBeServed(t *testing.T) {
	var c Capture
	if c.Add("ftp://a.example/", 200, nil, nil) == nil || c.Add("http://a.example/", 100, nil, nil) == nil {
		t.Error("taken")
	}
	if len(c.Fixture()) != 0 {
		t.Errorf("%q", c.Fixture())
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(fixtureText)
	f.Add("-- http://a.example/ base64 --\n!\n")
	f.Add("-- http://a.example/robots.txt at=1m forbids=/a,/b* site-fault=refuse+first:2+from:1s fault=slow:1/2s address=192.0.2.1,::1 --\n")
	f.Fuzz(func(t *testing.T, archive string) {
		w := NewWeb()
		defer w.Close()
		_ = w.load("f", []byte(archive))
	})
}

func FuzzWordsAreReadBack(f *testing.F) {
	f.Add("http://a.example/", `header=ETag:"x y"`)
	f.Fuzz(func(t *testing.T, a, b string) {
		got, err := splitWords(joinWords([]string{"u", a, b}))
		if a == "" || b == "" || strings.ContainsAny(a+b, "\r\n") {
			return
		}
		if err != nil || len(got) != 3 || got[1] != a || got[2] != b {
			t.Errorf("%q %q: %q %v", a, b, got, err)
		}
	})
}
