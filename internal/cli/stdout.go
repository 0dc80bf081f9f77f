package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/amble-crawler/amble/internal/hidden"
)

// ErrClosed is returned if the reader of stdout has closed it, because it has read enough.
var ErrClosed = errors.New("stdout was closed by its reader")

// Stdout receives results. Hidden characters in them are escaped as in JSON. It keeps the first error, so that it is not lost if callers
// do not check each write.
type Stdout struct {
	mu  sync.Mutex
	w   io.Writer
	cut []byte // bytes of an incomplete character at the end of the last Write
	err error

	edit func([]byte) []byte // changes the text before it is written; may be nil
}

// NewStdout returns a Stdout that writes to w.
func NewStdout(w io.Writer) *Stdout { return &Stdout{w: w} }

// Write implements io.Writer. It returns ErrClosed, or an error with the exit code for output.
func (s *Stdout) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	text := b
	if len(s.cut) > 0 {
		text = append(s.cut, b...)
	}
	whole := len(text) - cutShort(text)
	s.cut = slices.Clone(text[whole:])
	text = hidden.Escape(text[:whole])
	if s.edit != nil {
		text = s.edit(text)
	}
	_, err := s.w.Write(text)
	switch {
	case errors.Is(err, syscall.EPIPE):
		s.err = ErrClosed
	case err != nil:
		s.err = &Error{ExitOutput, fmt.Errorf("stdout cannot be written: %w", Cause(err))}
	}
	if s.err != nil {
		return 0, s.err
	}
	return len(b), nil
}

// cutShort returns the number of bytes at the end of b that belong to an incomplete character.
func cutShort(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// Wrap wraps the underlying writer.
func (s *Stdout) Wrap(wrap func(io.Writer) io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = wrap(s.w)
}

// Edit passes all text through f before it is written.
func (s *Stdout) Edit(f func([]byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edit = f
}

// Unwrap returns the underlying writer.
func (s *Stdout) Unwrap() io.Writer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w
}

// Failure returns the first error of a Write, or nil.
func (s *Stdout) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Cause returns the operating system's text for an error, without the names of the call and the file.
func Cause(err error) error {
	var errno syscall.Errno
	var path *os.PathError
	switch {
	case errors.As(err, &errno):
		return errno
	case errors.As(err, &path):
		return path.Err
	}
	return err
}
