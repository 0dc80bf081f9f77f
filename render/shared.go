package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
)

// OpenShared returns a Store for several crawls of this process together, such as those of a cluster node's shards. Answers are in
// memory, as in a Store of [NewStore]; those that Keep gets are also files in a directory, which it makes if there is none: they are found
// there after they were evicted, and by a later process. Close closes the Store.
func OpenShared(dir string) (*Store, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("render: opening the resource store: %w", err)
	}
	s := NewStore(0)
	s.files = &urlFiles{root: f.root}
	s.index = s.files
	return s, nil
}

// Keep stores answers in files, by the Records of [Rendering.Found], if the Store has files. Nothing is synchronized to the disk: an
// answer that is damaged, or was not stored for whatever reason, is requested again by a later process.
func (s *Store) Keep(records []Record) {
	if s.files == nil {
		return
	}
	for _, r := range records {
		var l located
		if json.Unmarshal(r.Value, &l) != nil {
			continue
		}
		if b, err := s.box.get(l.Ref); err == nil {
			_ = s.files.write(r, b)
		}
	}
}

// Found returns the Records of the answers for other pages that the Rendering's requests have brought since the last call, for [Store.Keep].
func (r *Rendering) Found() []Record {
	records := r.pending
	r.pending = nil
	return records
}

// reload takes the answer for a name of Record from its file into memory, held.
func (s *Store) reload(key string, r address) bool {
	if s.files == nil {
		return false
	}
	_, b, err := s.files.read(key)
	if err != nil {
		return false
	}
	_, err = decode(b, r)
	return err == nil && s.box.put(r, b) == nil
}

// urlFiles are answers in a directory, one file for each URL: the Record's value, a line, and the answer in its stored form. It is an
// Index of them.
type urlFiles struct {
	root    *os.Root
	writing sync.Mutex
}

// urlFile returns the name of the file for a name of Record.
func urlFile(key string) string {
	name := strings.TrimPrefix(key, prefixURL)
	return path.Join(name[:2], name)
}

func (f *urlFiles) read(key string) (value, answer []byte, err error) {
	b, err := f.root.ReadFile(urlFile(key))
	if err != nil {
		return nil, nil, err
	}
	value, answer, _ = bytes.Cut(b, []byte{'\n'})
	return value, answer, nil
}

func (f *urlFiles) write(r Record, answer []byte) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return appear(f.root, urlFile(r.Key), append(append(bytes.Clone(r.Value), '\n'), answer...))
}

// Get implements Index.
func (f *urlFiles) Get(key string) ([]byte, error) {
	value, _, err := f.read(key)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return value, err
}

// Each implements Index for a Store that sweeps nothing: a file is replaced by that of a later answer for its URL.
func (*urlFiles) Each(string, func(string, []byte) error) error { return nil }
