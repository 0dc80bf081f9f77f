package fetcher

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"

	"github.com/amble-crawler/amble/politeness"
)

// pageSize is the mean size of an HTML page without its resources.
const pageSize = 31_000

// BenchmarkFetch fetches one page from a minimal loopback server, including the Permit.
func BenchmarkFetch(b *testing.B) {
	for _, coding := range []string{"identity", "gzip", "br", "zstd"} {
		b.Run(coding, func(b *testing.B) {
			body := sample(pageSize)
			if coding != "identity" {
				body = encode(b, body, coding)
			}
			answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", coding, len(body), body)
			url := raw(b, func(c net.Conn) {
				buf := make([]byte, 4096)
				for {
					if _, err := c.Read(buf); err != nil {
						return
					}
					c.Write(answer)
				}
			})
			r := newRig(b, Config{})
			r.permit(url, politeness.Page)
			b.SetBytes(pageSize)
			b.ReportAllocs()
			for b.Loop() {
				p := r.page(url)
				if len(p.Body) != pageSize {
					b.Fatal(len(p.Body))
				}
				p.Release()
			}
		})
	}
}

// BenchmarkNetHTTP makes the same request with a bare http.Client, for comparison.
func BenchmarkNetHTTP(b *testing.B) {
	body := sample(pageSize)
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + string(body))
	url := raw(b, func(c net.Conn) {
		buf := make([]byte, 4096)
		for {
			if _, err := c.Read(buf); err != nil {
				return
			}
			c.Write(answer)
		}
	})
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr}
	b.SetBytes(pageSize)
	b.ReportAllocs()
	for b.Loop() {
		resp, err := client.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func BenchmarkDecode(b *testing.B) {
	page := written(b)
	for _, coding := range []string{"gzip", "br", "zstd", "deflate"} {
		b.Run(coding, func(b *testing.B) {
			body := encode(b, page, coding)
			c := &codecs{window: defaultMaxWindow}
			var buf [pageSize + 1]byte
			b.SetBytes(pageSize)
			b.ReportAllocs()
			for b.Loop() {
				d, err := c.open(pieces{bytes.NewReader(body)}, []string{coding}, 1<<20, hints{max: 2})
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.ReadFull(d, buf[:]); n != pageSize {
					b.Fatal(n, err)
				}
				d.close()
			}
		})
	}
}

func BenchmarkCharset(b *testing.B) {
	for name, body := range map[string][]byte{"meta": []byte("<head><meta charset=utf-8>" + string(sample(pageSize))), "utf8": bytes.Repeat([]byte(textFrench), 300)} {
		b.Run(name, func(b *testing.B) {
			h := header("text/html")
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				charsetOf(h, "text/html", body)
			}
		})
	}
}

func BenchmarkResolveCached(b *testing.B) {
	r := newRig(b, Config{Resolver: hosts{"a.test": addrs("127.0.0.1")}})
	u := parse(b, "http://a.test/")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.f.Resolve(b.Context(), u); err != nil {
			b.Fatal(err)
		}
	}
}
