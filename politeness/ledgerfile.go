package politeness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// LedgerFile is a ledger in a file, for Config.Ledger. It holds whole lines only: a part of a line that a
// killed process or a failed Write leaves is cut off. One process at a time may have it open. Write is
// not safe for concurrent use; the Gate makes one at a time.
type LedgerFile struct {
	f    LedgerStorage
	size int64
}

// LedgerStorage is what a [LedgerFile] needs of a file: an *os.File opened with O_RDWR and O_APPEND is one.
type LedgerStorage interface {
	io.Writer
	io.ReaderAt
	io.Seeker
	Truncate(size int64) error
	Sync() error
	Close() error
}

// OpenLedger opens a ledger for going on with it, or makes one. What comes after its last whole line, the
// part of a line that a killed process or a power cut left, is cut off; every whole line stays. Size is
// how many octets there are then, for Config.LedgerSize.
func OpenLedger(path string) (l *LedgerFile, size int64, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, 0, err
	}
	if l, size, err = AppendLedger(f); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return l, size, nil
}

// AppendLedger is OpenLedger for a file that is open already. Close closes it.
func AppendLedger(f LedgerStorage) (l *LedgerFile, size int64, err error) {
	size, err = wholeLines(f)
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("politeness: ledger: %w", err)
	}
	return &LedgerFile{f: f, size: size}, size, nil
}

// wholeLines is how many octets the lines of a file take that have an end. It looks from the end back.
func wholeLines(f LedgerStorage) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 1<<16)
	for end > 0 {
		start := max(0, end-int64(len(buf)))
		b := buf[:end-start]
		if _, err := f.ReadAt(b, start); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}

// Write appends a line. When it fails, nothing of the line stays, so that later ones can be read; if even
// that fails, no later Write succeeds.
func (l *LedgerFile) Write(line []byte) (int, error) {
	if l.size < 0 {
		return 0, errors.New("politeness: ledger: a line is not whole")
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

// Reader reads the ledger as it is now, for [Gate.Replay].
func (l *LedgerFile) Reader() io.ReadSeeker { return io.NewSectionReader(l.f, 0, max(0, l.size)) }

// Sync makes what was written outlive a power cut.
func (l *LedgerFile) Sync() error { return l.f.Sync() }

// Close closes the file.
func (l *LedgerFile) Close() error { return l.f.Close() }
