// Package warc implements a sink that stores requests and responses as sent and received, in web archive files.
//
// A [Writer] fills a directory with files named PREFIX-TIMESTAMP-SERIAL.warc.gz in the WARC format 1.1 (ISO 28500:2017). Each file begins
// with a warcinfo record, and each record is a separate gzip member. Each file has a CDXJ index, which is sorted when the file is complete.
// Readers of web archives can replay these files.
//
// # The records of a visit
//
// A [sink.Record] with an Exchange becomes a request record, a response record and a metadata record, in this order, in one file. For a
// Record without Exchange nothing is stored. [Writer.AppendExchange] stores exchanges that are not visits in the same way. The metadata
// record is of the type application/warc-fields. It contains via and fetchTimeMs of ISO 28500 section 6.6, and in addition: depth,
// redirectedFrom (once for each hop), outcome, reason, attempt, truncated, sha256 (of the decoded body), and purpose.
//
// A page that was rendered has two more records after these: the final document, as a conversion record that refers to the response, and,
// if one was made, the picture, as a resource record concurrent with the response. The URI of the picture is "urn:view:" followed by that
// of the page. Neither record is in the index: a reader of the archive replays the response as received.
//
// A payload that was stored before becomes a revisit record of the profile identical-payload-digest, with the header section of this
// response and a reference to the record with the payload. Empty and truncated payloads are always stored. A Writer remembers at most
// [Options].Revisits payloads, and none of earlier runs.
//
// # Differences from the wire
//
// A chunked body is stored without its chunks. Most readers compute the digest of the payload from the bytes in the file, but the standard
// computes it from the entity body: without chunks, both are the same. The header field Transfer-Encoding is then renamed to
// X-Crawler-Transfer-Encoding, and a Content-Length next to it to X-Crawler-Content-Length. A body whose framing contradicts its header is
// stored as received. Content codings are always kept.
//
// HTTP/2 has no text form. For it, the crawler makes header sections in the form of HTTP/1.1 ([sink.SyntheticHead]), and the field
// WARC-Protocol of the IIPC is h2 (or h2c).
//
// The recorder of the exchange has masked the values of Authorization and Cookie fields. A URI is written as requested, but bytes that are
// invalid in a URI (RFC 3986) are percent-encoded: the URL Standard permits some of these, such as "|".
//
// # Offsets
//
// The offset returned by [Writer.Sync] has the serial number of a file in its high bits, and an offset in that file in its low 40 bits.
// [Writer.Restore] truncates that file and its index, and removes later files. A Writer never writes to a file of an earlier run: it begins
// a new one.
package warc

import (
	"context"
	"crypto/sha256"
	"encoding"
	"errors"
	"fmt"
	"hash"
	"os"

	"github.com/amble-crawler/amble/sink"
)

// Writer writes archive files. Like every [sink.Sink], it may be used by only one goroutine at a time. No other process may write files
// with the same prefix to the directory.
type Writer struct {
	opts    Options
	disk    disk
	members compressor
	seen    *payloads

	cur   *segment // nil before the first Append, and between two files
	last  part     // valid if cur is nil: the last existing file; serial -1 if there is none
	stale bool     // whether last may not be durable

	extents []sink.Extent // extents of files that were completed since the last call of Extents

	group  group // records of one capture
	err    error // error of a write: the output may be torn after the last Sync
	closed bool
}

var (
	_ sink.Sink = (*Writer)(nil)
)

// Open returns a Writer for a directory, and creates the directory if it does not exist. It creates no file before the first Append. The
// error is that of [Options.Validate] or of the file system.
func Open(dir string, o Options) (*Writer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("warc: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("warc: %w", err)
	}
	w, err := OpenRoot(root, o)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return w, nil
}

// OpenRoot is like Open, for a directory that is open. Close closes it. Both functions follow no symbolic links in the directory.
func OpenRoot(dir *os.Root, o Options) (*Writer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	w := &Writer{opts: o, disk: disk{dir, o.hook}, stale: true}
	ps, err := w.disk.parts(o.Prefix)
	if err != nil {
		return nil, fmt.Errorf("warc: %w", err)
	}
	if w.members, err = newCompressor(o.Compression, o.Level); err != nil {
		return nil, fmt.Errorf("warc: %w", err)
	}
	w.forget(ps)
	return w, nil
}

// forget resets the state, so that a new file follows the existing ones.
func (w *Writer) forget(ps []part) {
	w.cur, w.last = nil, part{serial: -1}
	if n := len(ps); n > 0 {
		w.last = ps[n-1]
	}
	w.seen, w.err, w.extents = newPayloads(w.opts.Revisits), nil, nil
}

// Name implements [sink.Sink]. It returns "warc".
func (w *Writer) Name() string { return "warc" }

// Append implements [sink.Sink]. It sets r.WARC to the place of the response or revisit record; if there was no response, of the request
// record; if r has no Exchange, to nil.
func (w *Writer) Append(_ context.Context, r *sink.Record) error {
	if err := w.usable(); err != nil {
		return err
	}
	r.WARC = nil
	if r.Exchange == nil {
		return nil
	}
	at, err := w.capture(r.Exchange, r)
	r.WARC = at
	return err
}

// Needs implements [sink.Sink]. A Writer needs exchanges.
func (*Writer) Needs() sink.Needs { return sink.Needs{Exchanges: true} }

// AppendExchange implements [sink.Sink].
func (w *Writer) AppendExchange(_ context.Context, x *sink.Exchange) error {
	if err := w.usable(); err != nil {
		return err
	}
	_, err := w.capture(x, nil)
	return err
}

// usable returns the error of a call after Close or after a failed write.
func (w *Writer) usable() error {
	if w.closed {
		return sink.ErrClosed
	}
	return w.err
}

// failed keeps err, unless it is nil, as the error of all later calls.
func (w *Writer) failed(err error) error {
	if err != nil {
		w.err = fmt.Errorf("warc: %w", err)
	}
	return w.err
}

// Sync implements [sink.Sink].
func (w *Writer) Sync(_ context.Context) (int64, error) {
	if err := w.usable(); err != nil {
		return 0, err
	}
	if w.cur != nil {
		return pack(w.cur.serial, w.cur.size), w.failed(w.syncCurrent())
	}
	if w.last.serial < 0 {
		return 0, nil
	}
	return pack(w.last.serial, w.last.size), w.failed(w.syncLast())
}

func (w *Writer) syncCurrent() error {
	if err := w.cur.sync(); err != nil {
		return err
	}
	if w.stale {
		if err := w.disk.sync(); err != nil {
			return err
		}
		w.stale = false
	}
	return nil
}

// syncLast makes the last file of an earlier run durable.
func (w *Writer) syncLast() error {
	if !w.stale {
		return nil
	}
	for _, name := range []string{w.last.name, indexName(w.last.name)} {
		f, err := w.disk.edit(name)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	w.stale = false
	return w.disk.sync()
}

// Close implements [sink.Sink]. It also sorts the index of the last file.
func (w *Writer) Close(_ context.Context) error {
	if w.closed {
		return nil
	}
	w.closed, w.seen = true, nil
	return errors.Join(w.closeCurrent(), w.disk.root.Close())
}

func (w *Writer) closeCurrent() error {
	if w.cur == nil {
		return nil
	}
	if w.err != nil {
		return w.cur.release()
	}
	return w.failed(w.finish())
}

// Extents returns the extent of each archive file that has grown since the last call, by serial number. Data that was synced before the
// call is durable up to these extents. Indexes are left out, because they can be made again from the archives.
func (w *Writer) Extents() []sink.Extent {
	all := w.extents
	w.extents = nil
	if w.cur != nil {
		all = w.cur.appendExtent(all)
	}
	return all
}

// appendExtent appends the extent of the file, unless the file is unchanged since the last call.
func (s *segment) appendExtent(list []sink.Extent) []sink.Extent {
	if s.hash.told == s.size {
		return list
	}
	s.hash.told = s.size
	e := sink.Extent{File: s.name, Bytes: s.size, State: s.hash.state()}
	s.hash.Sum(e.SHA256[:0])
	return append(list, e)
}

// prefixHash is the hash of the data written to a file so far.
type prefixHash struct {
	hash.Hash
	told int64 // length of the file at the last call of Extents
}

func newPrefixHash() prefixHash { return prefixHash{Hash: sha256.New()} }

func (h *prefixHash) add(b []byte) { _, _ = h.Write(b) } // Write of a hash never fails

func (h *prefixHash) state() []byte {
	b, err := h.Hash.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil { // crypto/sha256 never returns an error
		panic(err)
	}
	return b
}
