package crawler

import (
	"encoding/binary"
	"testing"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
)

// Counts of similar URLs from an earlier process are read from the frontier one by one, even if an earlier version
// stored them as a table.
func TestKeptTrapCounts(t *testing.T) {
	for _, name := range []string{keyTable, oldTable} {
		store, err := disk.Open(t.TempDir(), disk.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		entry := func(table, n uint64) []byte { return binary.AppendUvarint(binary.AppendUvarint(nil, table), n) }
		err = store.Commit(t.Context(), nil, frontier.Checkpoint{Values: map[string][]byte{
			name:             binary.BigEndian.AppendUint64(binary.AppendUvarint(nil, 2), 77),
			trapCountName(5): entry(2, 3), trapCountName(6): entry(1, 9),
		}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			k := &checkpoint{store: store, trapCounts: newTrapCounts(Traps{Queries: 5, PerDir: Unlimited, Sessions: Unlimited}, nil)}
			if err := k.recallTrapCounts(t.Context()); err != nil {
				t.Fatal(err)
			}
			c := k.trapCounts
			if c.seed != 77 || c.size(5) != 3 || c.size(6) != 0 || c.size(7) != 0 || len(c.counts) != 0 {
				t.Errorf("%s: seed %d, sizes %d %d %d, %d read at once", name, c.seed, c.size(5), c.size(6), c.size(7), len(c.counts))
			}
			k.keepTrapCounts(map[string][]byte{})
			if k.table != 2 {
				t.Errorf("%s: table %d", name, k.table)
			}
		}
		if b, err := store.Value(t.Context(), "", keyTable); err != nil || b == nil {
			t.Errorf("%s: the table was not moved: %v", name, err)
		}
	}
}
