package fetcher

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/amble-crawler/amble/politeness"
)

// encode applies codings in order. "deflate-raw" is deflate without the zlib wrapper.
func encode(t testing.TB, body []byte, codings ...string) []byte {
	t.Helper()
	for _, c := range codings {
		var b bytes.Buffer
		var w io.WriteCloser
		switch c {
		case "gzip", "x-gzip":
			w = gzip.NewWriter(&b)
		case "deflate":
			w = zlib.NewWriter(&b)
		case "deflate-raw":
			w, _ = flate.NewWriter(&b, 6)
		case "br":
			w = brotli.NewWriter(&b)
		case "zstd":
			w, _ = zstd.NewWriter(&b)
		default:
			t.Fatal(c)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		body = b.Bytes()
	}
	return body
}

// sample returns n bytes of text that compress like a web page.
func sample(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "<p><a href=\"/page/%d\">link number %d of the page</a> %x</p>\n", i*7919%1000, i, i*104729)
	}
	return b.Bytes()[:n]
}

// coded serves body with the given Content-Encoding lines.
func coded(t testing.TB, contentType string, body []byte, lines ...string) string {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for _, l := range lines {
			w.Header().Add("Content-Encoding", l)
		}
		w.Write(body)
	})
	return s.URL
}

func TestContentEncodings(t *testing.T) {
	page := sample(50_000)
	corrupt := func(b []byte) []byte { b = slices.Clone(b); b[len(b)/2] ^= 0xff; return b }
	for _, tc := range []struct {
		name      string
		lines     []string
		body      []byte
		want      []byte
		encoding  string
		note      string
		truncated string
	}{
		{name: "gzip", lines: []string{"gzip"}, body: encode(t, page, "gzip"), want: page, encoding: "gzip"},
		{name: "x-gzip, upper case", lines: []string{"X-GZIP"}, body: encode(t, page, "gzip"), want: page, encoding: "x-gzip"},
		{name: "br", lines: []string{"br"}, body: encode(t, page, "br"), want: page, encoding: "br"},
		{name: "zstd", lines: []string{"zstd"}, body: encode(t, page, "zstd"), want: page, encoding: "zstd"},
		{name: "deflate as zlib", lines: []string{"deflate"}, body: encode(t, page, "deflate"), want: page, encoding: "deflate"},
		{name: "deflate raw", lines: []string{"deflate"}, body: encode(t, page, "deflate-raw"), want: page, encoding: "deflate"},
		{name: "identity", lines: []string{"identity"}, body: page, want: page},
		{name: "two layers, one line", lines: []string{"gzip, br"}, body: encode(t, page, "gzip", "br"), want: page, encoding: "gzip, br"},
		{name: "two layers, two lines", lines: []string{"zstd", "gzip"}, body: encode(t, page, "zstd", "gzip"), want: page, encoding: "zstd, gzip"},
		{name: "three layers", lines: []string{"gzip, gzip, gzip"}, body: encode(t, page, "gzip", "gzip", "gzip"), truncated: reasonEncoding},
		{name: "empty body", lines: []string{"gzip"}},
		{name: "gzip of nothing", lines: []string{"gzip"}, body: encode(t, nil, "gzip"), encoding: "gzip"},
		{name: "br of nothing", lines: []string{"br"}, body: encode(t, nil, "br"), encoding: "br"},
		{name: "short br", lines: []string{"br"}, body: encode(t, []byte("hi"), "br"), want: []byte("hi"), encoding: "br"},
		{name: "gzip, but plain", lines: []string{"gzip"}, body: page, want: page, note: noteMislabelled},
		{name: "br, but plain", lines: []string{"br"}, body: page, want: page, note: noteMislabelled},
		{name: "zstd, but plain", lines: []string{"zstd"}, body: page, want: page, note: noteMislabelled},
		{name: "deflate, but plain", lines: []string{"deflate"}, body: page, want: page, note: noteMislabelled},
		{name: "gzip twice, but once", lines: []string{"gzip, gzip"}, body: encode(t, page, "gzip"), want: page, encoding: "gzip", note: noteMislabelled},
		{name: "no coding at all", lines: []string{"utf-8"}, body: page, want: page, note: noteUnknown},
		{name: "a coding we cannot undo", lines: []string{"compress"}, body: []byte{0x1f, 0x9d, 1, 2, 3}, truncated: reasonEncoding},
		{name: "gzip without header", body: encode(t, page, "gzip"), want: encode(t, page, "gzip")},
		{name: "two gzip members", lines: []string{"gzip"}, body: append(encode(t, page, "gzip"), encode(t, page, "gzip")...), want: append(slices.Clone(page), page...), encoding: "gzip"},
		{name: "two zstd frames", lines: []string{"zstd"}, body: append(encode(t, page, "zstd"), encode(t, page, "zstd")...), want: append(slices.Clone(page), page...), encoding: "zstd"},
		{name: "gzip corrupt", lines: []string{"gzip"}, body: corrupt(encode(t, page, "gzip")), encoding: "gzip", truncated: reasonEncoding},
		{name: "zstd corrupt", lines: []string{"zstd"}, body: corrupt(encode(t, page, "zstd")), encoding: "zstd", truncated: reasonEncoding},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, Config{})
			url := coded(t, "text/plain", tc.body, tc.lines...)
			p := r.page(url)
			if p.Encoding != tc.encoding || p.Note != tc.note || p.Truncated != tc.truncated {
				t.Fatalf("encoding %q, note %q, truncated %q", p.Encoding, p.Note, p.Truncated)
			}
			if tc.truncated == "" && !bytes.Equal(p.Body, tc.want) || tc.truncated != "" && !bytes.HasPrefix(page, p.Body) && tc.truncated != reasonEncoding {
				t.Fatalf("body of %d bytes is not the one of %d", len(p.Body), len(tc.want))
			}
			if tc.truncated == "" && p.WireBytes != int64(len(tc.body)) {
				t.Fatalf("%d bytes on the wire, counted %d", len(tc.body), p.WireBytes)
			}
		})
	}
}

// If only the end of the connection marks the end of the body, a compressed stream that ends too early was cut short.
// Otherwise the message is complete, and a retry would give the same response.
func TestCompressedStreamsThatEndEarly(t *testing.T) {
	page := sample(50_000)
	for _, coding := range []string{"gzip", "br", "zstd", "deflate"} {
		whole := encode(t, page, coding)
		for _, n := range []int{7, 2000} {
			cut := string(whole[:n])
			for framing, want := range map[string]string{
				"": ReasonCutShort, fmt.Sprintf("Content-Length: %d\r\n", n): reasonEncoding, "Transfer-Encoding: chunked\r\n": reasonEncoding,
			} {
				body := cut
				if strings.HasPrefix(framing, "Transfer") {
					body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", n, cut)
				}
				p := newRig(t, Config{}).page(answer(t, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: "+coding+"\r\n"+framing+"\r\n"+body))
				if p.Truncated != want || p.Encoding != coding || !bytes.HasPrefix(page, p.Body) {
					t.Errorf("%d bytes of %s, framed by %q: %q with %q, %d bytes", n, coding, framing, p.Truncated, p.Encoding, len(p.Body))
				}
			}
		}
	}
	s, c := serveTLS(t, true, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.(http.Flusher).Flush() // avoids a Content-Length
		_, _ = w.Write(encode(t, page, "gzip")[:2000])
	})
	if p := newRig(t, c).page(named(s, "/")); p.Truncated != reasonEncoding || p.Proto != "HTTP/2.0" {
		t.Errorf("%s: %q", p.Proto, p.Truncated)
	}
}

func TestWhatFollowsACompressedStreamIsIgnored(t *testing.T) {
	page := sample(50_000)
	for _, coding := range []string{"gzip", "br", "zstd", "deflate", "deflate-raw"} {
		for _, trail := range []string{"\x00", "\x00\x00\x00", "garbage that is longer than any header is", strings.Repeat("x", 30_000), strings.Repeat("x", 300_000)} {
			if coding == "zstd" && len(trail) < 4 {
				continue // may be the beginning of a frame's magic number
			}
			line := strings.TrimSuffix(coding, "-raw")
			p := newRig(t, Config{}).page(coded(t, "text/plain", append(encode(t, page, coding), trail...), line))
			if !bytes.Equal(p.Body, page) || p.Note != noteTrailing || p.Truncated != "" {
				t.Errorf("%s and %d bytes: body %d, note %q, truncated %q", coding, len(trail), len(p.Body), p.Note, p.Truncated)
			}
		}
	}
}

// A connection can be reused after a compressed body was read to its end.
func TestConnectionSurvivesCompressedBodies(t *testing.T) {
	page := sample(50_000)
	for _, coding := range []string{"gzip", "br", "zstd", "deflate", "deflate-raw"} {
		body := encode(t, page, coding)
		url := raw(t, keepAlive(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
			strings.TrimSuffix(coding, "-raw"), len(body), body)))
		r := newRig(t, Config{})
		u := parse(t, url)
		for range 3 {
			p := r.page(url)
			if !bytes.Equal(p.Body, page) {
				t.Fatal(coding, len(p.Body))
			}
			if c := r.f.pool.get(connKey{"http", u.Host(), p.Addr}); c == nil {
				t.Fatal(coding, "the connection was not kept")
			} else if c.wire.turn != nil {
				t.Fatal(coding, "the exchange still has the connection")
			} else {
				c.client.Release()
				r.f.pool.put(c)
			}
		}
	}
}

// A sitemap may be a gzip file (Sitemaps protocol), whatever its header says.
func TestCompressedSitemap(t *testing.T) {
	page := sample(50_000)
	for _, tc := range []struct {
		name, ct, note string
		lines          []string
		body           []byte
	}{
		{"a gzip file", "application/x-gzip", noteUnlabelled, nil, encode(t, page, "gzip")},
		{"a gzip file called XML", "application/xml", noteUnlabelled, nil, encode(t, page, "gzip")},
		{"a gzip file in gzip", "application/xml", noteUnlabelled, []string{"gzip"}, encode(t, page, "gzip", "gzip")},
		{"in gzip", "application/xml", "", []string{"gzip"}, encode(t, page, "gzip")},
		{"plain", "application/xml", "", nil, page},
	} {
		r := newRig(t, Config{})
		p, err := r.fetchAs(coded(t, tc.ct, tc.body, tc.lines...), politeness.Sitemap)
		if err != nil || !bytes.Equal(p.Body, page) || p.Note != tc.note || p.Truncated != "" {
			t.Errorf("%s: %d bytes, note %q, truncated %q, %v", tc.name, len(p.Body), p.Note, p.Truncated, err)
		}
	}
}

// counted is a reader that counts bytes.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) { n, err := c.r.Read(p); c.n += int64(n); return n, err }

// bomb returns 64 MiB of zeros, compressed.
func bomb(t testing.TB, codings ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch codings[0] {
	case "gzip":
		w, _ = gzip.NewWriterLevel(&b, 1)
	case "br":
		w = brotli.NewWriterLevel(&b, 1)
	case "zstd":
		w, _ = zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedFastest))
	}
	piece := make([]byte, 1<<20)
	for range 64 {
		w.Write(piece)
	}
	w.Close()
	return encode(t, b.Bytes(), codings[1:]...)
}

// A decompression bomb yields one byte more than the body limit, and only the compressed bytes read count.
func TestDecompressionBombs(t *testing.T) {
	for _, codings := range [][]string{{"gzip"}, {"br"}, {"zstd"}, {"gzip", "gzip"}, {"zstd", "br"}} {
		t.Run(strings.Join(codings, "+"), func(t *testing.T) {
			body := bomb(t, codings...)
			src := &counted{r: bytes.NewReader(body)}
			c := &codecs{window: defaultMaxWindow}
			d, err := c.open(src, codings, DefaultMaxBody+defaultWireSlack, hints{max: 2})
			if err != nil {
				t.Fatal(err)
			}
			out := &counted{r: d}
			x := &exchange{f: &Fetcher{}}
			buf, err := x.readTo(out, &source{}, nil, DefaultMaxBody+1)
			if err != nil || len(buf) != DefaultMaxBody+1 || out.n != int64(len(buf)) || cap(buf) > 2*DefaultMaxBody {
				t.Fatalf("%d bytes in a buffer of %d, %v", len(buf), cap(buf), err)
			}
			if src.n > int64(len(body)/2+64<<10) {
				t.Fatalf("%d of %d bytes were decoded", src.n, len(body))
			}
			d.close()

			p := newRig(t, Config{}).page(coded(t, "text/html", body, strings.Join(codings, ", ")))
			if len(p.Body) != DefaultMaxBody || p.Truncated != reasonLength {
				t.Fatalf("%d bytes, %q", len(p.Body), p.Truncated)
			}
			p = newRig(t, Config{MaxRatio: 100}).page(coded(t, "text/html", body, strings.Join(codings, ", ")))
			if len(p.Body) > 2*ratioFloor || p.Truncated != reasonRatio {
				t.Fatalf("%d bytes, %q", len(p.Body), p.Truncated)
			}
		})
	}
}

// An outer layer is limited, too: here it expands to 20 MiB of empty gzip members, which have no output.
func TestBombBetweenLayers(t *testing.T) {
	empty := encode(t, nil, "gzip")
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, 1)
	for piece, n := bytes.Repeat(empty, 10_000), 0; n < 20<<20; n += len(piece) {
		w.Write(piece)
	}
	w.Close()
	p := newRig(t, Config{MaxBody: 1 << 20}).page(coded(t, "text/html", b.Bytes(), "gzip, gzip"))
	if len(p.Body) != 0 || p.Truncated != reasonLength {
		t.Fatalf("%d bytes, %q", len(p.Body), p.Truncated)
	}
}

// RFC 9659 section 3 limits the window to 8 MiB.
func TestZstdWindowLimit(t *testing.T) {
	for _, tc := range []struct {
		window    int
		truncated string
	}{{8 << 20, ""}, {16 << 20, reasonEncoding}} {
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b, zstd.WithWindowSize(tc.window))
		if err != nil {
			t.Fatal(err)
		}
		w.Write(sample(1 << 20))
		w.Write(sample(1 << 20))
		w.Close()
		p := newRig(t, Config{}).page(coded(t, "text/html", b.Bytes(), "zstd"))
		if p.Truncated != tc.truncated {
			t.Errorf("window of %d: truncated %q", tc.window, p.Truncated)
		}
	}
}

// Decoders are reused. A failed stream must not affect the next one.
func TestDecodersAreCleanAfterAFault(t *testing.T) {
	page := sample(20_000)
	c := &codecs{window: defaultMaxWindow}
	read := func(coding string, body []byte) ([]byte, error) {
		d, err := c.open(bytes.NewReader(body), []string{coding}, 1<<20, hints{max: 2})
		defer d.close()
		if err != nil {
			return nil, err
		}
		return io.ReadAll(d)
	}
	for _, coding := range []string{"gzip", "br", "zstd", "deflate"} {
		good := encode(t, page, coding)
		for i := range 50 {
			bad := slices.Clone(good[:len(good)-i])
			bad[i*len(bad)/50] ^= 0x55
			read(coding, bad)
			if got, err := read(coding, good); err != nil || !bytes.Equal(got, page) {
				t.Fatalf("%s after fault %d: %d bytes, %v", coding, i, len(got), err)
			}
		}
	}
}
