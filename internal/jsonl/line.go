package jsonl

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the maximum length of a line in bytes, including its end.
const MaxLine = 16 << 20

// ErrTooLong is the error of a line that is longer than MaxLine.
var ErrTooLong = fmt.Errorf("it is longer than %d bytes", MaxLine)

// ReadLine appends the next line of br to b[:0], with its end. If a line is longer than MaxLine, it skips the line and returns
// ErrTooLong. After the last complete line it returns io.EOF, and the beginning of an incomplete line if there is one.
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

// Lines calls f with every complete line of r and its number, starting at 1, until f returns false. A line is valid until f returns. A
// line that is longer than MaxLine causes a [LineError].
func Lines(r io.Reader, f func(n int, line []byte) bool) error {
	br := bufio.NewReaderSize(r, 1<<20)
	var line []byte
	for n := 1; ; n++ {
		var err error
		switch line, err = ReadLine(br, line); {
		case errors.Is(err, io.EOF):
			return nil // the last line is incomplete, because it is still being written
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
