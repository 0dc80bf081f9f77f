package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrLine is wrapped by the errors about lines that are not entries.
var ErrLine = errors.New("it is not an entry of a ledger")

// maxLine is the maximum length of a line. A URL of 64 KiB fits, even if all of it is escaped.
const maxLine = 1 << 20

// Reader reads the entries of a ledger one after another. Its memory does not depend on the ledger's length.
type Reader struct {
	br     *bufio.Reader
	long   []byte // buffer for a line longer than br's buffer
	begins int64  // offset of the line of entry
	ends   int64
	entry  Entry
	parser Parser
}

// NewReader returns a Reader of r, which must be at the beginning of a line, offset bytes into the ledger.
func NewReader(r io.Reader, offset int64) *Reader {
	return &Reader{br: bufio.NewReaderSize(r, 1<<16), begins: offset, ends: offset}
}

// Offset returns the position of the line that Next read last, in bytes from the beginning of the ledger.
func (r *Reader) Offset() int64 { return r.begins }

// Next reads an entry, which is valid until the next call. An incomplete last line is ignored. The error is io.EOF at the
// end, wraps [ErrLine] if a line is not an entry, or is that of the underlying reader.
func (r *Reader) Next() (*Entry, error) {
	line, err := r.line()
	if err != nil {
		return nil, err
	}
	if err := r.parser.Parse(line, &r.entry); err != nil {
		return nil, fmt.Errorf("ledger: the line at byte %d: %w", r.begins, err)
	}
	return &r.entry, nil
}

// line returns the next complete line without its newline.
func (r *Reader) line() ([]byte, error) {
	r.begins = r.ends
	r.long = r.long[:0]
	skipped := false
	for {
		b, err := r.br.ReadSlice('\n')
		r.ends += int64(len(b))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if skipped = skipped || len(r.long) > maxLine; !skipped {
				r.long = append(r.long, b...)
			}
			continue
		case errors.Is(err, io.EOF):
			return nil, io.EOF // the rest, in b, is an incomplete line and ignored
		case err != nil:
			return nil, fmt.Errorf("ledger: %w", err)
		case skipped:
			return nil, fmt.Errorf("ledger: the line at byte %d is longer than %d bytes: %w", r.begins, maxLine, ErrLine)
		}
		if len(r.long) > 0 {
			r.long = append(r.long, b...)
			b = r.long
		}
		return bytes.TrimSuffix(b, []byte("\n")), nil
	}
}
