package warc

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/warc/warctest"
)

// FuzzRoundTrip writes exchanges made of random parts, and reads them back with the strict reader. The messages must be the same, byte for
// byte.
func FuzzRoundTrip(f *testing.F) {
	f.Add("http://x.test/", "Content-Type: text/html\r\n", []byte("hello"), []byte("GET / HTTP/1.1\r\n\r\n"), "", uint64(0))
	f.Add("https://[::1]:1/a?%41", "Transfer-Encoding: chunked\r\n", []byte("5\r\nhello\r\n0\r\n\r\n"), []byte{}, "length", uint64(7))
	f.Add("http://x.test/\r\n", "a\r\nContent-Length: 5\r\ntransfer-encoding: chunked\r\n", []byte("zz"), []byte{}, "cut_short", uint64(1)<<40)
	f.Add("http://www1.x.test:80/%22offset%22:%221%22", "Content-Type: \"\\\x01\r\n", bytes.Repeat([]byte{0}, 9999), []byte("GET /x HTTP/1.1\r\nA: b\r\n\r\n"), "x", uint64(3))
	f.Add("http://x.test/{a}|^`\\%4[1]", "Content-Type: a/b\r\n", []byte("x"), []byte("GET /  HTTP/1.1\r\n\r\n"), "", uint64(3))
	f.Fuzz(func(t *testing.T, url, fields string, body, request []byte, cut string, bits uint64) {
		x := fuzzed(url, fields, body, request, cut, bits)
		o := Options{Level: 1, hook: func(operation) error { return nil }}
		if bits&1 == 1 {
			o.Compression, o.Digest, o.MaxSize = Zstd, SHA256, 2000
		}
		head, payload := slices.Clone(x.Head), slices.Clone(x.Body)
		dir := t.TempDir()
		w, err := Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		other := fuzzed("http://x.test/2", "", body, request, cut, bits)
		for _, x := range []*sink.Exchange{x, other} {
			r := &sink.Record{URL: url, Via: url, Hops: []string{url}, Reason: cut, Exchange: x}
			if err := w.Append(context.Background(), r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		rs, err := warctest.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, rs, x, head, payload)
	})
}

var getLine = regexp.MustCompile(`^GET /[^ \r\n]* HTTP/1\.1\r\n`)

// fuzzed returns an exchange that a fetcher could have recorded.
func fuzzed(url, fields string, body, request []byte, cut string, bits uint64) *sink.Exchange {
	var a [16]byte
	binary.BigEndian.PutUint64(a[:], bits)
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	if !strings.HasPrefix(url, "http://") || host == "" || strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" || strings.Trim(host, ".") != host || strings.Contains(host, "..") {
		url = "http://x.test/" + strings.ReplaceAll(url, "%", "%25")
	}
	if bytes.ContainsAny(request, "\x00") || !getLine.Match(request) || !bytes.HasSuffix(request, []byte("\r\n\r\n")) || bytes.Count(request, []byte("\n\r\n")) != 1 {
		request = []byte("GET / HTTP/1.1\r\n\r\n")
	}
	head := "HTTP/1.1 200 OK\r\n"
	for line := range strings.SplitSeq(fields, "\r\n") {
		if name, _, ok := strings.Cut(line, ":"); ok && name != "" && !strings.ContainsAny(line, "\r\n") {
			head += line + "\r\n"
		}
	}
	return &sink.Exchange{
		URL: url, Addr: netip.AddrFrom16(a), Started: time.Unix(int64(bits%4e9), int64(bits%1e9)), Ended: time.Unix(4e9, 0),
		Protocol: "HTTP/1.1", Request: request, Head: []byte(head + "\r\n"), Body: slices.Clone(body), Truncated: cut,
	}
}

// compare compares the records of the first exchange in an archive with the original exchange.
func compare(t *testing.T, rs []*warctest.Record, x *sink.Exchange, head, body []byte) {
	t.Helper()
	if !bytes.Equal(rs[1].Block, x.Request) {
		t.Fatalf("request %q, want %q", rs[1].Block, x.Request)
	}
	got := rs[2]
	if got.Type() != "response" || !bytes.Equal(x.Head, head) || !bytes.Equal(x.Body, body) {
		t.Fatalf("%s: the exchange was changed", got.Type())
	}
	if !x.Chunked() {
		if want := append(head, body...); !bytes.Equal(got.Block, want) {
			t.Fatalf("%q, want %q", got.Block, want)
		}
		return
	}
	if !bytes.HasSuffix(got.Block, append([]byte("\r\n\r\n"), x.Payload()...)) || len(got.Block) < len(head)+len(x.Payload())+len(renamed) {
		t.Fatalf("%q of %q and %q", got.Block, head, x.Payload())
	}
}
