//go:build !unix

package safefile

import "os"

const (
	noWait   = 0
	noFollow = 0
	shared   = 0 // file modes are not meaningful on this system
)

// own returns true, because temporary folders belong to one user on this system.
func own(os.FileInfo) bool { return true }

// single returns true, because the system does not report the number of names.
func single(os.FileInfo) bool { return true }

// lent returns 0, because modes have no meaning on this system.
func lent(os.FileInfo) os.FileMode { return 0 }
