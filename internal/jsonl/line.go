package jsonl

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the maximum length of a line in bytes, with its end.
const MaxLine = 16 << 20

// ErrTooLong says that a line is longer than MaxLine.
var ErrTooLong = fmt.Errorf("it is longer than %d bytes", MaxLine)

// ReadLine appends the next line of br to b[:0], with its end. It passes over a line that is longer than MaxLine, and returns
// ErrTooLong. The error is io.EOF after the last whole line: what is returned then is the beginning of a line.
func ReadLine(br *bufio.Reader, b []byte) ([]byte, error) {
	b = b[:0]
	for long := false; ; {
		part, err := br.ReadSlice('\n')
		if long = long || len(b)+len(part) > MaxLine; !long {
			b = append(b, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && long:
			return nil, ErrTooLong
		default:
			return b, err
		}
	}
}

// Lines calls f with every whole line of r and its number from 1, until f returns false. A line is valid until f returns. The
// error of a line that is longer than MaxLine is a [LineError].
func Lines(r io.Reader, f func(n int, line []byte) bool) error {
	br := bufio.NewReaderSize(r, 1<<20)
	var line []byte
	for n := 1; ; n++ {
		var err error
		switch line, err = ReadLine(br, line); {
		case errors.Is(err, io.EOF):
			return nil // an unfinished line is still being written
		case errors.Is(err, ErrTooLong):
			return &LineError{n, err}
		case err != nil:
			return err
		}
		if !f(n, line) {
			return nil
		}
	}
}
