package sinktest

import (
	"os"
	"runtime"
	"syscall"
)

// asNobody calls f without the file permissions of the superuser. It returns false if that is not possible.
func asNobody(f func()) bool {
	if os.Geteuid() != 0 {
		f()
		return true
	}
	const nobody = 65534
	runtime.LockOSThread() // the kernel checks permissions by the thread's identity
	defer runtime.UnlockOSThread()
	if err := syscall.Setfsuid(nobody); err != nil {
		return false
	}
	defer func() { _ = syscall.Setfsuid(0) }()
	f()
	return true
}
