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

// OpenShared returns a Store for several crawls of this process, such as those of a cluster node's shards. Answers are in memory, as in a
// Store of [NewStore]. Those passed to Keep are also files in a directory, which it creates if necessary: they are found there after
// eviction, and by later processes. Close closes the Store.
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

// Keep stores answers in files, by the Records of [Rendering.Found], if the Store has files. Files are not synced: a later process
// requests answers again that are damaged or were not stored.
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

// Found returns the Records of answers from the Rendering's requests since the last call that may serve other pages, for [Store.Keep].
func (r *Rendering) Found() []Record {
	records := r.pending
	r.pending = nil
	return records
}

// reload loads the answer for the name of a Record from its file into memory, and marks it as used.
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

// urlFiles stores answers in a directory, one file for each URL: the Record's value, a line end, and the answer in its stored form. It is
// an Index of them.
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

// Each implements Index. It does nothing, because this Store sweeps nothing: a file is replaced by a later answer for its URL.
func (*urlFiles) Each(string, func(string, []byte) error) error { return nil }
