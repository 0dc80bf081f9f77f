package warc

import (
	"crypto/sha256"
	"encoding"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/amble-crawler/amble/sink"
)

// Extents are true of the files, across files, and reported once.
func TestExtents(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, Options{MaxSize: 3000})
	told := map[string][]sink.Extent{}
	for i := range 30 {
		add(t, w, page(fmt.Sprintf("http://x.test/%d", i), fmt.Sprint(i)))
		if i%4 > 0 {
			continue
		}
		if _, err := w.Sync(); err != nil {
			t.Fatal(err)
		}
		for _, e := range w.Extents() {
			told[e.File] = append(told[e.File], e)
		}
		if again := w.Extents(); len(again) > 0 {
			t.Errorf("twice: %v", again)
		}
	}
	if _, err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	for _, e := range w.Extents() {
		told[e.File] = append(told[e.File], e)
	}
	w.Close()
	files, err := filepath.Glob(filepath.Join(dir, "*"+Gzip.ext()))
	if err != nil || len(files) < 4 || len(files) != len(told) {
		t.Fatalf("%d files, of %d told; %v", len(files), len(told), err)
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		es := told[filepath.Base(path)]
		if last := es[len(es)-1]; last.Bytes != int64(len(b)) {
			t.Errorf("%s: %d of %d bytes reported", filepath.Base(path), last.Bytes, len(b))
		}
		for _, e := range es {
			if e.SHA256 != sha256.Sum256(b[:e.Bytes]) {
				t.Errorf("%s: another hash of %d bytes", e.File, e.Bytes)
			}
			h := sha256.New()
			if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(e.State); err != nil {
				t.Fatal(err)
			}
			h.Write(b[e.Bytes:])
			if whole := sha256.Sum256(b); string(h.Sum(nil)) != string(whole[:]) {
				t.Errorf("%s: the hash cannot be continued from the state at %d bytes", e.File, e.Bytes)
			}
		}
	}
}
