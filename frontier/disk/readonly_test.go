package disk

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"testing"

	"github.com/amble-crawler/amble/frontier"
)

// Committed values can be read without changing the directory, even if they are only in the log.
func TestReadValues(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	s, err := Open(dir, smallConfig())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		values := map[string][]byte{fmt.Sprintf("a/%03d", i): fmt.Append(nil, i), "b": make([]byte, 1000)}
		if err := s.Commit(t.Context(), nil, frontier.Checkpoint{Values: values}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	for range 2 {
		n := 0
		err := ReadValues(dir, Config{}, "", "a/", func(name string, value []byte) error {
			if name != fmt.Sprintf("a/%03d", n) || string(value) != fmt.Sprint(n) {
				t.Errorf("value %d: %s is %q", n, name, value)
			}
			n++
			return nil
		})
		if err != nil || n != 300 {
			t.Fatalf("%d values, %v", n, err)
		}
	}
	if after := listing(t, dir); after != before {
		t.Errorf("before: %s\nafter: %s", before, after)
	}
	if err := ReadValues(dir, Config{LastWrite: lastOf(t, 1<<62)}, "", "a/", nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("after lost writes: %v", err)
	}
	stop := errors.New("enough")
	if err := ReadValues(dir, Config{}, "", "a/", func(string, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("stopped with %v", err)
	}
	if err := ReadValues(filepath.Join(dir, "none"), Config{}, "", "", nil); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("in a directory without a store: %v", err)
	}
}
