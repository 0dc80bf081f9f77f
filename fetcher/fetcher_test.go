package fetcher

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/amble-crawler/amble/politeness"
)

func TestFetchGivesThePage(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "Text/HTML; charset=UTF-8")
		fmt.Fprint(w, "<p>hello</p>")
	})
	r := newRig(t, Config{})
	p := r.page(s.URL + "/a?b")
	if p.Status != 200 || string(p.Body) != "<p>hello</p>" || p.ContentType != "text/html" || p.Sniffed || !p.IsHTML() ||
		p.Charset != "utf-8" || p.CharsetFrom != fromHeader || !p.CharsetCertain || p.Truncated != "" || p.WireBytes != 12 ||
		p.Proto != "HTTP/1.1" || p.Addr != netip.MustParseAddr("127.0.0.1") || p.URL.PathQuery() != "/a?b" {
		t.Fatalf("%+v", p)
	}
	if p.Started.IsZero() || p.Written.Before(p.Started) || p.FirstByte.Before(p.Written) || p.Ended.Before(p.FirstByte) {
		t.Fatalf("times out of order: %v %v %v %v", p.Started, p.Written, p.FirstByte, p.Ended)
	}
}

func TestRequestOnTheWire(t *testing.T) {
	var mu sync.Mutex
	var got string
	url := raw(t, func(c net.Conn) {
		mu.Lock()
		got = request(c)
		mu.Unlock()
		io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	r := newRig(t, Config{AcceptLanguage: "de", Header: http.Header{"x-purpose": {"research"}}})
	p, err := r.f.Fetch(WithValidators(t.Context(), Validators{ETag: `W/"1"`, LastModified: "yesterday"}), r.permit(url+"/p|{}^?q=%zz&a|b", politeness.Page))
	if err != nil || p.Status != 204 {
		t.Fatal(p, err)
	}
	want := "GET " + parse(t, url+"/p|{}^?q=%zz&a|b").PathQuery() + " HTTP/1.1\r\nHost: " + strings.TrimPrefix(url, "http://") +
		"\r\nUser-Agent: ambletest/1 (+https://lab.university.edu/crawl)\r\nAccept: " + defaultAccept +
		"\r\nAccept-Encoding: zstd, gzip, br\r\nAccept-Language: de\r\nIf-Modified-Since: yesterday\r\nIf-None-Match: W/\"1\"\r\nX-Purpose: research\r\n\r\n"
	mu.Lock()
	defer mu.Unlock()
	if got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	var conns atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", 100_000)) })
	r := newRig(t, Config{DialContext: counting(&conns)})
	for range 5 {
		p := r.page(s.URL)
		if len(p.Body) != 100_000 || p.Truncated != "" {
			t.Fatal(len(p.Body), p.Truncated)
		}
		p.Release()
	}
	if conns.Load() != 1 {
		t.Fatalf("%d connections for 5 requests", conns.Load())
	}
}

func TestHTTP2(t *testing.T) {
	s, c := serveTLS(t, true, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s", r.Proto, r.Host, r.URL.RequestURI())
	})
	r := newRig(t, c)
	for range 3 {
		p := r.page(named(s, "//x?y"))
		if p.Proto != "HTTP/2.0" || !bytes.HasPrefix(p.Body, []byte("HTTP/2.0 example.com:")) || !bytes.HasSuffix(p.Body, []byte(" //x?y")) {
			t.Fatalf("%s %q", p.Proto, p.Body)
		}
		if p.Written.Before(p.Started) || p.FirstByte.Before(p.Written) || p.Ended.Before(p.FirstByte) {
			t.Fatalf("times out of order: %v %v %v %v", p.Started, p.Written, p.FirstByte, p.Ended)
		}
	}
}

func TestHTTP1OverTLS(t *testing.T) {
	s, c := serveTLS(t, false, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) })
	p := newRig(t, c).page(named(s, "/"))
	if p.Proto != "HTTP/1.1" || string(p.Body) != "HTTP/1.1" {
		t.Fatalf("%s %q", p.Proto, p.Body)
	}
}
