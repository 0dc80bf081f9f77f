package disk

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"syscall"
)

// ErrDamaged is wrapped by errors of a crawl directory that has lost a file, or in which a file is not what was
// written: by a broken disk, say, or by somebody's hand. What is in it cannot be resumed.
var ErrDamaged = errors.New("disk: the crawl directory is damaged")

// failed is an error of the engine, on one line. One that is no complaint of the system about the disk is
// damage: the engine reads nothing but what it wrote.
func (s *Store) failed(err error) error {
	if err == nil {
		return nil
	}
	var no syscall.Errno
	if system := errors.As(err, &no) && !errors.Is(err, iofs.ErrNotExist); system {
		return fmt.Errorf("disk: the crawl in %s: %w", s.dir, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrDamaged, s.dir, lineError{err})
}

// lineError is an error whose text has one line.
type lineError struct{ error }

func (e lineError) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }

func (e lineError) Unwrap() error { return e.error }
