//go:build unix

package work

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/filelock"
)

// A second process in a node's directory is refused while the first one runs. A later process knows that the previous process has ended,
// unless the directory is a copy or the machine was restarted.
func TestNodeDirectoryIsLocked(t *testing.T) {
	dir := t.TempDir()
	first, err := lockDir(dir, "p1")
	if err != nil || first.gone != "" {
		t.Fatalf("%+v, %v", first, err)
	}
	if _, err := lockDir(dir, "p2"); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), filepath.Join(dir, lockName)) {
		t.Errorf("locked twice: %v", err)
	}
	again := func(name, dir, want string) {
		t.Helper()
		l, err := lockDir(dir, "p2")
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS == "linux" && l.gone != want || runtime.GOOS != "linux" && l.gone != "" {
			t.Errorf("%s: %q is gone, want %q", name, l.gone, want)
		}
		if err := filelock.Close(l.file); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, lockName))
	if err := errors.Join(err, filelock.Close(first.file)); err != nil {
		t.Fatal(err)
	}
	again("the same directory", dir, "p1")
	write := func(dir, text string) string {
		if err := os.WriteFile(filepath.Join(dir, lockName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	again("a copy of it", write(t.TempDir(), string(b)), "")
	again("another boot", write(dir, strings.Replace(string(b), `"boot":"`, `"boot":"x`, 1)), "")
	again("a damaged file", write(dir, "{"), "")
}
