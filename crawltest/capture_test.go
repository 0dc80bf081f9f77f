package crawltest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/amble-crawler/amble/crawltest/fixture"
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

func TestCaptureRefusesUnservableResponses(t *testing.T) {
	var c Capture
	if c.Add("ftp://a.example/", 200, nil, nil) == nil || c.Add("http://a.example/", 100, nil, nil) == nil {
		t.Error("taken")
	}
	if len(c.Fixture()) != 0 {
		t.Errorf("%q", c.Fixture())
	}
}

// A compressed response is stored uncompressed in a fixture, without the header field for the compression.
func TestCaptureOfCompressedPageIsReadable(t *testing.T) {
	var c Capture
	if err := c.Add("http://a.example/", 200, http.Header{"Content-Encoding": {"gzip"}}, []byte("text\n")); err != nil {
		t.Fatal(err)
	}
	bubble(t, func(t *testing.T, w *Web) {
		w.Load(c.Fixture())
		if _, got, err := get(client(t, w), "http://a.example/"); err != nil || got != "text\n" {
			t.Errorf("%q %v", got, err)
		}
	})
}

// Add copies a body, because a crawler reuses its memory after the visit.
func TestCaptureKeepsBodyThatIsOverwritten(t *testing.T) {
	var c Capture
	body := []byte("one\n")
	if err := c.Add("http://a.example/", 200, http.Header{}, body); err != nil {
		t.Fatal(err)
	}
	copy(body, "two")
	if got := string(c.Fixture()); !strings.HasSuffix(got, "\none\n") {
		t.Error(got)
	}
}

// Text stays readable, even without a final newline.
func TestCaptureOfTextIsReadable(t *testing.T) {
	var c Capture
	if err := c.Add("http://a.example/", 200, http.Header{"Content-Type": {"text/html"}}, []byte("<p>\nbare")); err != nil {
		t.Fatal(err)
	}
	if got, want := string(c.Fixture()), "-- http://a.example/ status=200 type=text/html no-newline --\n<p>\nbare\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A fixture has each URL once. For a repeated robots.txt, it has the last response.
func TestCaptureKeepsLastAnswer(t *testing.T) {
	var c Capture
	for _, q := range []struct {
		url    string
		status int
	}{{"http://a.example/robots.txt", 503}, {"http://a.example/", 200}, {"http://A.example:80/robots.txt", 200}} {
		if err := c.Add(q.url, q.status, http.Header{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	const want = "-- http://a.example/robots.txt status=200 type= --\n-- http://a.example/ status=200 type= --\n"
	if got := string(c.Fixture()); got != want || c.Len() != 2 {
		t.Errorf("%d URLs:\n%s\nwant\n%s", c.Len(), got, want)
	}
}

func TestCaptureHasMaximumSize(t *testing.T) {
	var c Capture
	half := make([]byte, fixture.MaxSize*3/4/2) // base64 encodes three bytes as four
	half[0], half[1] = 0, 0xff
	var err error
	for _, path := range []string{"a", "a", "b", "c"} {
		err = c.Add("http://a.example/"+path, 200, http.Header{}, half)
		if path == "a" && err != nil {
			t.Fatal(err)
		}
	}
	if err == nil || len(c.Fixture()) > fixture.MaxSize {
		t.Errorf("%d bytes, %v", len(c.Fixture()), err)
	}
}

func TestLoadNamesWhatIsWrong(t *testing.T) {
	for _, x := range []struct{ archive, want string }{
		{"PK\x03\x04 no archive of text", "f: no files in the archive: each begins with a line such as -- https://a.example/ --"},
		{"", "f: no files in the archive: each begins with a line such as -- https://a.example/ --"},
		{"-- http://a.example/%7Eb --\nx\n-- http://a.example/~b --\n", "f:3: http://a.example/~b is in line 1 already: remove one, or say with at= when it changes"},
		{"-- http://a.example/b --\nx\n-- http://a.example/ --\n-- http://a.example/b type= --\n", "f:4: http://a.example/b is in line 1 already: remove one, or say with at= when it changes"},
		{strings.Repeat("x", fixture.MaxSize+1), "f: the archive has more than 64 MiB: capture fewer pages"},
	} {
		w := NewWeb()
		if err := w.load("f", []byte(x.archive)); err == nil || err.Error() != x.want {
			t.Errorf("%.40q: %v\nwant %s", x.archive, err, x.want)
		}
		w.Close()
	}
	w := NewWeb()
	defer w.Close()
	if err := w.load("f", []byte("-- http://a.example/b --\nx\n-- http://a.example/b at=1m --\n")); err != nil {
		t.Error(err)
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
	f.Add("http://a.example/", `"x y"`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.ContainsAny(a+b, "\r\n") {
			return
		}
		var c Capture
		if err := c.Add("http://a.example/", 200, http.Header{"Etag": {a}, "Link": {b}}, nil); err != nil {
			t.Fatal(err)
		}
		words, err := splitWords(txtar.Parse(c.Fixture()).Files[0].Name)
		if want := []string{"http://a.example/", "status=200", "type=", "header=ETag:" + a, "header=Link:" + b}; err != nil || !slices.Equal(words, want) {
			t.Errorf("%q, %v; want %q", words, err, want)
		}
	})
}
