package machine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/politeness"
)

const (
	jobsName = "jobs"
	jobsMax  = 10_000   // maximum number of jobs in a state directory; the oldest are forgotten
	pathMax  = 16 << 10 // maximum length of a path in bytes
)

// Of returns the Hosts that s is or wraps ([politeness.Both]), or nil.
func Of(s politeness.Sharing) *Hosts {
	for {
		switch x := s.(type) {
		case *Hosts:
			return x
		case interface{ Unwrap() politeness.Sharing }:
			s = x.Unwrap()
		default:
			return nil
		}
	}
}

// AddJob records the directory of a job whose crawl takes turns with the others, so that [Jobs] returns it. It does nothing if the
// hosts are not shared. The error is that of writing a file.
func (m *Hosts) AddJob(dir string) error {
	if m.NotShared() != nil {
		return nil //nolint:nilerr // nothing is shared, so no other process reads the list
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(path))
	return replace(filepath.Join(m.dir, jobsName, hex.EncodeToString(sum[:16])), []byte(path))
}

// Jobs returns the job directories recorded in a state directory, the most recently started last. "" is the directory that
// [Dir] returns. Jobs that were moved or removed are included. If the state directory does not exist, the result is empty.
func Jobs(dir string) ([]string, error) {
	if dir == "" {
		var err error
		if dir, err = Dir(); err != nil {
			return nil, err
		}
	}
	dir = filepath.Join(dir, jobsName)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	type job struct {
		name, path string
		at         time.Time
	}
	var jobs []job
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		f, err := safefile.OpenOwn(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // not written by this program
		}
		b, err := safefile.ReadAll(f, f.Name(), pathMax)
		_ = f.Close() // only read, so an error of closing loses nothing
		if err == nil && filepath.IsAbs(string(b)) {
			jobs = append(jobs, job{e.Name(), string(b), info.ModTime()})
		}
	}
	slices.SortFunc(jobs, func(a, b job) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.path, b.path)) })
	paths := make([]string, 0, len(jobs))
	for i, j := range jobs {
		if i < len(jobs)-jobsMax {
			_ = os.Remove(filepath.Join(dir, j.name)) // if this fails, the next call removes the file
			continue
		}
		paths = append(paths, j.path)
	}
	return paths, nil
}

// tempPrefix begins the names of files that are being written.
const tempPrefix = ".new-"

// replace writes a file completely or not at all.
func replace(path string, b []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), tempPrefix+"*")
	if err != nil {
		return err
	}
	_, err = temp.Write(b)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name()) // a temporary file that remains does no harm
	}
	return err
}
