// Package warc is a sink that stores what went over the wire: the files of web archives.
//
// A [Writer] fills a directory with files named PREFIX-TIMESTAMP-SERIAL.warc.gz in the WARC format 1.1
// (ISO 28500:2017), each beginning with a warcinfo record, each record a gzip member of its own, and
// beside each a CDXJ index that is sorted when the file is complete. Readers of web archives play it
// back.
//
// # What a visit becomes
//
// A [sink.Record] with an Exchange becomes a request record, a response record and a metadata record,
// in this order, all in one file; a Record without one leaves nothing here. So do exchanges that are
// no visit, by [Writer.AppendExchange]. The metadata record is of the type application/warc-fields
// and holds, besides via and fetchTimeMs of ISO 28500 section 6.6: depth, redirectedFrom (once for each
// hop), outcome, reason, attempt, truncated, sha256 (of the decoded body), and purpose.
//
// A payload that was stored before becomes a revisit record of the profile identical-payload-digest,
// with the header section of its own answer and a reference to the first. Empty and truncated payloads
// are always stored. Only as many as [Options].Revisits are remembered, and none of an earlier run.
//
// # What differs from the wire
//
// A chunked body is stored without its chunks, because most readers take the payload's digest over
// what stands in the file, where the standard takes it over the entity body: without chunks both are
// the same. The header field Transfer-Encoding is then called X-Crawler-Transfer-Encoding, and a
// Content-Length that stood beside it X-Crawler-Content-Length. A body that is not framed as its header
// says is stored as it came. Content codings stay as they came, always.
//
// HTTP/2 has no text form. Its header sections are stored in that of HTTP/1.1, as the crawler made
// them ([sink.SyntheticHead]), and the field WARC-Protocol of the IIPC says h2 (or h2c).
//
// Values of Authorization and Cookie fields were blanked by whoever recorded the exchange. A URI is
// written as it was asked for, where octets that a URI cannot have (RFC 3986) are percent-encoded: the
// URL Standard lets some of them stand, such as "|".
//
// # Offsets
//
// The offset that [Writer.Sync] returns holds the serial number of a file in its high bits and an
// offset in that file in its low 40. [Writer.Restore] cuts that file and its index back and removes
// the later ones. A Writer never writes to a file of an earlier run: it begins the next.
package warc

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/amble-crawler/amble/sink"
)

// Writer writes archive files. It is a [sink.Sink] and a [sink.ExchangeSink], and as these it is for
// one goroutine at a time. No other process may write files of its prefix to its directory.
type Writer struct {
	opts    Options
	disk    disk
	members compressor
	seen    *payloads

	cur   *segment // nil until something is appended, and between two files
	last  part     // when cur is nil: the last file there is, serial -1 when there is none
	stale bool     // last may not be durable

	extents []sink.Extent // of files that were finished since Extents was last called

	group  group // the records of one capture, on their way to the file
	err    error // of a write: what is behind the last Sync may be torn
	closed bool
}

var (
	_ sink.Sink         = (*Writer)(nil)
	_ sink.ExchangeSink = (*Writer)(nil)
	_ sink.Named        = (*Writer)(nil)
)

// Open makes a Writer for the directory, which is made when missing. The error is that of
// [Options.Validate] or of the file system. No file is made before the first Append.
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

// OpenRoot is Open for a directory that is open already, and that Close closes. A file in it that is a
// symbolic link is never followed, by Open neither.
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

// forget begins anew behind the files there are.
func (w *Writer) forget(ps []part) {
	w.cur, w.last = nil, part{serial: -1}
	if n := len(ps); n > 0 {
		w.last = ps[n-1]
	}
	w.seen, w.err, w.extents = newPayloads(w.opts.Revisits), nil, nil
}

// Name implements [sink.Named]: "warc".
func (w *Writer) Name() string { return "warc" }

// Append implements [sink.Sink]. It sets r.WARC to the place of the response or revisit record, or of
// the request record when there was no answer, and to nil when there is no Exchange.
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

// AppendExchange implements [sink.ExchangeSink].
func (w *Writer) AppendExchange(_ context.Context, x *sink.Exchange) error {
	if err := w.usable(); err != nil {
		return err
	}
	_, err := w.capture(x, nil)
	return err
}

// usable is the error of a call that comes too late.
func (w *Writer) usable() error {
	if w.closed {
		return sink.ErrClosed
	}
	return w.err
}

// failed makes err, if it is one, the error of every later call.
func (w *Writer) failed(err error) error {
	if err != nil {
		w.err = fmt.Errorf("warc: %w", err)
	}
	return w.err
}

// Sync implements [sink.Sink].
func (w *Writer) Sync() (int64, error) {
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

// syncLast makes durable what an earlier run left.
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

// Close implements [sink.Sink]. It sorts the index of the last file.
func (w *Writer) Close() error {
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
