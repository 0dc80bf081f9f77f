// Package filelock locks files against other processes.
package filelock

import "os"

// Close unlocks a file and closes it. Closing alone is not enough: a child process that is being started has copies of all open files, and
// thus of their locks, until it executes its program, which can take a while on a busy machine.
func Close(f *os.File) error {
	_ = Unlock(f) // fails if the file was not locked
	return f.Close()
}
