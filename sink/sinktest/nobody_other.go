//go:build !linux

package sinktest

import (
	"os"
	"runtime"
)

// asNobody calls f unless the process has the file permissions of the superuser, or the system has no such
// permissions. It reports whether it called f.
func asNobody(f func()) bool {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		return false
	}
	f()
	return true
}
