//go:build unix

package filelock

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestCloseUnlocks checks that Close unlocks a file even if another process still has it open, like a forked process
// that has not called exec yet.
func TestCloseUnlocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := open()
	if locked, err := TryLock(f, true); err != nil || !locked {
		t.Fatal(locked, err)
	}
	inherited, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(inherited) }()
	if err := Close(f); err != nil {
		t.Fatal(err)
	}
	next := open()
	defer func() { _ = Close(next) }()
	if locked, err := TryLock(next, true); err != nil || !locked {
		t.Error("the closed file still holds the lock:", locked, err)
	}
}
