package render

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
)

// temporary is the prefix of the names of files while they are written.
const temporary = "new-"

// OpenStore returns a Store that keeps answers as files in a directory. It creates the directory if necessary; the directory must not be a
// symbolic link. index reads the Records that the crawler has committed. OpenStore removes files that no Record names, which a killed
// process or an ended rendering has left. Close closes the Store.
//
// Files are not synced: if a crash of the machine damages an answer, its hash shows this, and the answer is requested again.
func OpenStore(dir string, index Index) (*Store, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("render: opening the resource store: %w", err)
	}
	s := &Store{index: index, box: f, folder: f}
	if err := s.sweep(); err != nil {
		return nil, errors.Join(err, f.root.Close())
	}
	return s, nil
}

// Close closes a Store of OpenStore or OpenShared. The Store must not be used afterwards.
func (s *Store) Close() error {
	switch {
	case s.folder != nil:
		return s.folder.root.Close()
	case s.files != nil:
		return s.files.root.Close()
	}
	return nil
}

// leastSwept is the minimum number of answers written between two checks for unused answers.
const leastSwept = 1000

// Sweep removes the files of answers that neither a committed Record nor a Rendering needs any more. The crawler calls it after each
// commit. It does nothing until as many answers were written since the last check as that check kept, and at least a thousand.
func (s *Store) Sweep() error {
	if s.folder == nil || !s.folder.due() {
		return nil
	}
	return s.sweep()
}

func (s *Store) sweep() error {
	f := s.folder
	f.mu.Lock() // excludes writes and new uses
	defer f.mu.Unlock()
	used, err := references(s.index)
	if err != nil {
		return fmt.Errorf("render: reading the index of the resource store: %w", err)
	}
	s.mu.Lock()
	for _, generation := range []map[string]located{s.young, s.old} {
		for _, l := range generation {
			used[l.Ref] = true
		}
	}
	s.mu.Unlock()
	for r := range f.uses {
		used[r] = true
	}
	if err := f.sweep(used); err != nil {
		return fmt.Errorf("render: clearing the resource store %s: %w", f.root.Name(), err)
	}
	f.written, f.kept = 0, len(used)
	return nil
}

// references returns the names of the answers to which committed Records refer.
func references(index Index) (map[address]bool, error) {
	used := map[address]bool{}
	err := index.Each(prefixURL, func(_ string, value []byte) error {
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

// folder is a box that stores each answer as a file in a directory, in a subdirectory named after the first two digits of its name.
type folder struct {
	root *os.Root

	mu            sync.Mutex
	uses          map[address]int
	written, kept int // answers written since the last sweep, and answers that the sweep kept
}

func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	named, err := os.Lstat(dir)
	is, err2 := root.Stat(".")
	if err = errors.Join(err, err2); err == nil && !os.SameFile(named, is) {
		err = fmt.Errorf("%s is a symbolic link", dir)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &folder{root: root, uses: map[address]int{}}, nil
}

// due reports whether it is time to remove unused files.
func (f *folder) due() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.written >= max(leastSwept, f.kept)
}

// sweep removes the files of unused answers, and files of interrupted writes. It touches only files that a Store has written. The caller
// must hold mu.
func (f *folder) sweep(used map[address]bool) error {
	parts, err := f.names(".")
	if err != nil {
		return err
	}
	for _, part := range parts {
		if _, err := hex.DecodeString(part); err != nil || len(part) != 2 {
			continue
		}
		if info, err := f.root.Lstat(part); err != nil || !info.IsDir() {
			continue
		}
		names, err := f.names(part)
		for _, name := range names {
			if ours(name, used) {
				err = errors.Join(err, f.root.Remove(path.Join(part, name)))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// names returns the names in a directory.
func (f *folder) names(dir string) ([]string, error) {
	d, err := f.root.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	return names, errors.Join(err, d.Close())
}

// ours reports whether a file was written by a Store and is not needed.
func ours(name string, used map[address]bool) bool {
	var r address
	return strings.HasPrefix(name, temporary) || r.UnmarshalText([]byte(name)) == nil && !used[r]
}

func place(r address) string {
	name := r.String()
	return path.Join(name[:2], name)
}

func (f *folder) put(r address, b []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if info, err := f.root.Lstat(place(r)); err != nil || info.Size() != int64(len(b)) {
		if err := appear(f.root, place(r), b); err != nil {
			return fmt.Errorf("render: storing an answer: %w", err)
		}
		f.written++
	}
	f.uses[r]++
	return nil
}

// appear writes a file atomically. No other call may write the same file at the same time.
func appear(root *os.Root, to string, b []byte) error {
	dir, name := path.Split(to)
	if err := root.MkdirAll(path.Clean(dir), 0o755); err != nil {
		return err
	}
	from := dir + temporary + name
	err := root.WriteFile(from, b, 0o644)
	if err == nil {
		err = root.Rename(from, to)
	}
	if err != nil {
		_ = root.Remove(from)
	}
	return err
}

func (f *folder) get(r address) ([]byte, error) {
	b, err := f.root.ReadFile(place(r))
	if err != nil {
		return nil, ErrGone
	}
	return b, nil
}

func (f *folder) hold(r address) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.root.Lstat(place(r)); err != nil {
		return ErrGone
	}
	f.uses[r]++
	return nil
}

func (f *folder) release(r address) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.uses[r]--; f.uses[r] <= 0 {
		delete(f.uses, r)
	}
}

func (f *folder) drop(r address) { _ = f.root.Remove(place(r)) }
