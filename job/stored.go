package job

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/stores"
	"github.com/amble-crawler/amble/stores/open"
)

// storedName is the list of the job's objects in its store. It is in the directory and in the store, where it is written after the
// objects.
const storedName = "stored.json"

const storedSchema = "amble.stored/1"

// stored is the content of stored.json.
type stored struct {
	Schema  string         `json:"schema"`
	Store   string         `json:"store,omitempty"` // URL; omitted in the store, which may be moved
	Job     string         `json:"job"`             // random ID of the job that uses the prefix
	Copy    bool           `json:"copy,omitempty"`  // the directory was made from the store, and has no queue
	Place   string         `json:"place,omitempty"` // random ID of the directory; omitted in the store
	From    string         `json:"from,omitempty"`  // the previous directory of the job, during a takeover; omitted in the store
	Objects []storedObject `json:"objects"`         // oldest first

	at map[string]int // indexes in Objects by name
}

// storedObject is a file of the job in the store.
type storedObject struct {
	Name string `json:"name"`
	FileFact
}

func newStored(url string) *stored {
	return &stored{Schema: storedSchema, Store: url, Job: rand.Text(), Place: rand.Text(), at: map[string]int{}}
}

// parseStored parses the list of stored.json. It may come from an untrusted source.
func parseStored(b []byte) (*stored, error) {
	s := &stored{at: map[string]int{}}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, err
	}
	if s.Schema != storedSchema || s.Job == "" {
		return nil, fmt.Errorf("it is of the form %q, this program knows %s", s.Schema, storedSchema)
	}
	for i, o := range s.Objects {
		if err := stores.CheckName(o.Name); err != nil || !isSHA256(o.SHA256) || o.Bytes < 0 {
			return nil, fmt.Errorf("object %d is not a file of a job", i)
		}
		s.at[o.Name] = i
	}
	return s, nil
}

// with returns a copy of the list with an object in it.
func (s *stored) with(objects ...storedObject) *stored {
	c := *s
	c.Objects, c.at = slices.Clone(s.Objects), make(map[string]int, len(s.at)+len(objects))
	for i, o := range c.Objects {
		c.at[o.Name] = i
	}
	for _, o := range objects {
		if i, ok := c.at[o.Name]; ok {
			c.Objects[i] = o
			continue
		}
		c.at[o.Name] = len(c.Objects)
		c.Objects = append(c.Objects, o)
	}
	return &c
}

func (s *stored) encode() []byte {
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil { // marshalling strings and numbers cannot fail
		panic(err)
	}
	return append(b, '\n')
}

// find returns the store's copy of a file.
func (s *stored) find(name string) (FileFact, bool) {
	if s == nil {
		return FileFact{}, false
	}
	i, ok := s.at[name]
	if !ok {
		return FileFact{}, false
	}
	return s.Objects[i].FileFact, true
}

// object returns the file as an object of package stores.
func (o *storedObject) object() stores.Object {
	sum, _ := hex.DecodeString(o.SHA256) // valid: checked by parseStored, or computed
	return stores.Object{Name: o.Name, Size: o.Bytes, SHA256: [32]byte(sum)}
}

// readStored reads stored.json in the directory. It returns nil if there is none.
func (d plainDir) readStored() (*stored, error) {
	b, err := d.readUpTo(storedName, safefile.Stream)
	if missingFile(err) {
		return nil, nil //nolint:nilnil // the job has no store
	}
	if err != nil {
		return nil, err
	}
	s, err := parseStored(b)
	if err != nil {
		return nil, damagedSettings(d.path(storedName), err)
	}
	return s, nil
}

// away gives access to files of a directory that are only in the store.
type away struct {
	root *os.Root

	mu    sync.Mutex
	info  fs.FileInfo // state of the list's file when it was read
	list  *stored     // nil: none
	store stores.Store
}

// now returns the present list, nil if there is none.
func (a *away) now() (*stored, error) {
	if a == nil {
		return nil, nil //nolint:nilnil // no directory of a job
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	info, err := a.root.Lstat(storedName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // the job has no store
	}
	if err == nil && a.info != nil && os.SameFile(a.info, info) && a.info.ModTime().Equal(info.ModTime()) && a.info.Size() == info.Size() {
		return a.list, nil
	}
	list, err := plainDir{root: a.root}.readStored()
	if err == nil {
		a.info, a.list = info, list
	}
	return list, err
}

// find looks up a file that is not in the directory. If the store does not have it either, it returns cause, the error of opening it in
// the directory.
func (a *away) find(name string, cause error) (FileFact, error) {
	list, err := a.now()
	if err != nil {
		return FileFact{}, err
	}
	fact, ok := list.find(filepath.ToSlash(name))
	if !ok {
		return fact, cause
	}
	return fact, nil
}

// from returns the store that has the files.
func (a *away) from() (stores.Store, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.store == nil {
		s, err := open.URL(a.list.Store)
		if err != nil {
			return nil, &Error{Kind: Refused, Err: fmt.Errorf("what %s has in its store cannot be read: %w", a.root.Name(), err)}
		}
		a.store = s
	}
	return a.store, nil
}

func (a *away) close() error {
	if a == nil || a.store == nil {
		return nil
	}
	return open.Close(a.store)
}

// open opens a file in the store.
func (a *away) open(name string, cause error) (readFile, error) {
	fact, err := a.find(name, cause)
	if err != nil {
		return nil, err
	}
	s, err := a.from()
	if err != nil {
		return nil, err
	}
	return &awayFile{store: s, name: filepath.ToSlash(name), size: fact.Bytes}, nil
}

// names adds to names the files of a subdirectory that only the store has.
func (a *away) names(dir string, names []string) ([]string, error) {
	list, err := a.now()
	if err != nil || list == nil {
		return names, err
	}
	have := make(map[string]bool, len(names))
	for _, name := range names {
		have[name] = true
	}
	for _, o := range list.Objects {
		if base := path.Base(o.Name); path.Dir(o.Name) == filepath.ToSlash(dir) && !have[base] {
			names = append(names, base)
		}
	}
	return names, nil
}

// awayFile reads an object in blocks.
type awayFile struct {
	store stores.Store
	name  string
	size  int64
	at    int64 // position of Read

	mu    sync.Mutex
	block []byte
	from  int64
}

const (
	awayBlock = 2 << 20
	awayTries = 4 // tries to read a block: a response may be cut off
)

// ReadAt implements io.ReaderAt.
func (f *awayFile) ReadAt(b []byte, at int64) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n < len(b) {
		if at >= f.size {
			return n, io.EOF
		}
		if at < f.from || at >= f.from+int64(len(f.block)) {
			if err := f.fetch(at); err != nil {
				return n, err
			}
		}
		m := copy(b[n:], f.block[at-f.from:])
		n, at = n+m, at+int64(m)
	}
	return n, nil
}

// fetch reads the block that begins at an offset.
func (f *awayFile) fetch(at int64) (err error) {
	for range awayTries {
		var r io.ReadCloser
		if r, err = f.store.Get(context.Background(), f.name, at, min(awayBlock, f.size-at)); err == nil {
			f.block, err = io.ReadAll(r)
			f.from, err = at, errors.Join(err, r.Close())
		}
		if err == nil {
			return nil
		}
		f.block = nil
		if !errors.Is(err, stores.ErrAway) && !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
	}
	if missingFile(err) {
		return &damage{f.name + " is not in the store any more"}
	}
	return err
}

// Read implements io.Reader.
func (f *awayFile) Read(b []byte) (int, error) {
	n, err := f.ReadAt(b, f.at)
	f.at += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// Close does nothing.
func (f *awayFile) Close() error { return nil }

// isSmall reports whether a file is one of those that describe a job. They are written as a whole, and needed to read anything else.
func isSmall(name string) bool { return ownFiles[name] || strings.HasPrefix(name, settingsName+"/") }

// Attach makes an empty directory a read-only view of the job that a store has under a URL (see [Config.Store]), for [Read] and all
// programs that read jobs: the files that describe the job are copied, the others are read from the store. The job cannot be resumed in
// the directory: use [Restore] for that. The error wraps [ErrNoJob] if the store has no job there.
func Attach(ctx context.Context, dir, url string) error {
	store, err := open.URL(url)
	if err != nil {
		return &Error{Kind: Refused, Err: err}
	}
	defer func() { _ = open.Close(store) }() // only read, so an error of closing loses nothing
	list, err := readList(ctx, store, url)
	if err != nil {
		return err
	}
	d, err := openJobFiles(dir)
	if err != nil {
		return outputError(err)
	}
	defer func() { _ = d.close() }() // all written data is synced
	for _, o := range list.Objects {
		if !isSmall(o.Name) {
			continue
		}
		b, err := getSmall(ctx, store, o.Name)
		if missingFile(err) {
			return refusedAs(ErrNoJob, "%s holds no whole job: %s is missing", url, o.Name)
		}
		if err != nil {
			return &Error{Kind: Storage, Err: err}
		}
		to := d.plainDir
		if sub := path.Dir(o.Name); sub != "." {
			if to, err = d.sub(sub); err != nil {
				return outputError(err)
			}
		}
		err = to.replace(path.Base(o.Name), b)
		if to.root != d.root {
			err = errors.Join(err, to.close())
		}
		if err != nil {
			return outputError(err)
		}
	}
	list.Store, list.Copy = url, true
	return outputError(d.replace(storedName, list.encode()))
}

// getSmall reads an object that describes a job.
func getSmall(ctx context.Context, s stores.Store, name string) ([]byte, error) {
	return getUpTo(ctx, s, name, safefile.Stream)
}

// RemoveStored removes a job's objects from its store, their list last. It does nothing for a job without a store.
func RemoveStored(ctx context.Context, dir string) error {
	d, err := openJobFiles(dir)
	if err != nil {
		return nil //nolint:nilerr // there is nothing
	}
	defer func() { _ = d.close() }() // only read, so an error of closing loses nothing
	list, err := d.readStored()
	if err != nil || list == nil || list.Copy {
		return err
	}
	store, err := open.URL(list.Store)
	if err != nil {
		return &Error{Kind: Refused, Err: err}
	}
	defer func() { _ = open.Close(store) }() // nothing was written to the store
	b, err := getSmall(ctx, store, storedName)
	if missingFile(err) {
		return nil
	}
	if err != nil {
		return &Error{Kind: Storage, Err: err}
	}
	if theirs, err := parseStored(b); err != nil || theirs.Job != list.Job {
		return refused("%s is used by another job than %s: nothing in it is removed", list.Store, dir)
	}
	for o, err := range store.List(ctx, "") { // also lists objects that were stored and are not in the list yet
		if err == nil && o.Name != storedName && d.mayBeOurs(o.Name) {
			err = store.Delete(ctx, o.Name)
		}
		if err != nil {
			return &Error{Kind: Storage, Err: err}
		}
	}
	if err := store.Delete(ctx, storedName); err != nil {
		return &Error{Kind: Storage, Err: err}
	}
	return nil
}

// mayBeOurs reports whether an object has the name of a file of a job.
func (d jobFiles) mayBeOurs(name string) bool {
	whole, _ := segmentOf(name)
	if _, ok := ownFiles[whole]; ok || isOfQueue(name) || name == probeName {
		return true
	}
	ours, ok := ownDirs[path.Dir(name)]
	return ok && ours(path.Base(name))
}

// isOfQueue reports whether an object is needed only to resume a job elsewhere. Such objects are in no list.
func isOfQueue(name string) bool {
	return name == queueName || name == leaseName || strings.HasPrefix(name, queueParts+"/")
}

// checkCopy refuses to work on a directory made by Attach.
func (d jobFiles) checkCopy() error {
	if list, err := d.readStored(); err != nil || list == nil || !list.Copy {
		return err
	}
	return refused("%s stands for a job in a store, and has no queue: resume the job by the URL of its store, or in the directory where it was crawled", d.root.Name())
}

// putBytes stores an object that is in memory.
func putBytes(ctx context.Context, s stores.Store, name string, b []byte) error {
	o := storedObject{name, factOfBytes(b)}
	return s.Put(ctx, o.object(), bytes.NewReader(b))
}
