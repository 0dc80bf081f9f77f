package bench

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"
)

// server serves a synthetic web from memory. It makes every response before the first request, so that a response costs only a read, a
// look-up and a write.
type server struct {
	shape     shape
	listeners []net.Listener
	hosts     []string // host:port of each listener
	answers   []map[string]answer
	makers    []*maker // for a made web: make responses on request
	tls       *tls.Config
	roots     []byte // the server's certificate in PEM
	counts    counts
}

// counts holds the counters of a server.
type counts struct{ Connections, Resumed atomic.Int64 }

// answer holds a complete response with its header, uncompressed and compressed.
type answer struct{ plain, gzip []byte }

var notFound = []byte("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n")

// newServer listens on a separate loopback address for each host, because hosts at one address would have to share its
// pause.
func newServer(s shape) (*server, error) {
	v := &server{shape: s, answers: make([]map[string]answer, s.Hosts)}
	for i := range s.Hosts {
		addr := fmt.Sprintf("127.1.%d.%d:0", i/250, 1+i%250)
		l, err := net.Listen("tcp4", addr)
		if err != nil {
			v.close()
			return nil, err
		}
		v.listeners, v.hosts = append(v.listeners, l), append(v.hosts, l.Addr().String())
	}
	if s.TLS {
		if err := v.certify(); err != nil {
			v.close()
			return nil, err
		}
	}
	if s.Made {
		for h := range v.hosts {
			v.makers = append(v.makers, newMaker(s, v.hosts, h))
		}
		return v, nil
	}
	v.render()
	return v, nil
}

func (v *server) close() {
	for _, l := range v.listeners {
		_ = l.Close()
	}
}

// render makes all responses, with two goroutines that each serve half of the hosts.
func (v *server) render() {
	const halves = 2
	var wg sync.WaitGroup
	for half := range halves {
		wg.Go(func() {
			zw, _ := gzip.NewWriterLevel(nil, 6) // the level is valid
			for h := half; h < len(v.hosts); h += halves {
				v.answers[h] = v.host(h, zw)
			}
		})
	}
	wg.Wait()
}

func (v *server) host(h int, zw *gzip.Writer) map[string]answer {
	robots := respond("text/plain", "", []byte(robotsTxt))
	all := map[string]answer{"/robots.txt": {robots, robots}}
	for i := range v.shape.Pages {
		body := v.shape.page(v.hosts, h, i)
		var packed bytes.Buffer
		zw.Reset(&packed)
		_, _ = zw.Write(body)
		_ = zw.Close() // writing to memory does not fail
		const html = "text/html; charset=utf-8"
		all[pagePath(i)] = answer{respond(html, "", body), respond(html, "gzip", packed.Bytes())}
		if v.shape.hasOther(i) {
			other := v.shape.other(i)
			all[otherPath(i)] = answer{other, other}
		}
	}
	return all
}

// other returns the response of the URL otherPath(page), which has the status Other.
func (s shape) other(page int) []byte {
	if s.Other == http.StatusNotFound {
		return notFound
	}
	return fmt.Appendf(nil, "HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", s.Other, pagePath((page+1)%s.Pages))
}

func respond(contentType, coding string, body []byte) []byte {
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Fri, 20 Nov 2026 12:00:00 GMT\r\nCache-Control: max-age=600\r\n" +
		"Last-Modified: Thu, 19 Nov 2026 08:00:00 GMT\r\nVary: Accept-Encoding\r\nContent-Type: " + contentType + "\r\n")
	if coding != "" {
		b.WriteString("Content-Encoding: " + coding + "\r\n")
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n", len(body))
	b.Write(body)
	return b.Bytes()
}

// serve answers requests until the listeners are closed. Connections stay open until the process ends.
func (v *server) serve() {
	var wg sync.WaitGroup
	for h, l := range v.listeners {
		wg.Go(func() {
			if v.shape.HTTP2 {
				v.serveHTTP2(h, l)
				return
			}
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				v.counts.Connections.Add(1)
				if v.tls != nil {
					c = tls.Server(c, v.tls)
				}
				wg.Go(func() { v.talk(c, v.chooser(h)) })
			}
		})
	}
	wg.Wait()
}

// chooser returns the function that answers the requests of one connection to a host.
func (v *server) chooser(h int) func(request []byte) []byte {
	if v.makers != nil {
		var buf []byte
		return func(request []byte) []byte {
			time.Sleep(v.shape.Latency)
			buf = v.makers[h].answer(buf[:0], request)
			return buf
		}
	}
	return func(request []byte) []byte {
		time.Sleep(v.shape.Latency)
		return choose(request, v.answers[h])
	}
}

// talk answers the requests of one connection. A client may send a request in several pieces, but must wait for the response before it
// sends the next request.
func (v *server) talk(c net.Conn, choose func([]byte) []byte) {
	defer c.Close()
	buf, n := make([]byte, 4096), 0
	for answered := 1; n < len(buf); {
		k, err := c.Read(buf[n:])
		if err != nil {
			return
		}
		if n += k; !bytes.HasSuffix(buf[:n], []byte("\r\n\r\n")) {
			continue
		}
		last := answered == v.shape.Life
		if _, err := c.Write(closing(choose(buf[:n]), last)); err != nil || last {
			return
		}
		n, answered = 0, answered+1
	}
}

// closing returns a response. If it is the last of its connection, a header field says so.
func closing(answer []byte, last bool) []byte {
	if !last {
		return answer
	}
	status, rest, _ := bytes.Cut(answer, []byte("\r\n"))
	return slices.Concat(status, []byte("\r\nConnection: close\r\n"), rest)
}

// choose returns the response to a GET request.
func choose(request []byte, answers map[string]answer) []byte {
	_, rest, _ := bytes.Cut(request, []byte(" "))
	path, header, _ := bytes.Cut(rest, []byte(" "))
	a, ok := answers[string(path)]
	switch {
	case !ok:
		return notFound
	case bytes.Contains(header, []byte("gzip")):
		return a.gzip
	}
	return a.plain
}
