package warc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/amble-crawler/amble/internal/extsort"
)

const (
	runSize = 16 << 20 // maximum bytes of index lines that are sorted in memory
	maxLine = 1 << 20  // maximum bytes of an index line
	runsExt = ".runs"  // extension of the file with sorted runs
)

// sortIndex replaces an index by one that is sorted bytewise. It keeps only the lines that keep selects; all if keep is nil. Its memory
// does not depend on the size of the index.
func (w *Writer) sortIndex(name string, keep func(line []byte) bool) error {
	in, err := w.disk.read(name)
	if err != nil {
		return err
	}
	s := &sorter{disk: w.disk, name: name, keep: keep, size: runSize}
	if err = errors.Join(s.read(in), in.Close()); err == nil {
		err = s.write()
	}
	return errors.Join(err, s.cleanUp(err))
}

// sorter sorts the lines of a file: first in runs that fit into memory, and then it merges these runs.
type sorter struct {
	disk disk
	name string
	keep func(line []byte) bool
	size int

	lines [][]byte
	text  int   // total bytes of lines
	runs  *file // file with the sorted runs; nil if one run is enough
	ends  []int64
}

// read reads the lines, and sorts them in runs.
func (s *sorter) read(in io.Reader) error {
	sc := bufio.NewScanner(in)
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	sc.Split(wholeLines)
	for sc.Scan() {
		if s.keep != nil && !s.keep(sc.Bytes()) {
			continue
		}
		if s.text > s.size {
			if err := s.spill(); err != nil {
				return err
			}
		}
		s.lines = append(s.lines, slices.Clone(sc.Bytes()))
		s.text += len(sc.Bytes())
	}
	// The bytes after the committed part of an index are arbitrary: they may have no line end.
	if err := sc.Err(); err != nil && (s.keep == nil || !errors.Is(err, bufio.ErrTooLong)) {
		return err
	}
	slices.SortFunc(s.lines, bytes.Compare)
	return nil
}

// wholeLines splits data into lines, with their line ends. It leaves out an incomplete line.
func wholeLines(data []byte, _ bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i+1], nil
	}
	return 0, nil, nil
}

// spill appends the lines in memory to the file of runs, sorted.
func (s *sorter) spill() (err error) {
	if s.runs == nil {
		if s.runs, err = s.disk.replace(s.name + runsExt); err != nil {
			return err
		}
	}
	slices.SortFunc(s.lines, bytes.Compare)
	out := bufio.NewWriterSize(s.runs, 1<<20)
	for _, l := range s.lines {
		_, _ = out.Write(l) // Flush returns the error
	}
	if err := out.Flush(); err != nil {
		return err
	}
	end, err := s.runs.Seek(0, io.SeekCurrent)
	s.ends = append(s.ends, end)
	s.lines, s.text = s.lines[:0], 0
	return err
}

// write writes the sorted index, and replaces the old index with it.
func (s *sorter) write() error {
	f, err := s.disk.replace(s.name + newExt)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 256<<10)
	err = s.merge(out)
	if e := out.Flush(); err == nil {
		err = e
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return s.disk.rename(f.name, s.name)
}

// merge merges all runs and writes their lines in order.
func (s *sorter) merge(out *bufio.Writer) error {
	all := []extsort.Source{s.inMemory()}
	start := int64(0)
	for _, end := range s.ends {
		in := bufio.NewReaderSize(io.NewSectionReader(s.runs, start, end-start), 64<<10)
		all = append(all, func() ([]byte, error) { return in.ReadBytes('\n') })
		start = end
	}
	for line, err := range extsort.Merge(all...) {
		if err == nil {
			_, err = out.Write(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inMemory returns the lines that are still in memory, as a source for merging.
func (s *sorter) inMemory() extsort.Source {
	rest := s.lines
	return func() ([]byte, error) {
		if len(rest) == 0 {
			return nil, io.EOF
		}
		line := rest[0]
		rest = rest[1:]
		return line, nil
	}
}

// cleanUp removes temporary files and, after an error, the incomplete new index.
func (s *sorter) cleanUp(failed error) error {
	var err error
	if s.runs != nil {
		err = errors.Join(s.runs.Close(), s.disk.remove(s.name+runsExt))
	}
	if failed != nil {
		err = errors.Join(err, s.disk.remove(s.name+newExt))
	}
	return err
}

// below returns a function that selects the index lines of records before an offset. Text that looks like the member "offset" in the JSON
// block is this member, because quotes in strings are escaped; in the key it is not.
func below(offset int64) func(line []byte) bool {
	return func(line []byte) bool {
		_, block, ok := bytes.Cut(line, []byte(" {"))
		_, rest, found := bytes.Cut(block, []byte(`"offset":"`))
		digits, _, _ := bytes.Cut(rest, []byte(`"`))
		at, err := strconv.ParseInt(string(digits), 10, 64)
		return ok && found && err == nil && at < offset && bytes.HasSuffix(line, []byte("}\n"))
	}
}
