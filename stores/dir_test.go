package stores_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/stores"
	"github.com/amble-crawler/amble/stores/storestest"
)

func openDir(t *testing.T, dir string) *stores.Dir {
	s, err := stores.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestDirIsStore(t *testing.T) {
	storestest.Run(t, func(t *testing.T) stores.Store { return openDir(t, t.TempDir()) })
}

func TestDirMustExist(t *testing.T) {
	if _, err := stores.OpenDir(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
}

func TestDirLeavesNothingAfterError(t *testing.T) {
	dir := t.TempDir()
	err := openDir(t, dir).Put(t.Context(), storestest.Of("o", []byte("content")), strings.NewReader("Content"))
	left, _ := os.ReadDir(dir)
	if !errors.Is(err, stores.ErrDiffers) || len(left) > 0 {
		t.Errorf("%v, and %v is left", err, left)
	}
}

func TestDirHidesWhatKilledProcessLeft(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".ABC.amble-new"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	for o := range openDir(t, dir).List(t.Context(), "") {
		t.Errorf("listed: %+v", o)
	}
}

func TestDirFollowsNoLinkThatLeadsOut(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	s := openDir(t, dir)
	if err := s.Put(t.Context(), storestest.Of("link/o", []byte("content")), strings.NewReader("content")); err == nil {
		t.Error("an object was written through a link")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("%v is outside", left)
	}
}
