package disk

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Errors of [Open].
var (
	ErrLocked  = errors.New("disk: the crawl directory is in use")
	ErrForeign = errors.New("disk: not a crawl directory")
	errNewer   = errors.New("disk: the crawl directory was made by a newer version")
)

// The marker is the file that marks a directory as that of a crawl and contains the version of its format. It is written before the
// engine starts and can be read without the engine.
const (
	marker        = "AMBLE"
	markerText    = "amble frontier "
	formatVersion = 1
)

// prepare makes dir the directory of a crawl, if it is not one yet, and locks it.
func prepare(fs vfs.FS, dir string) (*pebble.Lock, error) {
	if err := check(fs, dir); err != nil { // called before any file is written to dir
		return nil, err
	}
	if err := makeDir(fs, dir); err != nil {
		return nil, fmt.Errorf("disk: make the crawl directory %s: %w", dir, err)
	}
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, lockError(dir, err)
	}
	if err = check(fs, dir); err == nil {
		err = mark(fs, dir)
	}
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}

func lockError(dir string, err error) error {
	var file *iofs.PathError
	if errors.As(err, &file) {
		return fmt.Errorf("disk: lock the crawl directory %s: %w", dir, err)
	}
	return fmt.Errorf("%w: %s: end the process that has it open, or name another directory (%w)", ErrLocked, dir, err)
}

func makeDir(fs vfs.FS, dir string) error {
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return syncDir(fs, fs.PathDir(dir))
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// check returns an error if dir cannot be the directory of a crawl.
func check(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("disk: list the crawl directory %s: %w", dir, err)
	}
	if slices.Contains(names, marker) {
		return errors.Join(checkVersion(fs, dir), checkEngine(dir, names))
	}
	for _, n := range names {
		if n != "LOCK" && n != marker+".new" { // files that remain if a process ended before it wrote the marker
			return fmt.Errorf("%w: %s holds %q and no file %s: name an empty directory, or one that does not exist", ErrForeign, dir, n, marker)
		}
	}
	return nil
}

func checkVersion(fs vfs.FS, dir string) error {
	f, err := fs.Open(fs.PathJoin(dir, marker))
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(f, 100))
	if err != nil {
		return fmt.Errorf("disk: read %s: %w", fs.PathJoin(dir, marker), err)
	}
	rest, ok := strings.CutPrefix(string(text), markerText)
	version, err := strconv.Atoi(strings.TrimSuffix(rest, "\n"))
	switch {
	case !ok || err != nil || version < 1:
		return fmt.Errorf("%w: the file %s says %q: name another directory", ErrForeign, fs.PathJoin(dir, marker), text)
	case version > formatVersion:
		return fmt.Errorf("%w: %s has format %d, this program knows up to %d: use the program that made it, or a newer one",
			errNewer, dir, version, formatVersion)
	}
	return nil
}

// mark writes the marker unless it exists.
func mark(fs vfs.FS, dir string) error {
	path := fs.PathJoin(dir, marker)
	if _, err := fs.Stat(path); err == nil {
		return nil
	}
	err := writeFile(fs, path+".new", fmt.Sprintf("%s%d\n", markerText, formatVersion))
	if err == nil {
		err = fs.Rename(path+".new", path)
	}
	if err == nil {
		err = syncDir(fs, dir)
	}
	if err != nil {
		return fmt.Errorf("disk: write %s: %w", path, err)
	}
	return nil
}

func writeFile(fs vfs.FS, path, text string) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	return errors.Join(err, f.Sync(), f.Close())
}
