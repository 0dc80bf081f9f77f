// Package filelock locks files against other processes.
package filelock

import "os"

// Close unlocks a file and closes it. To close it alone is not enough: a process that this one is just starting has all files open, and
// so their locks, until it executes its own program, which on a busy machine takes a while.
func Close(f *os.File) error {
	_ = Unlock(f) // what was not locked, or is no longer, need not be unlocked
	return f.Close()
}
