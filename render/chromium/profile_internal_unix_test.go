//go:build unix

package chromium

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Another user can put a FIFO in the place of a browser directory's lock: nothing waits for the FIFO.
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
