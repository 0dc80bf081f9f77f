package job

import (
	"errors"
	"fmt"
	"os"

	"github.com/amble-crawler/amble/internal/cli"
)

// Error is why something cannot be done with a job. It wraps the cause.
type Error struct {
	Kind ErrorKind
	Err  error
}

// ErrorKind says what has to change before an operation on a job can succeed.
type ErrorKind int

// The kinds of errors.
const (
	// Refused is the kind of errors for which the caller has to ask for something else: other settings, another
	// directory, another time. Nothing was changed.
	Refused ErrorKind = iota + 1
	// Storage is the kind of errors of a directory that cannot be read or written, or has been damaged.
	Storage
)

// Error returns the text of the cause.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

var (
	// ErrNoJob is wrapped by the error of a directory that holds no job.
	ErrNoJob = errors.New("no job")
	// ErrHeld is wrapped by the error of a job that another process works on.
	ErrHeld = errors.New("held by another process")
	// ErrFinished is wrapped by the error of Open and Resume for a job that has nothing left to do. Nothing was
	// changed.
	ErrFinished = errors.New("nothing is left to do")
	// ErrProgram is wrapped by the error of Open for a job that was made with functions or objects that text cannot
	// describe: only the program that has them can resume it.
	ErrProgram = errors.New("the job needs its own program")
)

// KeyError is what is wrong with the value of a key.
type KeyError struct {
	Key   string
	Value string // "" where it says nothing
	Err   error
}

// Error returns the key, its value and what is wrong with it.
func (e *KeyError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: %v", e.Key, e.Err)
	}
	return fmt.Sprintf("%s %s: %v", e.Key, e.Value, e.Err)
}

// Unwrap returns what is wrong.
func (e *KeyError) Unwrap() error { return e.Err }

// also is err that wraps another one too, which its text does not name.
type also struct {
	error
	is error
}

// Is reports whether err is the other one.
func (a also) Is(err error) bool { return err == a.is }

// Unwrap returns the error.
func (a also) Unwrap() error { return a.error }

// refused is an error of kind Refused.
func refused(format string, args ...any) error {
	return &Error{Kind: Refused, Err: fmt.Errorf(format, args...)}
}

// refusedAs is refused of an error that wraps is.
func refusedAs(is error, format string, args ...any) error {
	return &Error{Kind: Refused, Err: also{fmt.Errorf(format, args...), is}}
}

// readError is an error of reading a job. One that has its kind keeps it.
func readError(err error) error {
	var told *Error
	if err == nil || errors.As(err, &told) {
		return err
	}
	return &Error{Kind: Storage, Err: err}
}

// outputError is an error of writing to a job. One that has its kind keeps it.
func outputError(err error) error {
	var told *Error
	if err == nil || errors.As(err, &told) {
		return err
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = fmt.Errorf("output %s cannot be written: %w", path.Path, path.Err)
	}
	return &Error{Kind: Storage, Err: err}
}

// firstOf is err, or if there is none, next: what follows a failure to write is mostly the same failure.
func firstOf(err, next error) error {
	if err != nil {
		return err
	}
	return next
}

// ResumeCommand is what a person types to resume the job in a directory with the command amble.
func ResumeCommand(dir string) string { return "amble resume " + cli.ShellWord(dir) }
