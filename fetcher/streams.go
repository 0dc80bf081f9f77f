package fetcher

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The decoders of the codecs. Each returns errTrailing if bytes follow the end of its stream, and io.ErrUnexpectedEOF if the end is
// missing.

// gzipMembers reads a gzip file: one or more members (RFC 1952 section 2.2).
type gzipMembers struct {
	z  gzip.Reader
	in *bufio.Reader

	// The rest of the file, if all of it is in the buffer of in, as for most pages. Reading bytes from it is faster, because no read can
	// need more data. whole is in use if peeked is not 0.
	whole  bytes.Reader
	peeked int // initial length of whole; the bytes are still in the buffer of in
}

func (g *gzipMembers) Reset(r io.Reader) error {
	g.peeked = 0
	g.whole.Reset(nil)
	in, ok := r.(*bufio.Reader)
	if !ok {
		g.in = nil
		_ = g.z.Reset(noBytes{})
		return nil
	}
	g.in = in
	return g.member(true)
}

// member begins the next member. With ahead it first waits until the buffer of in is full or the stream ends.
func (g *gzipMembers) member(ahead bool) error {
	var from io.Reader = g.in
	if ahead {
		if all, err := g.in.Peek(g.in.Size()); len(all) > 0 && errors.Is(err, io.EOF) {
			g.whole.Reset(all)
			from, g.peeked = &g.whole, len(all)
		}
	}
	err := g.z.Reset(from)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		g.z.Multistream(false)
	}
	return err
}

// over discards from g.in the bytes that were read through g.whole. It returns false if g.whole was not in use.
func (g *gzipMembers) over() bool {
	if g.peeked == 0 {
		return false
	}
	_, _ = g.in.Discard(g.peeked - g.whole.Len()) // cannot fail: the bytes are in the buffer
	g.peeked = 0
	return true
}

// unread returns the number of bytes that were received and not decoded.
func (g *gzipMembers) unread() int {
	if g.peeked > 0 {
		return g.whole.Len()
	}
	return g.in.Buffered()
}

func (g *gzipMembers) Read(p []byte) (int, error) {
	if g.in == nil {
		return 0, io.EOF
	}
	for {
		n, err := g.z.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		}
		wasWhole := g.over()
		head, err := g.in.Peek(2)
		switch {
		case len(head) == 0 && errors.Is(err, io.EOF):
			return 0, io.EOF
		case len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b:
			if err := g.member(wasWhole); err != nil {
				return 0, err
			}
		case err != nil && !errors.Is(err, io.EOF):
			return 0, err
		default:
			return 0, errTrailing
		}
	}
}

// resettable is a zlib or raw deflate reader, created for its first stream.
type resettable struct {
	make func(io.Reader) (io.ReadCloser, error)
	r    io.ReadCloser
	in   io.Reader
}

func (s *resettable) Reset(r io.Reader) error {
	s.in = r
	if s.r == nil {
		if _, empty := r.(noBytes); empty {
			return nil
		}
		made, err := s.make(r)
		if err != nil {
			return err
		}
		s.r = made
		return nil
	}
	err := s.r.(flate.Resetter).Reset(r, nil)
	if _, empty := r.(noBytes); empty {
		return nil
	}
	return err
}

func (s *resettable) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if br, ok := s.in.(*bufio.Reader); ok && errors.Is(err, io.EOF) && br.Buffered() > 0 {
		err = errTrailing
	}
	return n, err
}

// brotliStream is a brotli reader. It reads ahead, so it must detect trailing bytes itself.
type brotliStream struct{ brotli.Reader }

func (b *brotliStream) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err.Error() == "brotli: excessive input" {
		err = errTrailing
	}
	return n, err
}

// zstdFrames is a zstd reader. It treats bytes after a frame as another frame.
type zstdFrames struct {
	*zstd.Decoder
	any bool // at least one byte was decoded
}

func (z *zstdFrames) Reset(r io.Reader) error {
	z.any = false
	if _, empty := r.(noBytes); empty {
		return z.Decoder.Reset(nil)
	}
	return z.Decoder.Reset(r)
}

func (z *zstdFrames) Read(p []byte) (int, error) {
	n, err := z.Decoder.Read(p)
	z.any = z.any || n > 0
	if z.any && errors.Is(err, zstd.ErrMagicMismatch) {
		err = errTrailing
	}
	return n, err
}
