package warc

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// flushLines limits the bytes of index lines that are collected in memory before they are written.
const flushLines = 64 << 10

// segment is the archive file that is being written, with its index.
type segment struct {
	part
	begun    time.Time
	f, index *file
	info     string // record ID of the warcinfo record
	lines    []byte // index lines that are not written yet
	dirty    bool   // whether something was written since the last sync
	hash     prefixHash
}

// room makes sure that there is a file with room for a capture of size bytes. It begins the next file if the capture does not fit, or the
// file has reached its maximum age.
func (w *Writer) room(size int64) error {
	if c := w.cur; c != nil && (c.size+size > w.opts.MaxSize || w.opts.MaxAge > 0 && w.opts.now().Sub(c.begun) >= w.opts.MaxAge) {
		if err := w.finish(); err != nil {
			return err
		}
	}
	if w.cur != nil {
		return nil
	}
	return w.begin()
}

// begin creates the next file and its index.
func (w *Writer) begin() error {
	serial := w.last.serial + 1
	if serial > maxSerial {
		return errors.New("too many files")
	}
	now := w.opts.now()
	name := fileName(w.opts.Prefix, now, serial, w.opts.Compression)
	f, err := w.disk.create(name)
	if err != nil {
		return err
	}
	index, err := w.disk.replace(indexName(name))
	if err != nil {
		return errors.Join(err, f.Close(), w.disk.remove(name))
	}
	w.cur = &segment{part: part{name: name, serial: serial}, begun: now, f: f, index: index, hash: newPrefixHash()}
	w.stale = true
	w.group.reset()
	w.warcinfo(now)
	return w.store()
}

// store writes the records in the group to the file.
func (w *Writer) store() error {
	if w.group.err != nil {
		return w.group.err
	}
	n, err := w.cur.f.Write(w.group.data())
	w.cur.size, w.cur.dirty = w.cur.size+int64(n), true
	w.cur.hash.add(w.group.data()[:n])
	return err
}

// add appends a line to the index.
func (s *segment) add(line []byte) error {
	if s.lines = append(s.lines, line...); len(s.lines) < flushLines {
		return nil
	}
	return s.flush()
}

func (s *segment) flush() error {
	if len(s.lines) == 0 {
		return nil
	}
	_, err := s.index.Write(s.lines)
	s.lines = s.lines[:0]
	return err
}

// sync makes the file and its index durable.
func (s *segment) sync() error {
	if !s.dirty {
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	if err := s.f.Sync(); err != nil {
		return err
	}
	if err := s.index.Sync(); err != nil {
		return err
	}
	s.dirty = false
	return nil
}

// release closes the files without writing anything.
func (s *segment) release() error { return errors.Join(s.f.Close(), s.index.Close()) }

// finish completes the file: it makes the file durable, closes it, and sorts its index.
func (w *Writer) finish() error {
	s := w.cur
	if err := s.sync(); err != nil {
		return errors.Join(err, s.release())
	}
	w.cur, w.last, w.stale = nil, s.part, false
	w.extents = s.appendExtent(w.extents)
	if err := s.release(); err != nil {
		return err
	}
	if err := w.sortIndex(s.index.name, nil); err != nil {
		return err
	}
	return w.disk.sync()
}

// compressor compresses each record as a separate gzip member or zstd frame.
type compressor interface {
	// begin starts the compression of a record of size bytes.
	begin(dst io.Writer, size int64)
	io.WriteCloser
}

func newCompressor(c Compression, level int) (compressor, error) {
	if c == Zstd {
		// "Zstandard Compression for WARC Files" requires windows of up to 8 MiB, and the content's size and a checksum in every frame. The
		// encoder starts no goroutines.
		z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevel(level)), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(true))
		return zstdFrames{z}, err
	}
	z, err := gzip.NewWriterLevel(io.Discard, level)
	return gzipMembers{z}, err
}

type gzipMembers struct{ *gzip.Writer }

func (m gzipMembers) begin(dst io.Writer, _ int64) { m.Reset(dst) }

type zstdFrames struct{ *zstd.Encoder }

func (m zstdFrames) begin(dst io.Writer, size int64) { m.ResetContentSize(dst, size) }

// keepGroup limits the size of a group's buffer that is reused.
const keepGroup = 4 << 20

// group collects the compressed records of one capture, to write them to the file together.
type group struct {
	buf bytes.Buffer
	err error
}

func (g *group) reset() {
	if g.buf.Cap() > keepGroup {
		g.buf = bytes.Buffer{}
	}
	g.buf.Reset()
	g.err = nil
}

func (g *group) data() []byte { return g.buf.Bytes() }

// span is the place of a record in a group.
type span struct{ start, end int64 }

// put adds a record to the group (ISO 28500 section 4) and returns its place.
func (w *Writer) put(h *header, block ...[]byte) span {
	g, size := &w.group, 0
	for _, b := range block {
		size += len(b)
	}
	h.add("WARC-Block-Digest", w.opts.Digest.of(block...))
	h.add("Content-Length", strconv.Itoa(size))
	head := h.end()
	s := span{start: int64(g.buf.Len())}
	w.members.begin(&g.buf, int64(len(head)+size+len(recordEnd)))
	w.squeeze(head)
	for _, b := range block {
		w.squeeze(b)
	}
	w.squeeze([]byte(recordEnd))
	if err := w.members.Close(); err != nil && g.err == nil {
		g.err = err
	}
	s.end = int64(g.buf.Len())
	return s
}

func (w *Writer) squeeze(p []byte) {
	if _, err := w.members.Write(p); err != nil && w.group.err == nil {
		w.group.err = err
	}
}

// A committed offset consists of the serial number of a file and an offset in this file: serial<<40 | offset. It increases with the output,
// and is 0 only before the first file.
const (
	offsetBits = 40
	maxOffset  = 1<<offsetBits - 1
	maxSerial  = 1<<(63-offsetBits) - 1
)

func pack(serial, offset int64) int64 { return serial<<offsetBits | offset }

func unpack(committed int64) (serial, offset int64) {
	return committed >> offsetBits, committed & maxOffset
}
