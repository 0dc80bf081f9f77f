package export

import "testing"

// SortIn sets how many bytes each sorter of a graph keeps in memory.
func SortIn(t *testing.T, bytes int) {
	was := sortMemory
	sortMemory = bytes
	t.Cleanup(func() { sortMemory = was })
}
