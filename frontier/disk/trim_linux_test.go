package disk

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/amble-crawler/amble/frontier"
)

// TestClosedStoreIsSmall checks that a closed store takes no more disk space than the length of its files.
func TestClosedStoreIsSmall(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(t.Context(), frontier.Request{URL: parse(t, "http://h.test/")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if taken := info.Sys().(*syscall.Stat_t).Blocks * 512; taken > info.Size()+1<<20 {
			t.Errorf("%s takes %d bytes on disk, and has %d", f, taken, info.Size())
		}
	}
}
