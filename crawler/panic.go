package crawler

import (
	"errors"
	"fmt"
)

// PanicError is the Err of a visit that failed because a part that the caller supplied panicked. The crawl
// continues.
type PanicError struct {
	Part  string // the field of Config that it was called through
	Value any    // of the panic
	Stack []byte // as debug.Stack writes it
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("crawler: %s panicked: %v\n%s", e.Part, e.Value, e.Stack)
}

// Unwrap is the panic's value when that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// orPanic is the reason for an error that is perhaps a panic.
func orPanic(reason string, err error) string {
	var p *PanicError
	if errors.As(err, &p) {
		return ReasonPanic
	}
	return reason
}
