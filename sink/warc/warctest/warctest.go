// Package warctest reads archive files as strictly as ISO 28500:2017 permits, for tests of programs that write archives.
//
// It shares no code with package sink/warc. In addition to the standard, it checks the guarantees of sink/warc: each record is compressed
// separately, each file begins with a warcinfo record, every record with a block has valid digests, the request, response and metadata
// records of a capture refer to each other, a revisit refers to an existing record, and every response is found by the index of its file.
package warctest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Record is a record of an archive file.
type Record struct {
	File   string // name without directory
	Offset int64  // offset in the file
	Length int64  // compressed length in the file
	Fields []Field
	Block  []byte
}

// Field is a field in the header of a record.
type Field struct{ Name, Value string }

// Get returns the value of the first field with a name, or "".
func (r *Record) Get(name string) string {
	for _, f := range r.Fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Type returns the value of WARC-Type.
func (r *Record) Type() string { return r.Get("WARC-Type") }

// ID returns the value of WARC-Record-ID.
func (r *Record) ID() string { return r.Get("WARC-Record-ID") }

// IsAnswer reports whether r is a response or revisit record.
func (r *Record) IsAnswer() bool { return r.Type() == "response" || r.Type() == "revisit" }

func (r *Record) errorf(format string, args ...any) error {
	return fmt.Errorf("%s at %d (%s): %w", r.File, r.Offset, r.Type(), fmt.Errorf(format, args...))
}

// Read reads and checks every archive file of a directory, in the order of their names. The error lists all faults.
func Read(dir string) ([]*Record, error) { return read(dir, true) }

// ReadUnsorted is like Read, for files that are still being written: their indexes are not sorted yet.
func ReadUnsorted(dir string) ([]*Record, error) { return read(dir, false) }

func read(dir string, sorted bool) ([]*Record, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []*Record
	var errs []error
	indexes := map[string]bool{}
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".cdxj") {
			indexes[name] = true
		}
		if !strings.HasSuffix(name, ".warc.gz") && !strings.HasSuffix(name, ".warc.zst") {
			continue
		}
		rs, err := readFile(filepath.Join(dir, name))
		errs = append(errs, err, checkFile(name, rs), checkIndex(dir, name, rs, sorted))
		delete(indexes, indexOf(name))
		all = append(all, rs...)
	}
	for name := range indexes {
		errs = append(errs, fmt.Errorf("%s belongs to no file", name))
	}
	errs = append(errs, checkLinks(all))
	return all, errors.Join(errs...)
}

func indexOf(name string) string {
	base, _, _ := strings.Cut(name, ".warc.")
	return base + ".cdxj"
}

// checkFile checks that a file begins with a warcinfo record, and that all other records refer to that one.
func checkFile(name string, rs []*Record) error {
	if len(rs) == 0 || rs[0].Type() != "warcinfo" {
		return fmt.Errorf("%s does not begin with a warcinfo record", name)
	}
	var errs []error
	if got := rs[0].Get("WARC-Filename"); got != name {
		errs = append(errs, rs[0].errorf("WARC-Filename is %q", got))
	}
	for _, r := range rs[1:] {
		if got := r.Get("WARC-Warcinfo-ID"); got != rs[0].ID() {
			errs = append(errs, r.errorf("WARC-Warcinfo-ID is %s, not %s", got, rs[0].ID()))
		}
		if r.Type() == "warcinfo" {
			errs = append(errs, r.errorf("a second one"))
		}
	}
	return errors.Join(errs...)
}

// Answers returns the URIs of the response and revisit records, in the order of the files.
func Answers(rs []*Record) []string {
	var uris []string
	for _, r := range rs {
		if r.IsAnswer() {
			uris = append(uris, r.Get("WARC-Target-URI"))
		}
	}
	return slices.Clip(uris)
}
