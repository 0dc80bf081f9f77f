//go:build unix

package work

import (
	"fmt"
	"os"
	"syscall"

	"github.com/amble-crawler/amble/internal/filelock"
)

// lockFile locks a file for this process, and returns an ID of the file on this machine.
func lockFile(f *os.File) (id string, held bool, err error) {
	locked, err := filelock.TryLock(f, true)
	if err != nil || !locked {
		return "", !locked && err == nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return "", false, err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		id = fmt.Sprintf("%d/%d", s.Dev, s.Ino)
	}
	return id, false, nil
}
