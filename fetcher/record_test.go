package fetcher

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestRecordIsWhatWentOverTheWire(t *testing.T) {
	body := encode(t, []byte("hello"), "gzip")
	head := "HTTP/1.1 200 Fine\r\nContent-Encoding: gzip\r\nX-odd-Case:  v \r\nTransfer-Encoding: chunked\r\n\r\n"
	wire := fmt.Sprintf("%x\r\n%s\r\n0\r\nTrailer: x\r\n\r\n", len(body), body)
	var sent string
	got := make(chan string, 10)
	url := raw(t, keepAliveNoting(got, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 102 Processing\n\n"+head+wire))
	origin := strings.TrimSuffix(url, "/")
	r := newRig(t, Config{Record: true, Headers: Headers{origin: {"Authorization": {"Basic c2VjcmV0"}}}})
	for range 2 {
		p := r.page(url + "/x")
		sent = <-got
		if string(p.Body) != "hello" || p.Raw == nil || string(p.Raw.Head) != head || string(p.Raw.Body) != wire || p.Raw.Cut {
			t.Fatalf("%q %+v", p.Body, p.Raw)
		}
		if want := strings.Replace(sent, "Basic c2VjcmV0", strings.Repeat("*", 14), 1); string(p.Raw.Request) != want || !strings.Contains(sent, "c2VjcmV0") {
			t.Fatalf("recorded\n%s\nwant\n%s", p.Raw.Request, want)
		}
	}
}

func keepAliveNoting(to chan<- string, text string) func(c netConn) {
	return func(c netConn) {
		for {
			req := request(c)
			if req == "" {
				return
			}
			to <- req
			io.WriteString(c, text)
		}
	}
}

// An HTTP/2 message has no textual form to archive, so an archive requests HTTP/1.1.
func TestRecordAsksForHTTP1(t *testing.T) {
	s, c := serveTLS(t, true, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") })
	c.Record = true
	p := newRig(t, c).page(named(s, "/"))
	if p.Proto != "HTTP/1.1" || !bytes.HasPrefix(p.Raw.Head, []byte("HTTP/1.1 200 OK\r\n")) || !bytes.HasPrefix(p.Raw.Request, []byte("GET / HTTP/1.1\r\n")) || string(p.Raw.Body) != "ok" {
		t.Fatalf("%s %+v", p.Proto, p.Raw)
	}
}

func TestRecordIsBounded(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 1<<20)) })
	p := newRig(t, Config{Record: true, MaxBody: 1000, WireSlack: 2000}).page(s.URL)
	if len(p.Raw.Head)+len(p.Raw.Body) > 3000 || p.Truncated != reasonLength || !p.Raw.Cut {
		t.Fatalf("%d + %d bytes kept, truncated %q, cut %v", len(p.Raw.Head), len(p.Raw.Body), p.Truncated, p.Raw.Cut)
	}
	q := newRig(t, Config{}).page(s.URL)
	if q.Raw != nil {
		t.Fatal("recorded unasked")
	}
}

func TestHeadLength(t *testing.T) {
	for in, want := range map[string]int{"": 0, "a": 1, "a\r\n\r\nb": 5, "a\n\nb": 3, "a\nb\r\n\nc": 6, "a\r\nb": 4, "\n": 1} {
		if got := headLength([]byte(in)); got != want {
			t.Errorf("%q: %d", in, got)
		}
	}
}
