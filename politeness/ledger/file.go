package ledger

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// File is a ledger in a file. It contains complete lines only: a partial line that a killed process or a failed Write leaves
// is removed. Only one process at a time may have it open. Write is not safe for concurrent use; a [Writer] serializes its calls.
type File struct {
	f    Storage
	size int64
}

// Storage holds the methods of a file that a [File] needs. An *os.File opened with O_RDWR and O_APPEND implements it.
type Storage interface {
	io.Writer
	io.ReaderAt
	io.Seeker
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Open opens a ledger for appending, or creates it. A partial last line, left by a killed process or a power cut, is removed;
// all complete lines stay. Size is the number of bytes that remain.
func Open(path string) (l *File, size int64, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, 0, err
	}
	if l, size, err = NewFile(f); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return l, size, nil
}

// NewFile is like Open for a file that is already open. Close closes it.
func NewFile(f Storage) (l *File, size int64, err error) {
	size, err = f.Seek(0, io.SeekEnd)
	if err == nil {
		size, err = wholeLines(io.NewSectionReader(f, 0, size), size)
	}
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("ledger: %w", err)
	}
	return &File{f: f, size: size}, size, nil
}

// Write appends a line. If it fails, the part that was written is removed so that later lines remain readable; if that
// fails too, no later Write succeeds.
func (l *File) Write(line []byte) (int, error) {
	if l.size < 0 {
		return 0, errors.New("ledger: an earlier line could not be taken back: no more lines are written")
	}
	n, err := l.f.Write(line)
	if err == nil {
		l.size += int64(n)
		return n, nil
	}
	if cut := l.f.Truncate(l.size); cut != nil {
		l.size = -1
		return n, errors.Join(err, cut)
	}
	return 0, err
}

// Reader returns a Reader of the file's present contents.
func (l *File) Reader() io.ReadSeeker { return io.NewSectionReader(l.f, 0, max(0, l.size)) }

// Sync makes the lines written so far survive a power cut.
func (l *File) Sync() error { return l.f.Sync() }

// Close closes the file.
func (l *File) Close() error { return l.f.Close() }
