package warc

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/safefile"
)

// Archive finds recorded responses by the URLs of their requests. It reads archive files of this package and of other programs:
// uncompressed, or with each record compressed with gzip or zstd. It keeps 16 bytes in memory for each response, and reads the responses
// from the files. It is safe for concurrent use until Close.
type Archive struct {
	files []archiveFile
	open  func(name string) (File, int64, error)
	table []place // sorted by key, then by place
	seed  maphash.Seed
	same  func(url string) string
	cut   []*ArchiveError
}

// File is an archive or an index that is open for reading. ReadAt may be called concurrently.
type File interface {
	io.ReaderAt
	io.Closer
}

// archiveFile is an archive file that is open.
type archiveFile struct {
	File
	name string
	size int64
}

// OpenFile opens a file on a disk and returns its size in bytes, for [OpenArchiveBy]. The error is that of the file system.
func OpenFile(name string) (File, int64, error) {
	f, err := safefile.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// place is the place of a response, with the key of its URL.
type place struct {
	key uint64 // hash of the URL
	at  uint64 // number of the file, and offset in the file
}

func placeOf(key uint64, file int, offset int64) place {
	return place{key, uint64(file)<<offsetBits | uint64(offset)}
}

func (p place) file() int     { return int(p.at >> offsetBits) }
func (p place) offset() int64 { return int64(p.at & maxOffset) }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.key, q.key), cmp.Compare(p.at, q.at))
}

// Answer is a response in an archive.
type Answer struct {
	ID   string     // WARC-Record-ID, in angle brackets
	URL  string     // WARC-Target-URI
	Addr netip.Addr // address of the server; invalid if the address is not known
	Date time.Time  // WARC-Date
	Head []byte     // status line and header section as received, with the empty line after it
	// Payload is the body without transfer coding, still in its content coding.
	Payload []byte
	// Truncated is the reason why Payload is incomplete, one of the reason codes of sink.Record.Truncated. It is "" if Payload is
	// complete.
	Truncated string

	File   string // path of the file
	Offset int64  // offset of the record in the file
}

// ErrNotArchived is wrapped by the error for a URL that has no response in the archive.
var ErrNotArchived = errors.New("not in the archive")

// ArchiveError reports an archive file that is damaged or cannot be read.
type ArchiveError struct {
	File   string // path of the file
	Offset int64  // offset of the damaged record
	Err    error
}

func (e *ArchiveError) Error() string {
	return fmt.Sprintf("warc: %s is damaged in the record at byte %d: %v", e.File, e.Offset, e.Err)
}

// Unwrap returns e.Err.
func (e *ArchiveError) Unwrap() error { return e.Err }

// OpenArchive opens the archive files at paths and in the directories at paths. It reads each file once or, if [Writer] left a CDXJ index,
// only the index. same returns the same text for URLs that count as one page; nil: all URLs are different pages. The error is that of the
// file system or an *[ArchiveError].
func OpenArchive(same func(url string) string, paths ...string) (*Archive, error) {
	names, err := Files(paths...)
	if err != nil {
		return nil, err
	}
	return OpenArchiveBy(OpenFile, same, names...)
}

// OpenArchiveBy is like [OpenArchive], for archive files that need not be on a disk. open opens a file or its index by name, and returns
// its size in bytes.
func OpenArchiveBy(open func(name string) (File, int64, error), same func(url string) string, names ...string) (*Archive, error) {
	if same == nil {
		same = func(url string) string { return url }
	}
	a := &Archive{seed: maphash.MakeSeed(), same: same, open: open}
	for _, name := range names {
		if err := a.add(name); err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	slices.SortFunc(a.table, place.compare)
	a.table = slices.Clip(slices.Compact(a.table))
	return a, nil
}

// OpenFiles opens the archive files at paths and in the directories at paths, without reading them. [Archive.At] finds intact records even
// in files that are damaged elsewhere, which OpenArchive cannot read. It does not find payloads that are stored in another record than the
// response.
func OpenFiles(paths ...string) (*Archive, error) {
	a := &Archive{seed: maphash.MakeSeed(), same: func(url string) string { return url }}
	names, err := Files(paths...)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f, size, err := OpenFile(name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("warc: %w", err), a.Close())
		}
		a.files = append(a.files, archiveFile{f, name, size})
	}
	return a, nil
}

// Files returns the files at paths and, for each directory at paths, the archives in it, sorted by name. The error is that of the file
// system.
func Files(paths ...string) (names []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("warc: %w", err)
		}
		if !info.IsDir() {
			names = append(names, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, fmt.Errorf("warc: %w", err)
		}
		for _, e := range entries {
			if e.Type().IsRegular() && IsArchive(e.Name()) {
				names = append(names, filepath.Join(path, e.Name()))
			}
		}
	}
	return names, nil
}

// IsArchive reports whether the name of a file is that of an archive: it must end in .warc, .warc.gz or .warc.zst.
func IsArchive(name string) bool {
	return strings.HasSuffix(name, ".warc") || strings.HasSuffix(name, ".warc.gz") || strings.HasSuffix(name, ".warc.zst")
}

// add opens a file and adds its responses to the table.
func (a *Archive) add(path string) error {
	in, size, err := a.open(path)
	if err != nil {
		return fmt.Errorf("warc: %w", err)
	}
	f := archiveFile{in, path, size}
	a.files = append(a.files, f)
	from := a.readIndex(f)
	var damage *ArchiveError
	err = a.scan(f, from)
	if errors.As(err, &damage) && errors.Is(damage, errCut) {
		a.cut = append(a.cut, damage)
		return nil
	}
	return err
}

// Cut returns an error for each file that ends within its last record, for example because a process was killed. Such records are not used.
func (a *Archive) Cut() []*ArchiveError { return a.cut }

// Len returns the number of responses.
func (a *Archive) Len() int { return len(a.table) }

// Close closes the files.
func (a *Archive) Close() error {
	var errs []error
	for _, f := range a.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Find returns the last response for a URL: the latest of several attempts and visits. If there is none, it returns that of another URL of
// the same page. The error wraps [ErrNotArchived] if there is neither, or is an *[ArchiveError].
func (a *Archive) Find(url string) (*Answer, error) {
	target := uri(url)
	var other *stored
	var there place
	for _, p := range slices.Backward(a.places(target)) {
		r, err := a.read(p)
		switch {
		case err != nil:
			return nil, err
		case r.target() == target:
			return a.answer(p, r)
		case other == nil && a.same(r.target()) == a.same(target): // otherwise only the hashes are equal, by chance
			other, there = r, p
		}
	}
	if other != nil {
		return a.answer(there, other)
	}
	return nil, fmt.Errorf("warc: %s: %w", url, ErrNotArchived)
}

// URLs returns the URLs of the responses, in the order of the files. A URL with several responses occurs several times. The sequence ends
// after the first error, an *[ArchiveError].
func (a *Archive) URLs() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		all := slices.Clone(a.table)
		slices.SortFunc(all, func(p, q place) int { return cmp.Compare(p.at, q.at) })
		for _, p := range all {
			r, err := readRecord(newCountingReader(a.files[p.file()], p.offset()), false)
			if err != nil {
				yield("", a.damage(p, err))
				return
			}
			if !yield(r.target(), nil) {
				return
			}
		}
	}
}

func (a *Archive) key(target string) uint64 { return maphash.String(a.seed, a.same(target)) }

// places returns the places of responses for a URL, the oldest first.
func (a *Archive) places(target string) []place {
	key := a.key(target)
	from, _ := slices.BinarySearchFunc(a.table, key, func(p place, key uint64) int { return cmp.Compare(p.key, key) })
	to := from
	for to < len(a.table) && a.table[to].key == key {
		to++
	}
	return a.table[from:to]
}

// answer returns the response in a record. If the record is a revisit, the payload is in the record to which it refers.
func (a *Archive) answer(p place, r *stored) (*Answer, error) {
	x := &Answer{ID: r.get("WARC-Record-ID"), URL: r.target(), File: a.files[p.file()].name, Offset: p.offset()}
	x.Date, _ = time.Parse(time.RFC3339, r.get("WARC-Date"))
	x.Addr, _ = netip.ParseAddr(r.get("WARC-IP-Address"))
	if x.Head, x.Payload = r.message(); len(x.Head) == 0 {
		return nil, a.damage(p, errors.New("it has no HTTP answer"))
	}
	if r.kind() == "revisit" && r.get("WARC-Profile") == profileIdentical {
		var err error
		if p, r, err = a.original(p, r); err != nil {
			return nil, err
		}
		_, x.Payload = r.message()
	}
	if r.kind() == "response" && r.get("WARC-Truncated") != "" || r.short {
		x.Truncated = a.truncation(p, r)
	}
	return x, nil
}

// original returns the record to which a revisit refers, and its place.
func (a *Archive) original(p place, r *stored) (place, *stored, error) {
	id, date := r.get("WARC-Refers-To"), r.get("WARC-Refers-To-Date")
	for _, q := range slices.Backward(a.places(bare(r.get("WARC-Refers-To-Target-URI")))) {
		o, err := a.read(q)
		if err != nil {
			return q, nil, err
		}
		if o.kind() == "response" && (id != "" && o.get("WARC-Record-ID") == id || id == "" && o.get("WARC-Date") == date) {
			return q, o, nil
		}
	}
	return p, nil, a.damage(p, fmt.Errorf("it refers to the answer %s, which none of the files has", cmp.Or(id, date)))
}

// truncation returns the reason why the payload of a record is incomplete. It prefers that in the following metadata record, which is more
// precise.
func (a *Archive) truncation(p place, r *stored) string {
	next, err := a.readAt(p.file(), r.end)
	if err == nil && next.kind() == "metadata" && next.get("WARC-Refers-To") == r.get("WARC-Record-ID") {
		if why := fieldIn(next.block, "truncated"); why != "" {
			return why
		}
	}
	switch r.get("WARC-Truncated") {
	case "time":
		return "fetch_timeout"
	case "disconnect":
		return "cut_short"
	}
	return "length"
}

func (a *Archive) damage(p place, err error) error {
	return &ArchiveError{a.files[p.file()].name, p.offset(), err}
}

// SURT returns the key of a URL in an index, in the Sort-friendly URI Reordering Transform: the labels of the host in reverse order, then
// path and query, in the canonical form of the Internet Archive's surt library.
//
//	https://www.Example.org:443/A//b/?y=2&x=%31  org,example)/a/b?x=1&y=2
func SURT(url string) string { return surt(url) }

// At returns the response in the record at an offset of an archive file. file is the name as in sink.Location, without directory. The error
// wraps [ErrNotArchived] if there is no such file, or is an *[ArchiveError].
func (a *Archive) At(file string, offset int64) (*Answer, error) {
	for i, f := range a.files {
		if filepath.Base(f.name) != file {
			continue
		}
		p := placeOf(0, i, offset)
		r, err := a.read(p)
		if err != nil {
			return nil, err
		}
		return a.answer(p, r)
	}
	return nil, fmt.Errorf("warc: %s: %w", file, ErrNotArchived)
}
