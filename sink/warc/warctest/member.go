package warctest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// readFile reads the records of a file, each in a separate gzip member or zstd frame.
func readFile(path string) ([]*Record, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	next := gzipMember
	if strings.HasSuffix(path, ".zst") {
		next = zstdFrame
	}
	var rs []*Record
	var errs []error
	for pos := 0; pos < len(data); {
		plain, n, err := next(data[pos:])
		if err != nil {
			return rs, errors.Join(append(errs, fmt.Errorf("%s at %d: %w", filepath.Base(path), pos, err))...)
		}
		r, err := parse(plain)
		r.File, r.Offset, r.Length = filepath.Base(path), int64(pos), int64(n)
		if err == nil {
			err = r.check()
		}
		if err != nil {
			errs = append(errs, r.errorf("%w", err))
		}
		rs = append(rs, r)
		pos += n
	}
	return rs, errors.Join(errs...)
}

// gzipMember returns the content of the gzip member at the beginning of data, and the member's length (RFC 1952 section 2.2).
func gzipMember(data []byte) (plain []byte, n int, err error) {
	in := bytes.NewReader(data) // an io.ByteReader: nothing after the member is read
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, 0, err
	}
	z.Multistream(false)
	plain, err = io.ReadAll(z)
	return plain, len(data) - in.Len(), err
}

// zstdFrame returns the content of the frame at the beginning of data, and the frame's length. The frame must state its content's size, and
// must have a checksum and a window that every reader supports ("Zstandard Compression for WARC Files" 1.0).
func zstdFrame(data []byte) (plain []byte, n int, err error) {
	var h zstd.Header
	if err := h.Decode(data); err != nil {
		return nil, 0, err
	}
	switch {
	case h.Skippable:
		return nil, 0, errors.New("a skippable frame")
	case !h.HasFCS, !h.HasCheckSum:
		return nil, 0, fmt.Errorf("content size %v, checksum %v: both are required", h.HasFCS, h.HasCheckSum)
	case h.WindowSize > 8<<20:
		return nil, 0, fmt.Errorf("a window of %d bytes", h.WindowSize)
	}
	if n, err = frameLength(data, h.HeaderSize); err != nil {
		return nil, 0, err
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, 0, err
	}
	defer d.Close()
	plain, err = d.DecodeAll(data[:n], nil)
	if err == nil && uint64(len(plain)) != h.FrameContentSize {
		err = fmt.Errorf("%d bytes in a frame of %d", len(plain), h.FrameContentSize)
	}
	return plain, n, err
}

// frameLength returns the end of a frame, found by going over its blocks (RFC 8878 section 3.1.1).
func frameLength(data []byte, pos int) (int, error) {
	const checksum = 4
	for {
		if pos+3 > len(data) {
			return 0, io.ErrUnexpectedEOF
		}
		head := binary.LittleEndian.Uint32(append([]byte{}, data[pos], data[pos+1], data[pos+2], 0))
		size := int(head >> 3)
		if head>>1&3 == 1 { // the block is one byte, to be repeated
			size = 1
		}
		if pos += 3 + size; head&1 == 1 {
			break
		}
	}
	if pos += checksum; pos > len(data) {
		return 0, io.ErrUnexpectedEOF
	}
	return pos, nil
}
