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

// OpenShared returns a Store for several crawls of this process, such as those of the shards of a cluster node. Answers are in memory, as
// in a Store of [NewStore]. Answers passed to Keep are also stored as files in a directory, which OpenShared creates if necessary: they can
// be used after their eviction from memory, and by later processes. Close closes the Store.
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

// Keep stores answers as files, if the Store has files; records comes from [Rendering.Found]. Files are not synced: if a file is damaged or
// missing, a later process requests the answer again.
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

// Found returns the Records of answers that may serve other pages, of the Rendering's requests since the last call, for [Store.Keep].
func (r *Rendering) Found() []Record {
	records := r.pending
	r.pending = nil
	return records
}

// reload loads the answer for a Record's key from its file into memory, and marks it as used.
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

// urlFiles stores answers in a directory, one file for each URL: with the Record's value, a line end, and the answer in its stored form. It
// implements Index for these answers.
type urlFiles struct {
	root    *os.Root
	writing sync.Mutex
}

// urlFile returns the name of the file for a Record's key.
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

// Each implements Index. It does nothing, because this Store never sweeps: a file is replaced by a later answer for the same URL.
func (*urlFiles) Each(string, func(string, []byte) error) error { return nil }
