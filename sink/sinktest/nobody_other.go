//go:build !linux

package sinktest

import (
	"os"
	"runtime"
)

// asNobody calls f unless it has the super-user's rights to files, or the system has no such rights.
// It reports whether it did.
func asNobody(f func()) bool {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		return false
	}
	f()
	return true
}
