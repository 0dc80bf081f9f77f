package crawler_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

// overHTTP2 returns a Wire that serves a whole connection with a handler over HTTP/2.
func overHTTP2(h http.HandlerFunc) crawltest.Wire {
	return func(c net.Conn) {
		l := &single{conn: c, ended: make(chan struct{})}
		srv := &http.Server{
			ReadHeaderTimeout: time.Minute,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				h(w, r)
			}),
			ConnState: func(_ net.Conn, s http.ConnState) {
				if s == http.StateClosed {
					close(l.ended)
				}
			},
		}
		_ = srv.Serve(l) // returns when the connection ends
	}
}

// single is a listener with only one connection.
type single struct {
	conn  net.Conn
	given bool
	ended chan struct{}
}

func (l *single) Accept() (net.Conn, error) {
	if !l.given {
		l.given = true
		return l.conn, nil
	}
	<-l.ended
	return nil, net.ErrClosed
}

func (l *single) Close() error   { return nil }
func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }

// http2Hostile are hostile sites that use HTTP/2, on real sockets.
var http2Hostile = []struct {
	does, want string
	serve      http.HandlerFunc
}{
	{"a valid answer over HTTP/2", "fetched 200 HTTP/2.0", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<p>fine")
	}},
	{"an endless body over HTTP/2", "fetched 200 length HTTP/2.0", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for more := []byte(strings.Repeat("more ", 10_000)); ; {
			if _, err := w.Write(more); err != nil {
				return
			}
		}
	}},
	{"a header field of 1 MiB over HTTP/2", "failed 0 malformed_answer", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
	}},
	{"5,000 header fields over HTTP/2", "failed 0 header_too_large", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 5000 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 100))
		}
	}},
	{"the stream is reset in the middle", "fetched 200 cut_short HTTP/2.0", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, "<p>half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}},
}

// TestHostileHTTP2 crawls the sites of http2Hostile.
func TestHostileHTTP2(t *testing.T) {
	srv := crawltest.NewServer(t)
	v := &visits{}
	cfg := hostileConfig(srv, v)
	cfg.Fetch.RootCAs = srv.RootCAs()
	var seeds []string
	for i, h := range http2Hostile {
		s := srv.Site(fmt.Sprintf("https://h%d.example", i)).ALPN("h2").RawConn(overHTTP2(h.serve))
		seeds = append(seeds, s.URL("/"))
	}
	c, err := crawler.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(context.Background(), seeds...); err != nil {
		t.Fatal(err)
	}
	for i, h := range http2Hostile {
		got := v.line(seeds[i])
		if p := v.by[seeds[i]].Page; p != nil {
			got += " " + p.Proto
		}
		if got != h.want {
			t.Errorf("%s: %s, want %s (%v)", h.does, got, h.want, v.by[seeds[i]].Err)
		}
		t.Logf("%s: %s", h.does, got)
	}
}
