package main

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// openEvidence opens a file of lines to be appended to, made when missing. Nothing that stands in it
// is ever changed, but a last line that a process did not live to write whole goes.
func (d plainDir) openEvidence(name string) (*os.File, error) {
	f, err := d.edit(name, os.O_APPEND)
	if err != nil {
		return nil, err
	}
	whole, err := wholeLines(f)
	if err == nil {
		err = f.Truncate(whole)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// wholeLines is the size of a file without what stands behind the last end of a line.
func wholeLines(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 4096)
	for end > 0 {
		b := buf[:min(int64(len(buf)), end)]
		start := end - int64(len(b))
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
