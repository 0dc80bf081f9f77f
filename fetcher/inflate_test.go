package fetcher

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"

	"github.com/klauspost/compress/flate"
	kgzip "github.com/klauspost/compress/gzip"
)

// pieces is a body that arrives some kilobytes at a time, as from a connection.
type pieces struct{ r *bytes.Reader }

func (w pieces) Read(b []byte) (int, error) { return w.r.Read(b[:min(len(b), 4096)]) }

// written returns a page of human-written text, because random or repetitive text decodes at another speed.
func written(b *testing.B) []byte {
	text, err := os.ReadFile("../docs/reference.md")
	if err != nil {
		b.Fatal(err)
	}
	return text[:pageSize]
}

// BenchmarkInflate compares ways to decode a gzip page, the most expensive step of a fetch: different decoders, buffer
// sizes, and reading the whole body first and decoding into memory of the known size. BenchmarkDecode measures this
// package's decoders.
func BenchmarkInflate(b *testing.B) {
	page := written(b)
	zipped := encode(b, page, "gzip")
	out := make([]byte, pageSize+1)
	whole := make([]byte, len(zipped))
	full := func(b *testing.B, r io.Reader) {
		if n, err := io.ReadFull(r, out); n != pageSize {
			b.Fatal(n, err)
		}
	}
	way := func(name string, f func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(pageSize)
			b.ReportAllocs()
			for b.Loop() {
				f(b)
			}
		})
	}
	std := &gzip.Reader{}
	in := bufio.NewReaderSize(nil, 8<<10)
	way("gzip/standard library", func(b *testing.B) {
		in.Reset(pieces{bytes.NewReader(zipped)})
		if err := std.Reset(in); err != nil {
			b.Fatal(err)
		}
		full(b, std)
	})
	k := &kgzip.Reader{}
	for name, size := range map[string]int{"4K": 4 << 10, "8K": 8 << 10, "32K": 32 << 10} {
		in := bufio.NewReaderSize(nil, size)
		way("gzip/klauspost, buffer of "+name, func(b *testing.B) {
			in.Reset(pieces{bytes.NewReader(zipped)})
			if err := k.Reset(in); err != nil {
				b.Fatal(err)
			}
			full(b, k)
		})
	}
	kb := &kgzip.Reader{}
	way("gzip/klauspost, whole body", func(b *testing.B) {
		n, _ := io.ReadFull(pieces{bytes.NewReader(zipped)}, whole)
		if err := kb.Reset(bytes.NewReader(whole[:n])); err != nil {
			b.Fatal(err)
		}
		full(b, kb)
	})
	const header = 10 // length of a gzip header without a file name (RFC 1952 section 2.3)
	f := flate.NewReader(bytes.NewReader(zipped[header:]))
	way("gzip/klauspost, whole body, size known, no checksum", func(b *testing.B) {
		n, _ := io.ReadFull(pieces{bytes.NewReader(zipped)}, whole)
		if err := f.(flate.Resetter).Reset(bytes.NewReader(whole[header:n]), nil); err != nil {
			b.Fatal(err)
		}
		if n, err := f.(io.WriterTo).WriteTo(bytes.NewBuffer(out[:0])); n != pageSize {
			b.Fatal(n, err)
		}
	})
}
