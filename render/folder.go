package render

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// temporary begins the names of files that are being written.
const temporary = "new-"

// OpenStore returns a Store that keeps answers as files in a directory, which it makes if there is none. The
// index reads the Records that the crawler has committed. Files that no Record names, left by a process that
// was killed or by renderings that have ended, are removed.
//
// Nothing is synchronized to the disk: an answer that a crash of the machine damages is found by its hash, and
// requested again.
func OpenStore(dir string, index Index) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("render: opening the resource store: %w", err)
	}
	used, err := references(index)
	if err != nil {
		return nil, fmt.Errorf("render: reading the index of the resource store %s: %w", dir, err)
	}
	if err := sweep(dir, used); err != nil {
		return nil, fmt.Errorf("render: clearing the resource store %s: %w", dir, err)
	}
	return &Store{index: index, box: folder(dir)}, nil
}

// references are the answers that committed Records name.
func references(index Index) (map[Ref]bool, error) {
	used := map[Ref]bool{}
	err := index.Each(PrefixURL, func(_ string, value []byte) error {
		var l located
		if json.Unmarshal(value, &l) == nil {
			used[l.Ref] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = index.Each(PrefixPage, func(_ string, value []byte) error {
		var st state
		if json.Unmarshal(value, &st) == nil {
			for _, r := range st.refs() {
				used[r] = true
			}
		}
		return nil
	})
	return used, err
}

// sweep removes the files of answers that are not used, and those left by writes that were cut off. It touches
// nothing that a Store has not written.
func sweep(dir string, used map[Ref]bool) error {
	parts, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if _, err := hex.DecodeString(part.Name()); err != nil || len(part.Name()) != 2 || !part.IsDir() {
			continue
		}
		files, err := os.ReadDir(filepath.Join(dir, part.Name()))
		if err != nil {
			return err
		}
		for _, f := range files {
			if ours(f.Name(), used) {
				err = errors.Join(err, os.Remove(filepath.Join(dir, part.Name(), f.Name())))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ours reports whether a file was written by a Store and is of no use.
func ours(name string, used map[Ref]bool) bool {
	var r Ref
	return strings.HasPrefix(name, temporary) || r.UnmarshalText([]byte(name)) == nil && !used[r]
}

// folder is a box in a directory: each answer is a file, in a directory for the first two digits of its name.
type folder string

func (f folder) path(r Ref) string {
	name := r.String()
	return filepath.Join(string(f), name[:2], name)
}

func (f folder) put(r Ref, b []byte) error {
	path := f.path(r)
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(b)) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("render: storing an answer: %w", err)
	}
	if err := write(path, b); err != nil {
		return fmt.Errorf("render: storing an answer: %w", err)
	}
	return nil
}

// write makes a file appear at path with all its content or not at all.
func write(path string, b []byte) error {
	t, err := os.CreateTemp(filepath.Dir(path), temporary+"*")
	if err != nil {
		return err
	}
	_, err = t.Write(b)
	if err = errors.Join(err, t.Close()); err == nil {
		err = os.Rename(t.Name(), path)
	}
	if err != nil {
		_ = os.Remove(t.Name())
	}
	return err
}

func (f folder) get(r Ref) ([]byte, error) {
	b, err := os.ReadFile(f.path(r))
	if err != nil {
		return nil, ErrGone
	}
	return b, nil
}

func (f folder) hold(r Ref) error {
	if _, err := os.Stat(f.path(r)); err != nil {
		return ErrGone
	}
	return nil
}

func (folder) release(Ref) {}

func (f folder) drop(r Ref) { _ = os.Remove(f.path(r)) }
