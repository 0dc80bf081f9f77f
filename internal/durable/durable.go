// Package durable writes files that survive a power failure.
package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Replace writes or replaces a file durably and atomically: at any time, readers see either the old or the new contents. The file is
// readable by all users.
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
		_ = os.Remove(t.Name()) // if this fails, too, an unused file remains
		return err
	}
	return Dir(filepath.Dir(path))
}

// RemoveUnfinished removes the temporary files of Replace that killed processes have left beside path. No Replace of path may be in
// progress.
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

// Dir makes the names in a directory durable, if the system supports it.
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
