// Package durable makes what was written survive a failure of power.
package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Replace writes a file, or replaces it, in one durable step: readers and a later process see the old one or the new one. Everybody
// may read it.
func Replace(path string, b []byte) error {
	t, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = t.Write(b)
	if err == nil {
		err = t.Chmod(0o644)
	}
	if err == nil {
		err = t.Sync()
	}
	if err = errors.Join(err, t.Close()); err == nil {
		err = os.Rename(t.Name(), path)
	}
	if err != nil {
		_ = os.Remove(t.Name()) // or it remains, and nobody reads it
		return err
	}
	return Dir(filepath.Dir(path))
}

// RemoveUnfinished removes what processes that were killed during Replace have left beside path. Nothing may be replacing it.
func RemoveUnfinished(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		random, ours := strings.CutPrefix(e.Name(), "."+filepath.Base(path)+".")
		if _, no := strconv.ParseUint(random, 10, 64); ours && no == nil {
			err = errors.Join(err, os.Remove(filepath.Join(filepath.Dir(path), e.Name())))
		}
	}
	return err
}

// Dir makes the names in a directory durable where the system supports it.
func Dir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
