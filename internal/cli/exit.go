// Package cli holds the common parts of amble's commands: exit codes and errors with them, values in the form for users, suggestions for
// misspelt words, and text that is safe to print. It imports no other package of the crawler, so that every package may import it.
//
// Reading order: exit.go, values.go, text.go, suggest.go, stdout.go.
package cli

import (
	"errors"
	"fmt"
	"strings"
)

// The exit codes of amble's commands.
const (
	ExitDone        = 0
	ExitInternal    = 1
	ExitBroken      = 1 // a check found broken links
	ExitUsage       = 2
	ExitNothing     = 3 // nothing was fetched
	ExitFailures    = 4 // too many URLs failed, with --max-errors
	ExitLimit       = 5 // a limit ended the crawl, with --fail-on-limit; or the disk is nearly full
	ExitOutput      = 6 // output could not be written, or the disk failed
	ExitPoliteness  = 7 // the politeness check failed
	ExitWall        = 8 // a bot wall kept a seed from being fetched
	ExitUnavailable = 9 // servers that the command needs cannot be used at present
	ExitInterrupted = 130
	ExitTerminated  = 143
)

// Error is an error with an exit code. A nil Err means that everything has already been printed.
type Error struct {
	Code int
	Err  error
}

// Error returns the text of Err.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Exit wraps err with an exit code. A nil err means that everything has been printed already.
func Exit(code int, err error) error { return &Error{code, err} }

// Usage returns an error about the user's input.
func Usage(format string, args ...any) error {
	return &Error{ExitUsage, fmt.Errorf(format, args...)}
}

// Refuse returns Usage(format, args...) if bad, and nil otherwise.
func Refuse(bad bool, format string, args ...any) error {
	if bad {
		return Usage(format, args...)
	}
	return nil
}

// UsageOf converts an error of a package to an error about the user's input. It removes the name of the package, which means nothing to
// users. Each line of the error begins with where.
func UsageOf(where string, err error) error {
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
	return &Error{ExitUsage, errors.New(strings.Join(lines, "\n"))}
}

// ExitCode returns the exit code for an error of a command.
func ExitCode(err error) int {
	var e *Error
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &e):
		return e.Code
	}
	return ExitInternal
}
