//go:build unix

package warc_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/sink/warc"
)

// If an index is a FIFO, it is ignored, and the archive itself is read.
func TestIndexThatIsFIFOIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.warc")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, index := range []string{"a.cdxj", "a.warc.cdxj"} {
		if err := syscall.Mkfifo(filepath.Join(dir, index), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := warc.IndexLines(path, 0, func([]byte) error { return nil }); err != nil {
		t.Error(err)
	}
}
