package chromium

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/amble-crawler/amble/internal/safefile"
)

// dirPrefix is the prefix of the names of browsers' directories.
const dirPrefix = "amble-render-"

// profile is a new directory for one browser. Its owner locks a file in it, so that other processes can recognize abandoned directories.
type profile struct {
	dir  string // directory of this process
	home string // directory of the browser, inside dir
	lock *os.File
}

// newProfile makes a directory, in temp or where the browser's user can access it. It also removes directories of processes that have died.
func newProfile(temp string, as *user) (*profile, error) {
	temp, err := place(temp, as)
	if err != nil {
		return nil, err
	}
	removeStale(temp)
	dir, err := os.MkdirTemp(temp, "new-"+dirPrefix) // with the prefix "new-", other processes do not treat the directory as abandoned
	if err != nil {
		return nil, fmt.Errorf("making a directory for the browser: %w", err)
	}
	p := &profile{dir: dir}
	if err := p.prepare(as); err != nil {
		_ = p.remove()
		return nil, fmt.Errorf("making a directory for the browser: %w", err)
	}
	return p, nil
}

func (p *profile) prepare(as *user) (err error) {
	if p.lock, err = os.Create(filepath.Join(p.dir, "lock")); err != nil {
		return err
	}
	if err := lockFile(p.lock); err != nil {
		return err
	}
	if err := os.Chmod(p.dir, 0o711); err != nil {
		return err
	}
	held := filepath.Join(filepath.Dir(p.dir), strings.TrimPrefix(filepath.Base(p.dir), "new-"))
	if err := os.Rename(p.dir, held); err != nil {
		return err
	}
	p.dir, p.home = held, filepath.Join(held, "home")
	if err := os.Mkdir(p.home, 0o700); err != nil {
		return err
	}
	return as.own(p.home)
}

// remove removes the directory and its contents.
func (p *profile) remove() error {
	err := os.RemoveAll(p.dir)
	if p.lock != nil {
		err = errors.Join(err, p.lock.Close())
	}
	return err
}

// removeStale removes the directories in temp whose owners have died. It leaves directories that belong to another user, or that a process
// has locked.
func removeStale(temp string) {
	dirs, _ := filepath.Glob(filepath.Join(temp, dirPrefix+"*"))
	for _, dir := range dirs {
		f, err := safefile.OpenOwn(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		if lockFile(f) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = f.Close()
	}
}

// place returns the first directory that the browser's user can access: temp, TMPDIR, or /tmp.
func place(temp string, as *user) (string, error) {
	if temp != "" {
		if !as.reaches(temp) {
			return "", &Error{reasonBrowser, "the user that the browser runs as, " + as.String() + ", cannot enter " + temp, nil}
		}
		return filepath.Abs(temp)
	}
	for _, dir := range []string{os.TempDir(), "/tmp"} {
		if as.reaches(dir) {
			return filepath.Abs(dir)
		}
	}
	return "", &Error{reasonBrowser, "the user that the browser runs as, " + as.String() + ", can enter neither " +
		os.TempDir() + " nor /tmp; set TMPDIR to a directory that everybody can enter", nil}
}
