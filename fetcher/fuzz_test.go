package fetcher

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness"
)

// FuzzAnswer sends arbitrary bytes as a response. The result is a page within the limits or an *Error with a reason;
// the fetch never hangs.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 204 None\r\n\r\n",
		"HTTP/1.1 101 Switch\r\nUpgrade: x\r\n\r\nabc",
		"HTTP/1.0 404 Not\r\nContent-Type: text/html; charset=koi8-r\r\nSet-Cookie: a=b; Max-Age=1\r\n\r\n<meta charset=x>\xc1",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff",
		"HTTP/1.1 200 OK\r\nContent-Encoding: br, deflate, zstd\r\n\r\n\x0b\x02\x80",
		"\r\n\r\n", "HTTP/1.1", "",
	} {
		f.Add([]byte(s))
	}
	var text []byte // shared, because a fuzz worker runs one input at a time
	fe, err := New(Config{
		MaxBody: 10_000, WireSlack: 10_000, MaxHeader: 5_000, Cookies: true, Record: true, FetchTimeout: 5 * time.Second,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			answer := text
			go func() {
				defer server.Close()
				if request(server) != "" {
					server.Write(answer)
				}
			}()
			return client, nil
		},
	})
	if err != nil {
		f.Fatal(err)
	}
	defer fe.Close()
	f.Fuzz(func(t *testing.T, b []byte) {
		text = b
		r := &rig{t: t, f: fe, gate: newGate(t, politeness.Config{})}
		p := r.permitAt(parse(t, "http://a.test/"), pipeAddr, politeness.Page)
		page, err := fe.Fetch(t.Context(), p)
		if err != nil {
			if ReasonOf(err) == "" || ReasonOf(err) == reasonFetchTimeout {
				t.Fatalf("%v", err)
			}
			r.gate.Report(p, ReplyForError(err))
			return
		}
		r.gate.Report(p, page.Reply())
		if len(page.Body) > 10_000 || page.Status < 200 || len(page.Raw.Body)+len(page.Raw.Head) > 20_000 {
			t.Fatalf("%d: %d bytes", page.Status, len(page.Body))
		}
		if _, err := page.Text(); err != nil {
			t.Fatal(err)
		}
		page.Release()
	})
}

// FuzzDecode decodes arbitrary bytes with arbitrary codings. It must not panic or exceed the limit, and decoders must
// stay reusable.
func FuzzDecode(f *testing.F) {
	hello := []byte("hello, hello, hello")
	for _, c := range []string{"gzip", "br", "zstd", "deflate", "deflate-raw"} {
		f.Add(strings.TrimSuffix(c, "-raw"), encode(f, hello, c))
	}
	f.Add("gzip, br", encode(f, hello, "gzip", "br"))
	f.Add("zstd, gzip", encode(f, append(encode(f, hello, "zstd"), "trailing"...), "gzip"))
	f.Add("utf-8, x-gzip", hello)
	c := &codecs{window: defaultMaxWindow}
	read := func(header string, body []byte) ([]byte, error) {
		d, err := c.open(&source{ctx: context.Background(), body: bytes.NewReader(body)}, codingsOf(http.Header{"Content-Encoding": {header}}), 1<<20, hints{max: 2, sitemap: true})
		defer d.close()
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(d, 1<<20))
	}
	good := map[string][]byte{}
	for _, k := range []string{"gzip", "br", "zstd", "deflate"} {
		good[k] = encode(f, hello, k)
	}
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		read(header, body)
		for k, b := range good {
			if got, err := read(k, b); err != nil || !bytes.Equal(got, hello) {
				t.Fatalf("after %q: %s gives %q, %v", header, k, got, err)
			}
		}
	})
}

func FuzzPrescan(f *testing.F) {
	f.Add([]byte("<!-- x --><meta charset='koi8-r'><meta http-equiv=content-type content='a; charset=b'>"))
	f.Add([]byte("<a b=c d='e' f><?pi?></x y=z><meta/charset="))
	f.Fuzz(func(t *testing.T, b []byte) {
		if name := prescan(b); name != "" && canonical(name) != name {
			t.Fatalf("%q", name)
		}
		_ = charsetByXML(b)
		_ = sniffFeed(b)
		_ = headLength(b)
	})
}

func FuzzCookie(f *testing.F) {
	f.Add("a=b; Path=/x; Domain=.a.test; Max-Age=5; Secure", "/x/y")
	f.Add("a=\"b c\"; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "")
	f.Fuzz(func(t *testing.T, set, path string) {
		j, now := NewJar(), time.Now()
		j.store("https://www.a.test", path, []string{set}, now)
		if h := j.header("https://www.a.test", path, now); len(h) > maxCookieHeader || strings.ContainsAny(h, "\r\n") {
			t.Fatalf("%q", h)
		}
	})
}
