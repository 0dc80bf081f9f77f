package job

import (
	"errors"
	"fmt"
	"os"
)

// Error reports why an operation on a job is not possible. It wraps the cause.
type Error struct {
	Kind ErrorKind
	Err  error
	Dir  string // directory of the job, for ErrNoJob, ErrFinished and ErrNoReport
}

// ErrorKind classifies errors by the change that an operation on a job needs to succeed.
type ErrorKind int

// The kinds of errors.
const (
	// Refused is the kind of errors for which the caller has to change the request: use other settings or another directory, or
	// try at another time. Nothing was changed.
	Refused ErrorKind = iota + 1
	// Storage is the kind of errors of a directory that cannot be read or written, or that is damaged.
	Storage
)

// Error returns the text of the cause.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

var (
	// ErrNoJob is wrapped by the error for a directory that holds no job.
	ErrNoJob = errors.New("no job")
	// ErrHeld is wrapped by the error for a job that another process has locked.
	ErrHeld = errors.New("held by another process")
	// ErrFinished is wrapped by the error of Open and Resume for a job that has nothing left to do. Nothing was
	// changed.
	ErrFinished = errors.New("nothing is left to do")
	// ErrNoReport is wrapped by the error of Reader.Report for a job none of whose processes has ended normally.
	ErrNoReport = errors.New("no report yet")
	// ErrUntrusted is wrapped by the error of [CheckMaker].
	ErrUntrusted = errors.New("the job was made by somebody else")
	// ErrSpace is wrapped by the error for a crawl that cannot start because its disk or directory is too full: see
	// [Config.MinFree] and MaxDisk.
	ErrSpace = errors.New("too little space on the disk")
	// ErrProgram is wrapped by the error of Open for a job that was made with functions or objects that text cannot
	// describe: only the program that has them can resume it.
	ErrProgram = errors.New("the job needs its own program")
)

// KeyError is an error about the value of a key.
type KeyError struct {
	Key   string
	Value string // omitted from the text if it is ""
	Err   error
}

// Error returns the key, its value and the error.
func (e *KeyError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: %v", e.Key, e.Err)
	}
	return fmt.Sprintf("%s %s: %v", e.Key, e.Value, e.Err)
}

// Unwrap returns the underlying error.
func (e *KeyError) Unwrap() error { return e.Err }

// also is an error that matches another error with errors.Is, although its text does not mention the other error.
type also struct {
	error
	is error
}

// Is reports whether err is the additional error.
func (a also) Is(err error) bool { return err == a.is }

// Unwrap returns the error.
func (a also) Unwrap() error { return a.error }

// refused returns an error of kind Refused.
func refused(format string, args ...any) *Error {
	return &Error{Kind: Refused, Err: fmt.Errorf(format, args...)}
}

// refusedAs is like refused, but the error also matches the argument is, by errors.Is.
func refusedAs(is error, format string, args ...any) *Error {
	return &Error{Kind: Refused, Err: also{fmt.Errorf(format, args...), is}}
}

// in adds the directory of the job.
func (e *Error) in(dir string) *Error {
	e.Dir = dir
	return e
}

// readError returns the error of reading a job. An error that already has a kind keeps it.
func readError(err error) error {
	var told *Error
	if err == nil || errors.As(err, &told) {
		return err
	}
	return &Error{Kind: Storage, Err: err}
}

// outputError returns the error of writing to a job. An error that already has a kind keeps it.
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

// firstOf returns err, or next if err is nil: after a failed write, the next error usually has the same cause.
func firstOf(err, next error) error {
	if err != nil {
		return err
	}
	return next
}
