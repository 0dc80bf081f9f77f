//go:build !unix

package safefile

import "os"

const (
	noWait   = 0
	noFollow = 0
	shared   = 0 // modes are not meaningful on this system
)

// own reports true: temporary folders belong to one user here.
func own(os.FileInfo) bool { return true }

// single reports true: the system does not say.
func single(os.FileInfo) bool { return true }

// lent returns 0: modes say nothing here.
func lent(os.FileInfo) os.FileMode { return 0 }
