package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// errClosed says that nobody reads stdout any more, which is a way to say "enough".
var errClosed = errors.New("stdout was closed by its reader")

// stdout is where results go. It remembers the first failure, so that output printed for a person,
// line by line and unchecked, is not lost in silence.
type stdout struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// Write implements io.Writer. The error is errClosed, or one with the exit code for output.
func (s *stdout) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(b)
	switch {
	case errors.Is(err, syscall.EPIPE):
		s.err = errClosed
	case err != nil:
		s.err = &exitError{exitOutput, fmt.Errorf("stdout cannot be written: %w", cause(err))}
	}
	return n, s.err
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
