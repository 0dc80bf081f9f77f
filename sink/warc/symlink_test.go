//go:build unix

package warc

import (
	"os"
	"path/filepath"
	"testing"
)

// Foreign symbolic links in an archive's directory are never written through, not even to other files of the directory.
func TestNoLinkIsFollowed(t *testing.T) {
	const text = "a file of somebody else"
	dir := t.TempDir()
	w := open(t, dir, Options{})
	add(t, w, page("http://x.test/1", "one"))
	at, err := w.Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.Close(t.Context())
	victim := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(victim, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	index, err := filepath.Glob(filepath.Join(dir, "*"+indexExt))
	if err != nil || len(index) != 1 {
		t.Fatal(index, err)
	}
	file := index[0][:len(index[0])-len(indexExt)] + Gzip.ext()
	for _, path := range []string{index[0] + newExt, index[0] + runsExt, index[0], file} {
		before, err := os.ReadFile(path)
		os.Remove(path)
		if err := os.Symlink("notes.txt", path); err != nil {
			t.Fatal(err)
		}
		w := open(t, dir, Options{})
		restored := w.Restore(t.Context(), at)
		w.Close(t.Context())
		if followed := path == index[0] || path == file; followed == (restored == nil) {
			t.Errorf("Restore with %s as a link: %v", filepath.Base(path), restored)
		}
		if b, err := os.ReadFile(victim); err != nil || string(b) != text {
			t.Errorf("through %s somebody else's file became %q, %v", filepath.Base(path), b, err)
		}
		os.Remove(path)
		if err == nil {
			if err := os.WriteFile(path, before, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
