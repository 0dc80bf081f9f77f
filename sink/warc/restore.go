package warc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/amble-crawler/amble/sink"
)

// Restore implements [sink.Sink].
func (w *Writer) Restore(_ context.Context, offset int64) error {
	if w.closed {
		return sink.ErrClosed
	}
	ps, err := w.disk.parts(w.opts.Prefix)
	if err != nil {
		return fmt.Errorf("warc: %w", err)
	}
	n, err := w.reach(ps, offset)
	if err != nil {
		return fmt.Errorf("warc: %w", err)
	}
	if w.cur != nil {
		_ = w.cur.release() // data that could not be written is removed below
		w.cur = nil
	}
	if err := w.cutBack(ps, n, offset); err != nil {
		return w.failed(err)
	}
	w.forget(ps[:n])
	return nil
}

// reach returns the number of files up to an offset, including the file that contains it. The error means that the offset is not one of
// this output.
func (w *Writer) reach(ps []part, offset int64) (n int, err error) {
	if offset == 0 {
		return 0, nil
	}
	serial, size := unpack(offset)
	n = slices.IndexFunc(ps, func(p part) bool { return p.serial == serial }) + 1
	if n == 0 || size == 0 || ps[n-1].size < size {
		return 0, fmt.Errorf("%s does not reach file %05d, byte %d, which was committed: another program changed it", w.disk.root.Name(), serial, size)
	}
	_, err = w.disk.stat(indexName(ps[n-1].name))
	return n, err
}

// cutBack removes all files but the first n, and truncates the n-th. If it is interrupted anywhere, it can be repeated.
func (w *Writer) cutBack(ps []part, n int, offset int64) error {
	last := int64(-1)
	if n > 0 {
		last = ps[n-1].serial
	}
	if err := w.removeAfter(last); err != nil {
		return err
	}
	if n > 0 {
		if err := w.cut(&ps[n-1], offset&maxOffset); err != nil {
			return err
		}
	}
	w.stale = true
	return w.disk.sync()
}

// removeAfter removes files with serial numbers after last, and what an interrupted sort has left.
func (w *Writer) removeAfter(last int64) error {
	entries, err := w.disk.list()
	if err != nil {
		return err
	}
	for _, e := range entries {
		serial, ext, ok := serialOf(w.opts.Prefix, e.Name())
		if !ok || !e.Type().IsRegular() || serial <= last && ext != indexExt+newExt && ext != indexExt+runsExt {
			continue
		}
		if err := w.disk.remove(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// cut truncates a file and its index.
func (w *Writer) cut(p *part, size int64) error {
	f, err := w.disk.edit(p.name)
	if err != nil {
		return err
	}
	if p.size > size {
		err = f.Truncate(size)
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	p.size = size
	return w.sortIndex(indexName(p.name), below(size))
}
