package fetcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestGzipOfAnyLength compares small gzip files, which are decoded as a whole, with larger ones, which are decoded as a
// stream. Body, trailing data, errors and number of bytes read are the same.
func TestGzipOfAnyLength(t *testing.T) {
	noise := make([]byte, 2*layerBuffer)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32()) // incompressible
	}
	c := &codecs{window: defaultMaxWindow}
	for _, size := range []int{0, 1, 5000, layerBuffer - 100, layerBuffer - 24, layerBuffer - 23, layerBuffer - 22, layerBuffer, layerBuffer + 5000} {
		first, second := encode(t, noise[:size], "gzip"), encode(t, noise[size:size+3000], "gzip")
		for _, x := range []struct {
			name string
			body []byte
			want []byte
			note string
			err  error

			broken bool // any decoder error
		}{
			{"one member", first, noise[:size], "", nil, false},
			{"two members", slices.Concat(first, second), noise[:size+3000], "", nil, false},
			{"bytes after it", append(slices.Clone(first), "more"...), noise[:size], noteTrailing, nil, false},
			{"bytes after two members", slices.Concat(first, second, []byte{0}), noise[:size+3000], noteTrailing, nil, false},
			{"cut in the checksum", first[:len(first)-3], noise[:size], "", io.ErrUnexpectedEOF, false},
			{"a wrong checksum", slices.Concat(first[:len(first)-8], []byte{^first[len(first)-8]}, first[len(first)-7:]), noise[:size], "", io.EOF, true},
		} {
			t.Run(fmt.Sprintf("%d/%s", len(first), x.name), func(t *testing.T) {
				src := &source{ctx: context.Background(), body: pieces{bytes.NewReader(x.body)}}
				d, err := c.open(src, []string{"gzip"}, 1<<20, hints{max: 2})
				if err != nil {
					t.Fatal(err)
				}
				defer d.close()
				got, err := io.ReadAll(d)
				if !bytes.Equal(got, x.want) || d.note != x.note || !errors.Is(err, x.err) && (!x.broken || err == nil) {
					t.Errorf("%d bytes, note %q, %v; want %d, %q, %v", len(got), d.note, err, len(x.want), x.note, x.err)
				}
				src.decoding = d
				if !x.broken && x.err == nil && x.note == "" && (src.decoded() != int64(len(x.body)) || !d.drain(src)) {
					t.Errorf("%d of %d bytes were decoded", src.decoded(), len(x.body))
				}
			})
		}
	}
}

// TestReadAhead checks that bytes read ahead but not yet decoded do not count for the compression ratio.
func TestReadAhead(t *testing.T) {
	body := encode(t, make([]byte, 8<<20), "gzip") // 8 KB when compressed
	src := &source{ctx: context.Background(), body: bytes.NewReader(body)}
	d, err := (&codecs{window: defaultMaxWindow}).open(src, []string{"gzip"}, 1<<20, hints{max: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	src.decoding = d
	if _, err := io.ReadFull(d, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if src.n != int64(len(body)) || src.decoded() > src.n/4 {
		t.Errorf("%d of %d bytes count as received after an eighth of the content", src.decoded(), src.n)
	}
}
