package warc

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// countingReader reads a file from an offset on and counts the bytes. It is an io.ByteReader, so a decompressor reads nothing beyond
// the end of a compressed stream.
type countingReader struct {
	r *bufio.Reader
	n int64 // offset of the next byte
}

func newCountingReader(f io.ReaderAt, offset int64) *countingReader {
	return &countingReader{bufio.NewReaderSize(io.NewSectionReader(f, offset, 1<<62-offset), 32<<10), offset}
}

// Read implements io.Reader.
func (t *countingReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.n += int64(n)
	return n, err
}

// ReadByte implements io.ByteReader.
func (t *countingReader) ReadByte() (byte, error) {
	b, err := t.r.ReadByte()
	if err == nil {
		t.n++
	}
	return b, err
}

var errDictionary = errors.New("it is compressed with a dictionary, which is not supported: compress the file again without one")

// member opens the record at the position of the tape. The error is io.EOF at the end of the file.
func (t *countingReader) member() (*member, error) {
	magic, err := t.r.Peek(4)
	switch {
	case len(magic) == 0:
		return nil, err
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(t)
		if err != nil {
			return nil, whole(t, err)
		}
		z.Multistream(false)
		return &member{bufio.NewReader(z), true}, nil
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(&frame{countingReader: t}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			return nil, whole(t, err)
		}
		return &member{bufio.NewReader(z), true}, nil
	case len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18}):
		return nil, errDictionary
	}
	return &member{t, false}, nil
}

// frame reads exactly the bytes of one zstd frame (RFC 8878 section 3.1.1).
type frame struct {
	*countingReader
	left  int // bytes left of the header, block or checksum that is being read
	begun bool
	last  bool // whether no more blocks follow
	sum   bool // whether a checksum follows
}

// Read implements io.Reader.
func (f *frame) Read(p []byte) (int, error) {
	if f.left == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	n, err := f.countingReader.Read(p[:min(len(p), f.left)])
	f.left -= n
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// next finds the length of the next part, which is the header, a block or the checksum.
func (f *frame) next() error {
	switch {
	case !f.begun:
		var h zstd.Header
		start, _ := f.r.Peek(zstd.HeaderMaxSize) // Decode reports an error if bytes are missing
		if err := h.Decode(start); err != nil {
			return err
		}
		f.begun, f.left, f.sum = true, h.HeaderSize, h.HasCheckSum
	case !f.last:
		b, err := f.r.Peek(3)
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		f.last = b[0]&1 == 1
		size := int(b[0])>>3 | int(b[1])<<5 | int(b[2])<<13
		if b[0]>>1&3 == 1 { // the block is one byte, to be repeated
			size = 1
		}
		f.left = 3 + size
	case f.sum:
		f.sum, f.left = false, 4
	default:
		return io.EOF
	}
	return nil
}
