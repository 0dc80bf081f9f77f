package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/long"
)

// TestTablesOpen checks Config.MaxTables.
func TestTablesOpen(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Config{MaxTables: 1, MemTableSize: 64 << 10, CacheSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range long.N(20, 60) {
		var batch []frontier.Request
		for k := range 1000 {
			batch = append(batch, frontier.Request{URL: parse(t, fmt.Sprintf("http://h%d.test/%d/%x", k%50, i, k*2654435761))})
		}
		if _, err := s.Add(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.engine.db.Flush(); err != nil {
		t.Fatal(err)
	}
	for k := range 1000 {
		if _, err := s.Lookup(t.Context(), parse(t, fmt.Sprintf("http://h%d.test/0/%x", k%50, k*2654435761))); err != nil {
			t.Fatal(err)
		}
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	open := openTables(t, dir)
	for range 100_000 { // the engine closes evicted tables in the background
		if open <= 2 {
			break
		}
		open = openTables(t, dir)
	}
	t.Logf("%d of %d tables are open", open, len(tables))
	if open > 2 { // one more file may be about to be closed
		t.Errorf("%d of %d tables are open", open, len(tables))
	}
}

// openTables returns the number of table files in dir that this process has open.
func openTables(t *testing.T, dir string) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	open := 0
	for _, fd := range fds {
		if name, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(name, dir) && strings.HasSuffix(name, ".sst") {
			open++
		}
	}
	return open
}
