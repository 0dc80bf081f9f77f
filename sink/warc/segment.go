package warc

import "errors"

// flushLines is how many bytes of index lines are collected before they are written.
const flushLines = 64 << 10

// segment is the archive file that is being written, with its index.
type segment struct {
	part
	f, index *file
	info     string // the record ID of its warcinfo
	lines    []byte // of the index, not yet written
	dirty    bool   // something was written since the last sync
	hash     prefixHash
}

// room begins a file if there is none, or the next one if a capture of size bytes does not fit.
func (w *Writer) room(size int64) error {
	if c := w.cur; c != nil && c.size+size > w.opts.MaxSize {
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
	w.cur = &segment{part: part{name: name, serial: serial}, f: f, index: index, hash: newPrefixHash()}
	w.stale = true
	w.group.reset()
	w.warcinfo(now)
	return w.store()
}

// store writes the group to the file.
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

// finish completes the file: durable, closed, its index sorted.
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
