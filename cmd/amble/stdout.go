package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/amble-crawler/amble/internal/hidden"
)

// errClosed says that nobody reads stdout any more, which is a way to say "enough".
var errClosed = errors.New("stdout was closed by its reader")

// stdout is where results go. Hidden characters in them are escaped, as JSON has escapes, whoever wrote them. It
// remembers the first failure, so that output printed for a person, line by line and unchecked, is not lost in
// silence.
type stdout struct {
	mu  sync.Mutex
	w   io.Writer
	cut []byte // the beginning of a character whose end has not come
	err error
}

// Write implements io.Writer. The error is errClosed, or one with the exit code for output.
func (s *stdout) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	text := append(s.cut, b...)
	whole := len(text) - cutShort(text)
	s.cut = slices.Clone(text[whole:])
	_, err := s.w.Write(hidden.Escape(text[:whole]))
	switch {
	case errors.Is(err, syscall.EPIPE):
		s.err = errClosed
	case err != nil:
		s.err = &exitError{exitOutput, fmt.Errorf("stdout cannot be written: %w", cause(err))}
	}
	if s.err != nil {
		return 0, s.err
	}
	return len(b), nil
}

// cutShort is how many bytes at the end of b are the beginning of a character.
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

// share makes results and the status line keep off each other, when both go to terminals.
func (s *stdout) share(u *ui) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if file, ok := s.w.(*os.File); ok && u.tty && term.IsTerminal(int(file.Fd())) {
		s.w = terminalOutput{u, file}
	}
}

func (s *stdout) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// cause is the system's own word for an error, without the names of call and file around it.
func cause(err error) error {
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
