package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/amble-crawler/amble/frontier"
)

// A copy has everything that was acknowledged before it. It can be made while the store is in use, and opened as a store.
func TestSnapshot(t *testing.T) {
	root := t.TempDir()
	s, err := Open(filepath.Join(root, "crawl"), smallConfig())
	if err != nil {
		t.Fatal(err)
	}
	commit := func(s *Store, n int) {
		t.Helper()
		if err := s.Commit(t.Context(), nil, frontier.Checkpoint{Values: map[string][]byte{fmt.Sprintf("a/%03d", n): make([]byte, 1000)}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		commit(s, i)
	}
	copied := filepath.Join(root, "copy")
	if err := s.Snapshot(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	for i := 300; i < 600; i++ {
		commit(s, i)
	}
	count := func(dir string) (n int) {
		t.Helper()
		if err := ReadValues(dir, Config{}, "", "a/", func(string, []byte) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(copied); n != 300 {
		t.Errorf("the copy has %d of 300 values", n)
	}
	if err := s.Snapshot(t.Context(), copied); err == nil {
		t.Error("a directory was written over")
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Snapshot(t.Context(), filepath.Join(root, "file", "copy")); err == nil {
		t.Error("a copy was made in a file")
	}
	commit(s, 600) // a failed copy does not harm the store
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Snapshot(t.Context(), filepath.Join(root, "late")); !errors.Is(err, frontier.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	c, err := Open(copied, smallConfig())
	if err != nil {
		t.Fatal(err)
	}
	commit(c, 300)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if a, b := count(copied), count(filepath.Join(root, "crawl")); a != 301 || b != 601 {
		t.Errorf("%d and %d values", a, b)
	}
}
