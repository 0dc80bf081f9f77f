//go:build unix

package chromium

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Another user can replace the lock file of a browser's directory with a FIFO. Opening a FIFO would block for ever.
func TestStaleProfileWithFIFOIsSkipped(t *testing.T) {
	temp := t.TempDir()
	dir := filepath.Join(temp, dirPrefix+"1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "lock"), 0o600); err != nil {
		t.Fatal(err)
	}
	removeStale(temp)
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}
