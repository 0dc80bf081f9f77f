package sink

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"io"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"
)

func TestPayloadHasNoTransferCoding(t *testing.T) {
	for name, c := range map[string]struct {
		head, body, want string
		chunked          bool
	}{
		"not chunked":                 {"", "5\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", false},
		"chunked":                     {"Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n", "hello", true},
		"case, white space":           {"TRANSFER-encoding: \tChunked \r\n", "5\r\nhello\r\n0\r\n\r\n", "hello", true},
		"extensions, trailers, zeros": {"Transfer-Encoding: chunked\r\n", "005;a=\"b\" \r\nhello\r\n6 \r\n world\r\n000\r\nX: y\r\n\r\n", "hello world", true},
		"upper-case digits":           {"Transfer-Encoding: chunked\r\n", "A\r\n0123456789\r\n0\r\n\r\n", "0123456789", true},
		"LF alone":                    {"Transfer-Encoding: chunked\n", "5\nhello\n0\n\n", "hello", true},
		"cut in a chunk":              {"Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n1000\r\nwor", "hellowor", true},
		"cut in a size":               {"Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n10", "hello", true},
		"cut in an extension":         {"Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n10;é=", "hello", true},
		"cut behind a chunk":          {"Transfer-Encoding: chunked\r\n", "5\r\nhello\r", "hello", true},
		"nothing arrived":             {"Transfer-Encoding: chunked\r\n", "", "", true},
		"bytes behind the end":        {"Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\nmore", "hello", true},
		"not what it says":            {"Transfer-Encoding: chunked\r\n", "<html>\r\n", "<html>\r\n", false},
		"a chunk too long":            {"Transfer-Encoding: chunked\r\n", "5\r\nhello world\r\n0\r\n\r\n", "5\r\nhello world\r\n0\r\n\r\n", false},
		"a size too large":            {"Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\nx", "fffffffffffffffff\r\nx", false},
		"an empty size":               {"Transfer-Encoding: chunked\r\n", "\r\nx", "\r\nx", false},
		"another coding":              {"Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n", "0\r\n\r\n", false},
		"two fields":                  {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", "0\r\n\r\n", false},
	} {
		x := &Exchange{Head: []byte("HTTP/1.1 200 OK\r\n" + c.head + "\r\n"), Body: []byte(c.body)}
		if got := string(x.Payload()); got != c.want || x.Chunked() != c.chunked {
			t.Errorf("%s: %q, chunked %v", name, got, x.Chunked())
		}
		if x.SHA1() != sha1.Sum([]byte(c.want)) || x.SHA256() != sha256.Sum256([]byte(c.want)) {
			t.Errorf("%s: the digests are of something else", name)
		}
		if string(x.Body) != c.body {
			t.Errorf("%s: the body was changed", name)
		}
	}
}

func TestDigestsAreComputedOnce(t *testing.T) {
	x := &Exchange{Head: []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), Body: []byte("5\r\nhello\r\n0\r\n\r\n")}
	x.SHA1()
	x.SHA256()
	if n := testing.AllocsPerRun(10, func() { x.SHA1(); x.SHA256(); x.Payload() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzPayload compares Payload with the reader of net/http wherever that accepts the body.
func FuzzPayload(f *testing.F) {
	for _, s := range []string{"5\r\nhello\r\n0\r\n\r\n", "5;x\nhello\n0\nA: b\n\n", "0", "a\r\n0123456789", "1\r\nx\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := slices.Clone(body)
		got, ok := unchunk(body)
		if !bytes.Equal(body, before) || len(got) > len(body) {
			t.Fatal("the body was changed, or the payload is longer")
		}
		want, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(body)))
		if err == nil && (!ok || !bytes.Equal(got, want)) {
			t.Fatalf("%q: %q, %v; net/http: %q", body, got, ok, want)
		}
		if ok && err != nil && !bytes.HasPrefix(got, want) {
			t.Fatalf("%q: %q; net/http: %q, %v", body, got, want, err)
		}
	})
}

func TestStatusAndType(t *testing.T) {
	for head, want := range map[string]struct {
		status   int
		answered bool
		mime     string
	}{
		"HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=x\r\n\r\n":     {200, true, "text/html"},
		"HTTP/1.1 404\nContent-Type:text/plain\n\n":                         {404, true, "text/plain"},
		"HTTP/1.0 301 \r\ncontent-type : text/html\r\n\r\n":                 {301, true, ""},
		"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Type: c/d\r\n\r\n": {200, true, "a/b"},
		"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n":                    {200, false, "text/html"},
		"HTTP/1.1 200 OK\r\n\r\nbody":                                       {200, false, ""},
		"HTTP/1.1 20":                                                       {0, false, ""},
		"HTTP/1.1 2x0 OK\r\nContent-Type: text\r\n\r\n":                     {0, true, ""},
		"HTTP/1.1 2000 OK\r\nContent-Type: text/\x01\r\n\r\n":               {0, true, ""},
		"ICY 200 OK\r\nContent-Type: \"a\"/b\r\n\r\n":                       {0, true, ""},
		"": {0, false, ""},
		"HTTP/1.1 200 OK\r\n Content-Type: folded/x\r\nContent-Type: é/x\r\n\r\n": {200, true, ""},
	} {
		x := &Exchange{Head: []byte(head)}
		if x.Status() != want.status || x.Answered() != want.answered || x.ContentType() != want.mime {
			t.Errorf("%q: %d %v %q", head, x.Status(), x.Answered(), x.ContentType())
		}
	}
}

func TestSyntheticHeadIsHTTP1(t *testing.T) {
	h := http.Header{"Server": {"x"}, "Set-Cookie": {"a=b", "c=d\r\nX: y"}, "Content-Encoding": {"gzip"}, "Content-Length": {"5"}, ":status": {"200"}, "Bad Name": {"x"}}
	want := "HTTP/1.1 200 \r\nContent-Encoding: gzip\r\nContent-Length: 5\r\nServer: x\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d  X: y\r\n\r\n"
	if got := string(SyntheticHead(200, h, false)); got != want {
		t.Errorf("%q", got)
	}
	head := SyntheticHead(200, h, true)
	if got := string(head); !strings.Contains(got, "\r\nX-Crawler-Content-Encoding: gzip\r\nX-Crawler-Content-Length: 5\r\n") || strings.Contains(got, "\r\nContent-") {
		t.Errorf("%q", got)
	}
	resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(bytes.NewReader(head), strings.NewReader("a longer body"))), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "a longer body" {
		t.Errorf("%q, %v", b, err)
	}
	if x := (&Exchange{Head: head}); !x.Answered() || x.Status() != 200 {
		t.Errorf("%q is no answer", head)
	}
}

func TestSyntheticRequestIsHTTP1(t *testing.T) {
	b := SyntheticRequest("/a?b", "x.test:8080", http.Header{"User-Agent": {"amble"}, "Accept": {"*/*\nEvil: 1"}})
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
	if err != nil || req.URL.String() != "/a?b" || req.Host != "x.test:8080" || len(req.Header) != 2 {
		t.Errorf("%q: %+v, %v", b, req, err)
	}
}
