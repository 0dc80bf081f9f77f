// Package extsort sorts more records than fit into memory: in sorted runs in a file, which are then read together.
package extsort

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
)

const (
	// DefaultMemory is how many bytes of records a Sorter keeps in memory.
	DefaultMemory = 32 << 20
	mostOpen      = 256      // runs that are read together
	buffer        = 32 << 10 // bytes of a run that are read at once
	overhead      = 24       // bytes in memory for a record besides its text
)

// Sorter sorts records bytewise. It is not safe for concurrent use.
type Sorter struct {
	dir    string
	memory int

	text    []byte
	records []span // in text
	file    *os.File
	runs    []run
	err     error
}

// span is a record in memory.
type span struct{ from, to int }

// run is a sorted sequence of records in the file.
type run struct{ from, to int64 }

// New returns an empty Sorter, which keeps this many bytes in memory, 0 meaning [DefaultMemory], and the rest in a file
// without a name in dir.
func New(dir string, memory int) *Sorter {
	if memory == 0 {
		memory = DefaultMemory
	}
	return &Sorter{dir: dir, memory: memory}
}

// Add adds a record. It does not keep b. The error is that of the file.
func (s *Sorter) Add(b []byte) error {
	if s.err != nil {
		return s.err
	}
	if len(s.text)+len(b)+overhead*len(s.records) > s.memory && len(s.records) > 0 {
		if s.err = s.spill(); s.err != nil {
			return s.err
		}
	}
	s.records = append(s.records, span{len(s.text), len(s.text) + len(b)})
	s.text = append(s.text, b...)
	return nil
}

func (s *Sorter) get(r span) []byte { return s.text[r.from:r.to:r.to] }

func (s *Sorter) sort() {
	slices.SortStableFunc(s.records, func(a, b span) int { return bytes.Compare(s.get(a), s.get(b)) })
}

// spill moves what is in memory to the file.
func (s *Sorter) spill() (err error) {
	if s.file == nil {
		if s.file, err = unnamed(s.dir); err != nil {
			return err
		}
	}
	s.sort()
	err = s.write(func(put func([]byte)) error {
		for _, r := range s.records {
			put(s.get(r))
		}
		return nil
	})
	s.text, s.records = s.text[:0], s.records[:0]
	return err
}

// write appends a run to the file.
func (s *Sorter) write(fill func(put func([]byte)) error) error {
	from, err := s.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(s.file, 256<<10) // keeps the first error for Flush
	to := from
	err = fill(func(b []byte) {
		size := binary.AppendUvarint(nil, uint64(len(b)))
		_, _ = out.Write(size)
		_, _ = out.Write(b)
		to += int64(len(size) + len(b))
	})
	if err = errors.Join(err, out.Flush()); err == nil {
		s.runs = append(s.runs, run{from, to})
	}
	return err
}

// unnamed creates a file that is removed when it is closed, at the latest when the process ends, where the system allows that.
func unnamed(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "sort-*")
	if err == nil {
		_ = os.Remove(f.Name()) // where a file in use cannot be removed, Close does it
	}
	return f, err
}

// All returns the records in order. A record is valid until the next one is requested. Nothing may be added any more. The
// sequence ends after an error.
func (s *Sorter) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if s.err == nil {
			s.err = s.reduce()
		}
		if s.err == nil {
			s.sort()
			s.err = s.merge(s.runs, true, func(b []byte) bool { return yield(b, nil) })
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

// reduce merges runs until they can be read together.
func (s *Sorter) reduce() error {
	for len(s.runs) > mostOpen {
		first := s.runs[:mostOpen]
		s.runs = slices.Clone(s.runs[mostOpen:])
		err := s.write(func(put func([]byte)) error {
			return s.merge(first, false, func(b []byte) bool { put(b); return true })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// merge calls f with the records of the runs, and of those in memory, in order, until it returns false.
func (s *Sorter) merge(runs []run, memory bool, f func([]byte) bool) error {
	h := make(sources, 0, len(runs)+1)
	for _, r := range runs {
		h = append(h, &source{in: bufio.NewReaderSize(io.NewSectionReader(s.file, r.from, r.to-r.from), buffer)})
	}
	if memory {
		h = append(h, &source{of: s, rest: s.records})
	}
	for i := len(h) - 1; i >= 0; i-- {
		ok, err := h[i].next()
		if err != nil {
			return err
		}
		if !ok {
			h = slices.Delete(h, i, i+1)
		}
	}
	for heap.Init(&h); len(h) > 0; {
		if !f(h[0].record) {
			return nil
		}
		switch ok, err := h[0].next(); {
		case err != nil:
			return err
		case ok:
			heap.Fix(&h, 0)
		default:
			heap.Pop(&h)
		}
	}
	return nil
}

// Close removes the file. It may be called more than once.
func (s *Sorter) Close() error {
	f := s.file
	s.text, s.records, s.runs, s.file = nil, nil, nil, nil
	if f == nil {
		return nil
	}
	err := f.Close()
	_ = os.Remove(f.Name()) // it is gone already, except where a file in use cannot be removed
	return err
}

// source is a run that is read.
type source struct {
	of   *Sorter // of rest
	rest []span
	in   *bufio.Reader

	record []byte
	buf    []byte
}

func (r *source) next() (ok bool, err error) {
	if r.in == nil {
		if len(r.rest) == 0 {
			return false, nil
		}
		r.record, r.rest = r.of.get(r.rest[0]), r.rest[1:]
		return true, nil
	}
	size, err := binary.ReadUvarint(r.in)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.buf = slices.Grow(r.buf[:0], int(size))[:size]
	r.record = r.buf
	_, err = io.ReadFull(r.in, r.buf)
	return err == nil, err
}

// sources is a heap of runs by their next records.
type sources []*source

func (h sources) Len() int           { return len(h) }
func (h sources) Less(i, j int) bool { return bytes.Compare(h[i].record, h[j].record) < 0 }
func (h sources) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *sources) Push(x any)        { *h = append(*h, x.(*source)) }

func (h *sources) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}
