package warc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Index lines are the same whether they are made from the index or from the archive file. Only complete responses have an index line.
func TestIndexLines(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, Options{})
	for i := range 5 {
		add(t, w, page(fmt.Sprintf("http://x.test/%d", i), fmt.Sprint("text ", i%4)))
	}
	w.Close(t.Context())
	files, _ := filepath.Glob(filepath.Join(dir, "*"+Gzip.ext()))
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := func(size int64) (all []string) {
		t.Helper()
		if err := IndexLines(files[0], size, func(b []byte) error { all = append(all, string(b)); return nil }); err != nil {
			t.Fatal(err)
		}
		slices.Sort(all)
		return all
	}
	indexed := lines(info.Size())
	if err := os.Remove(indexName(files[0])); err != nil {
		t.Fatal(err)
	}
	if scanned := lines(info.Size()); !slices.Equal(indexed, scanned) || len(scanned) != 5 {
		t.Errorf("from the index:\n%q\nfrom the file:\n%q", indexed, scanned)
	}
	if cut := lines(info.Size() * 2 / 3); len(cut) == 0 || len(cut) >= 5 {
		t.Errorf("%d lines of a part of the file", len(cut))
	}
}
