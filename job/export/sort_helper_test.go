package export

import "testing"

// SortIn limits the memory of each sorter of a graph to this many bytes.
func SortIn(t *testing.T, bytes int) {
	was := sortMemory
	sortMemory = bytes
	t.Cleanup(func() { sortMemory = was })
}
