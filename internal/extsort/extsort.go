// Package extsort sorts more records than fit into memory: it writes sorted runs to a file and merges them.
package extsort

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
)

const (
	// DefaultMemory is the default limit of a Sorter's memory in bytes.
	DefaultMemory = 32 << 20
	maxOpen       = 256      // maximum number of runs merged at a time
	buffer        = 32 << 10 // bytes of a run read at a time
	overhead      = 24       // bytes of memory for a record in addition to its text
)

// Sorter sorts records bytewise. It is not safe for concurrent use.
type Sorter struct {
	dir    string
	memory int

	text    []byte
	records []span // positions in text
	file    *os.File
	runs    []run
	err     error
}

// span is a record in memory.
type span struct{ from, to int }

// run is a sorted sequence of records in the file.
type run struct{ from, to int64 }

// New returns an empty Sorter. It keeps up to memory bytes in memory (0: [DefaultMemory]). All other records are in a file in dir, which
// has no name.
func New(dir string, memory int) *Sorter {
	if memory == 0 {
		memory = DefaultMemory
	}
	return &Sorter{dir: dir, memory: memory}
}

// Add adds a record. It does not keep b. It returns the error of the file.
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

// spill moves the records in memory to the file.
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
	out := bufio.NewWriterSize(s.file, 256<<10) // bufio.Writer keeps the first error for Flush
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

// unnamed creates a file that is removed when it is closed, or, where the system allows it, at the latest when the process ends.
func unnamed(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "sort-*")
	if err == nil {
		_ = os.Remove(f.Name()) // fails where a file in use cannot be removed: then Close removes it
	}
	return f, err
}

// All returns the records in order. A record is valid until the next one is requested. After All, Add must not be called. After an error,
// the sequence ends.
func (s *Sorter) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if s.err == nil {
			s.err = s.reduce()
		}
		if s.err == nil {
			s.sort()
			for b, err := range s.merge(s.runs, true) {
				if s.err = err; !yield(b, err) {
					return
				}
			}
			return
		}
		yield(nil, s.err)
	}
}

// reduce merges runs until the remaining runs can be merged at once.
func (s *Sorter) reduce() error {
	for len(s.runs) > maxOpen {
		first := s.runs[:maxOpen]
		s.runs = slices.Clone(s.runs[maxOpen:])
		err := s.write(func(put func([]byte)) error {
			for b, err := range s.merge(first, false) {
				if err != nil {
					return err
				}
				put(b)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// merge merges runs, and the records in memory if memory is set.
func (s *Sorter) merge(runs []run, memory bool) iter.Seq2[[]byte, error] {
	var all []Source
	for _, r := range runs {
		all = append(all, records(bufio.NewReaderSize(io.NewSectionReader(s.file, r.from, r.to-r.from), buffer)))
	}
	if memory {
		all = append(all, s.inMemory())
	}
	return Merge(all...)
}

// Close removes the file. It may be called more than once.
func (s *Sorter) Close() error {
	f := s.file
	s.text, s.records, s.runs, s.file = nil, nil, nil, nil
	if f == nil {
		return nil
	}
	err := f.Close()
	_ = os.Remove(f.Name()) // needed only where a file in use cannot be removed
	return err
}

// inMemory returns the records in memory, which are sorted.
func (s *Sorter) inMemory() Source {
	rest := s.records
	return func() ([]byte, error) {
		if len(rest) == 0 {
			return nil, io.EOF
		}
		record := s.get(rest[0])
		rest = rest[1:]
		return record, nil
	}
}

// records returns the records of a run in the file.
func records(in *bufio.Reader) Source {
	var buf []byte
	return func() ([]byte, error) {
		size, err := binary.ReadUvarint(in)
		if err != nil {
			return nil, err
		}
		buf = slices.Grow(buf[:0], int(size))[:size]
		if _, err := io.ReadFull(in, buf); err != nil {
			return nil, noEnd(err)
		}
		return buf, nil
	}
}

// noEnd converts io.EOF to another error, because io.EOF would mean the end of a run.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
