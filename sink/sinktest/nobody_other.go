//go:build !linux

package sinktest

import (
	"os"
	"runtime"
)

// asNobody calls f, and returns true, unless the process has the superuser's permissions for files, or the system has no such permissions.
func asNobody(f func()) bool {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		return false
	}
	f()
	return true
}
