package sinktest

import (
	"os"
	"runtime"
	"syscall"
)

// asNobody calls f without the superuser's permissions for files. It returns false if that is not possible.
func asNobody(f func()) bool {
	if os.Geteuid() != 0 {
		f()
		return true
	}
	const nobody = 65534
	runtime.LockOSThread() // the kernel checks the permissions of the thread
	defer runtime.UnlockOSThread()
	if err := syscall.Setfsuid(nobody); err != nil {
		return false
	}
	defer func() { _ = syscall.Setfsuid(0) }()
	f()
	return true
}
