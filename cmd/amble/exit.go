package main

import (
	"errors"
	"fmt"
	"strings"
)

// The exit codes of the command.
const (
	exitDone        = 0
	exitInternal    = 1
	exitUsage       = 2
	exitNothing     = 3 // nothing was fetched
	exitFailures    = 4 // too many URLs failed, with --max-errors
	exitLimit       = 5 // a limit ended the crawl, with --fail-on-limit
	exitOutput      = 6 // output or disk
	exitPoliteness  = 7 // the politeness check failed
	exitInterrupted = 130
	exitTerminated  = 143
)

// exitError is an error with the exit code it calls for. A nil err says that everything was said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// usageOf is a library's complaint about what the user gave, without the name of the package that
// complains: that is of no use to who typed it.
func usageOf(where string, err error) error {
	if err == nil {
		return nil
	}
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if pkg, rest, ok := strings.Cut(line, ": "); ok && !strings.ContainsAny(pkg, " \"") {
			line = rest
		}
		lines = append(lines, where+strings.TrimSpace(line))
	}
	return &exitError{exitUsage, errors.New(strings.Join(lines, "\n"))}
}

// exitCode is the code for an error that a command returned.
func exitCode(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &e):
		return e.code
	}
	return exitInternal
}
