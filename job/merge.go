package job

import (
	"bufio"
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/amble-crawler/amble/internal/jsonl"
	"github.com/amble-crawler/amble/internal/safefile"
)

// maxOpen limits the files that are merged at a time; more files need several rounds.
const maxOpen = 128

// lineFile is a file of lines, and the part of it to merge.
type lineFile struct {
	path   string
	bytes  int64
	offset time.Duration // added to the times of the lines
	timed  bool          // a temporary file of the merger, which is removed after use; each line begins with its time
}

// merger merges the lines of several files by their times. Lines of the same file keep their order.
type merger struct {
	at  func(line []byte) (time.Time, error)
	dir string // directory for temporary files
}

// merge calls f with each line, in the order of their times.
func (m *merger) merge(files []lineFile, f func(line []byte) error) error {
	for len(files) > maxOpen {
		rest := files[maxOpen:]
		one, err := m.round(files[:maxOpen])
		if err != nil {
			return err
		}
		files = append(rest[:len(rest):len(rest)], one)
	}
	return m.each(files, func(_ time.Time, line []byte) error { return f(line) })
}

// round merges files into a new one, in which each line begins with its time.
func (m *merger) round(files []lineFile) (lineFile, error) {
	out, err := os.CreateTemp(m.dir, "merge-*")
	if err != nil {
		return lineFile{}, outputError(err)
	}
	w := bufio.NewWriterSize(out, 1<<20)
	err = m.each(files, func(at time.Time, line []byte) error {
		_, err := fmt.Fprintf(w, "%d %s", at.UnixNano(), line)
		return err
	})
	err = errors.Join(err, w.Flush())
	info, statErr := out.Stat()
	if err = errors.Join(err, statErr, out.Close()); err != nil {
		return lineFile{}, outputError(err)
	}
	return lineFile{path: out.Name(), bytes: info.Size(), timed: true}, nil
}

func (m *merger) each(files []lineFile, f func(at time.Time, line []byte) error) (err error) {
	h := &lineHeap{}
	defer func() {
		for _, l := range h.lines {
			err = errors.Join(err, l.file.Close())
		}
	}()
	for i, x := range files {
		l, err := m.open(x, i)
		if err != nil {
			return err
		}
		if l.line == nil {
			err = l.file.Close()
		} else {
			h.lines = append(h.lines, l)
		}
		if err != nil {
			return err
		}
	}
	heap.Init(h)
	for h.Len() > 0 {
		l := h.lines[0]
		if err := f(l.time, l.line); err != nil {
			return err
		}
		if err := l.next(m.at); err != nil {
			return err
		}
		if l.line != nil {
			heap.Fix(h, 0)
			continue
		}
		heap.Pop(h)
		if err := l.file.Close(); err != nil {
			return err
		}
	}
	return nil
}

// openLines is a file that is being merged, with its next line.
type openLines struct {
	lineFile
	index int
	file  *os.File
	in    *bufio.Reader
	room  []byte // buffer for the line
	line  []byte // the next line; nil at the end
	time  time.Time
}

func (m *merger) open(x lineFile, index int) (*openLines, error) {
	f, err := safefile.Open(x.path)
	if err != nil {
		return nil, readError(err)
	}
	l := &openLines{lineFile: x, index: index, file: f, in: bufio.NewReaderSize(io.LimitReader(f, x.bytes), 64<<10)}
	if x.timed {
		if err := os.Remove(x.path); err != nil {
			return nil, errors.Join(outputError(err), f.Close())
		}
	}
	if err := l.next(m.at); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return l, nil
}

// next reads the next line.
func (l *openLines) next(at func([]byte) (time.Time, error)) error {
	line, err := jsonl.ReadLine(l.in, l.room)
	l.room = line
	switch {
	case errors.Is(err, jsonl.ErrTooLong):
		return readError(fmt.Errorf("%s: a line: %w", l.path, err))
	case errors.Is(err, io.EOF) && len(line) == 0:
		l.line = nil
		return nil
	case err != nil:
		return readError(fmt.Errorf("%s: its last line is not whole: %w", l.path, err))
	}
	if l.timed {
		nanos, rest, _ := bytes.Cut(line, []byte(" "))
		n, err := strconv.ParseInt(string(nanos), 10, 64)
		l.line, l.time = rest, time.Unix(0, n)
		return err
	}
	t, err := at(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		return readError(fmt.Errorf("%s: %w", l.path, err))
	}
	l.line, l.time = line, t.Add(l.offset)
	return nil
}

// lineHeap is a heap of files, ordered by the times of their next lines.
type lineHeap struct{ lines []*openLines }

// Len implements heap.Interface.
func (h *lineHeap) Len() int { return len(h.lines) }

// Less implements heap.Interface.
func (h *lineHeap) Less(i, j int) bool {
	a, b := h.lines[i], h.lines[j]
	if a.time.Equal(b.time) {
		return a.index < b.index
	}
	return a.time.Before(b.time)
}

// Swap implements heap.Interface.
func (h *lineHeap) Swap(i, j int) { h.lines[i], h.lines[j] = h.lines[j], h.lines[i] }

// Push implements heap.Interface.
func (h *lineHeap) Push(x any) { h.lines = append(h.lines, x.(*openLines)) }

// Pop implements heap.Interface.
func (h *lineHeap) Pop() any {
	last := h.lines[len(h.lines)-1]
	h.lines = h.lines[:len(h.lines)-1]
	return last
}
