package crawler

import (
	"errors"
	"fmt"
)

// PanicError is the Err of a visit that failed because a part supplied by the caller panicked. The crawl
// continues.
type PanicError struct {
	Part  string // the field of Config through which it was called
	Value any    // the value of the panic
	Stack []byte // as debug.Stack writes it
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("crawler: %s panicked: %v\n%s", e.Part, e.Value, e.Stack)
}

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// orPanic returns ReasonPanic if err is a panic, reason otherwise.
func orPanic(reason string, err error) string {
	var p *PanicError
	if errors.As(err, &p) {
		return ReasonPanic
	}
	return reason
}
