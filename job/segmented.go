package job

import (
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
)

// defaultSegmentSize is the default of [Config.SegmentSize], in bytes.
const defaultSegmentSize = 1 << 30

// inSegments lists the files of a job that are written in segments. The first segment has the name of the file; the second is
// visits-000002.jsonl, and so on.
var inSegments = []string{VisitsName, LedgerName, LinksName, TextName, ItemsName}

// segmentShare is the divisor that limits a segment or an archive to a part of MaxDisk and of KeepLocal. One segment of each of the six
// append-only files is open, which leaves room for the queue.
const segmentShare = 8

// segmentAge is the time after which a commit closes a segment of a job with a store, so that results reach the store.
const segmentAge = time.Hour

// segmentSize returns the size at which a commit closes a segment; 0: never.
func (c *Config) segmentSize() int64 {
	size := int64(c.SegmentSize)
	switch {
	case size == 0:
		size = defaultSegmentSize
	case size < 0:
		size = 0
	}
	for _, most := range []crawler.Limit{c.MaxDisk, c.KeepLocal} {
		if most > 0 && (size == 0 || size > int64(most)/segmentShare) {
			size = max(1, int64(most)/segmentShare)
		}
	}
	return size
}

// segmentName returns the name of the nth segment of a file, from 1.
func segmentName(name string, n int) string {
	if n == 1 {
		return name
	}
	ext := path.Ext(name)
	return fmt.Sprintf("%s-%06d%s", strings.TrimSuffix(name, ext), n, ext)
}

// segmentOf returns the file that a segment belongs to, and its number. Any other name is a file with a single segment.
func segmentOf(name string) (whole string, n int) {
	ext := path.Ext(name)
	if i := strings.LastIndexByte(name, '-'); i >= 0 && ext != "" {
		whole = name[:i] + ext
		n, err := strconv.Atoi(strings.TrimSuffix(name[i+1:], ext))
		if err == nil && n > 1 && slices.Contains(inSegments, whole) && segmentName(whole, n) == name {
			return whole, n
		}
	}
	return name, 1
}

// segments returns the names of the segments of a file, up to the last one in the directory, or only the name of the first.
func (d plainDir) segments(name string) (names []string, err error) {
	names = []string{name}
	if !slices.Contains(inSegments, name) {
		return names, nil
	}
	all, err := d.names(".")
	for _, other := range all {
		if whole, n := segmentOf(other); whole == name {
			for len(names) < n {
				names = append(names, segmentName(name, len(names)+1))
			}
		}
	}
	return names, err
}

// Content is an open file of a job, with all its segments concatenated, or its committed part. Call Close when done.
type Content struct {
	*io.SectionReader
	segments *segmentReader
}

// Close closes the file.
func (c *Content) Close() error { return c.segments.close() }

// stream opens a file of the job for reading, with all its segments, up to their present ends.
func (d plainDir) stream(name string) (*Content, error) {
	names, err := d.segments(name)
	if err != nil {
		return nil, err
	}
	s := &segmentReader{dir: d}
	for i, segment := range names {
		if i == 0 {
			err = s.use(segment)
		}
		var size int64
		if err == nil {
			size, err = d.size(segment)
		}
		if missingFile(err) && len(names) > 1 {
			err = &damage{fmt.Sprintf("%s is missing, and a later segment is there", segment)}
		}
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.add(segment, size)
	}
	return &Content{io.NewSectionReader(s, 0, s.size()), s}, nil
}

// streamAt is like stream, for a path.
func streamAt(file string) (*Content, error) {
	d, err := openDir(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	c, err := d.stream(filepath.Base(file))
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	c.segments.ownsDir = true
	return c, nil
}

// size returns the length of a file, which may be only in the store.
func (d plainDir) size(name string) (int64, error) {
	info, err := d.root.Lstat(name)
	if err == nil {
		return info.Size(), nil
	}
	err = d.named("open", name, err)
	if d.away == nil || !missingFile(err) {
		return 0, err
	}
	fact, err := d.away.find(name, err)
	return fact.Bytes, err
}

// segmentReader reads segments as one file. Only one of them is open at a time.
type segmentReader struct {
	dir     plainDir
	ownsDir bool // close also closes the directory

	mu    sync.Mutex
	parts []segmentPart
	f     io.ReadCloser
	open  string // name of f
}

// segmentPart is a segment, and the place where it ends in the whole.
type segmentPart struct {
	name string
	end  int64
}

func (s *segmentReader) add(name string, size int64) {
	s.parts = append(s.parts, segmentPart{name, s.size() + size})
}

// size returns the bytes of all segments.
func (s *segmentReader) size() int64 {
	if len(s.parts) == 0 {
		return 0
	}
	return s.parts[len(s.parts)-1].end
}

// use opens a segment, replacing the one that is open.
func (s *segmentReader) use(name string) error {
	if s.f != nil && s.open == name {
		return nil
	}
	f, err := s.dir.open(name)
	if err != nil {
		return err
	}
	if s.f != nil {
		_ = s.f.Close() // only read, so an error of closing loses nothing
	}
	s.f, s.open = f, name
	return nil
}

// ReadAt implements io.ReaderAt.
func (s *segmentReader) ReadAt(b []byte, at int64) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n < len(b) {
		i := sort.Search(len(s.parts), func(i int) bool { return at < s.parts[i].end })
		if i == len(s.parts) {
			return n, io.EOF
		}
		p, begin := s.parts[i], int64(0)
		if i > 0 {
			begin = s.parts[i-1].end
		}
		if err := s.use(p.name); err != nil {
			return n, err
		}
		m, err := s.f.(io.ReaderAt).ReadAt(b[n:n+int(min(int64(len(b)-n), p.end-at))], at-begin)
		n, at = n+m, at+int64(m)
		if err != nil && (at < p.end || !errors.Is(err, io.EOF)) { // io.EOF is an error only before p.end: the file was truncated
			return n, err
		}
	}
	return n, nil
}

func (s *segmentReader) close() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f != nil {
		err = s.f.Close()
	}
	if s.ownsDir {
		err = errors.Join(err, s.dir.close())
	}
	return err
}

// segmented is an append-only file that is written in segments. A segment that has reached its size is closed by a commit, which records
// this, and never changes again. The next Write begins another one. Write may be called during a commit; the other methods may not.
type segmented struct {
	commits *commits
	name    string    // name of the file and of its first segment
	limit   int64     // size at which a commit closes a segment; 0: never
	begun   time.Time // when this process opened the open segment, or wrote the first bytes to it

	mu     sync.Mutex
	before *segmentReader // segments before the open one
	untold []*evidence    // earlier segments whose present state no commit has recorded
	open   *evidence
	full   bool // the open segment is closed: the next Write begins another
	torn   bool // a Write failed in part, and Truncate was not called since
}

// openSegmented opens a file of the job, and creates it if it is missing. Segments before the last committed one are compared by size;
// Verify reads them. Later segments were written after the last commit, and Truncate removes them.
func (c *commits) openSegmented(name string, limit int64) (*segmented, error) {
	names, err := c.files.segments(name)
	if err != nil {
		return nil, err
	}
	last := 0 // number of the last committed segment
	for n := 1; n <= len(names) || c.of(segmentName(name, n)) != nil; n++ {
		if c.of(segmentName(name, n)) != nil {
			last = n
		}
	}
	for len(names) < last {
		names = append(names, segmentName(name, len(names)+1))
	}
	s := &segmented{commits: c, name: name, limit: limit, before: &segmentReader{dir: c.files.plainDir}}
	for i, segment := range names {
		was := c.of(segment)
		if i+1 < last && was != nil {
			err = c.files.told(segment, c.files.checkClosed(segment, was.Bytes))
			s.before.add(segment, was.Bytes)
		} else if err = s.openNext(segment); err == nil && i+1 < len(names) {
			err = s.retire()
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// checkClosed returns an error if the size of a closed segment differs from the committed one.
func (d jobFiles) checkClosed(name string, committed int64) error {
	size, err := d.size(name)
	switch {
	case missingFile(err):
		return gone(committed)
	case err == nil && size < committed:
		return short(size, committed)
	case err == nil && size > committed:
		return longer(size, committed)
	}
	return err
}

// openNext opens a segment for appending, replacing the open one.
func (s *segmented) openNext(name string) error {
	was := s.commits.of(name)
	e, err := s.commits.files.openEvidence(name, was)
	if err != nil {
		return err
	}
	s.open, s.full, s.begun = e, was != nil && was.Closed, time.Now()
	if s.full {
		err = s.commits.files.told(name, s.commits.files.checkClosed(name, was.Bytes))
	}
	return err
}

// retire moves the open segment to those before it, with its full length, although no commit has recorded that it is closed.
func (s *segmented) retire() error {
	size, err := s.commits.files.size(s.open.name)
	if err == nil {
		err = s.open.Truncate(size)
	}
	s.before.add(s.open.name, size)
	s.untold, s.open = append(s.untold, s.open), nil
	return err
}

// Name returns the path of the first segment.
func (s *segmented) Name() string { return s.commits.files.path(s.name) }

// Write implements io.Writer.
func (s *segmented) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		if err := s.begin(); err != nil {
			return 0, err
		}
	}
	if s.open.bytes == 0 {
		s.begun = time.Now()
	}
	n, err := s.open.Write(b)
	s.torn = s.torn || err != nil
	return n, err
}

// begin begins the next segment.
func (s *segmented) begin() error {
	files := s.commits.files
	e, err := files.openEvidence(segmentName(s.name, len(s.before.parts)+2), nil)
	if err != nil {
		return err
	}
	if err := files.sync(); err != nil {
		return errors.Join(err, e.Close())
	}
	s.before.add(s.open.name, s.open.bytes)
	err = s.open.Close()
	s.open, s.full = e, false
	return err
}

// Seek implements io.Seeker, for the end of the file alone.
func (s *segmented) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekEnd {
		return 0, errors.ErrUnsupported
	}
	at, err := s.open.Seek(offset, whence)
	return s.before.size() + at, err
}

// ReadAt implements io.ReaderAt.
func (s *segmented) ReadAt(b []byte, at int64) (n int, err error) {
	if end := s.before.size(); at < end {
		n, err = s.before.ReadAt(b[:min(int64(len(b)), end-at)], at)
		if err != nil || n == len(b) {
			return n, err
		}
		at += int64(n)
	}
	m, err := s.open.ReadAt(b[n:], at-s.before.size())
	return n + m, err
}

// Truncate cuts the file, and removes segments after its end. It must be called before the first Write, or after one that failed.
func (s *segmented) Truncate(size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for size < s.before.size() {
		if err := s.dropLast(); err != nil {
			return err
		}
	}
	if s.full && s.before.size()+s.open.bytes == size { // nothing to remove, and a closed segment must not be opened for writing
		return nil
	}
	err := s.open.Truncate(size - s.before.size())
	s.torn, s.full = s.torn && err != nil, false
	return err
}

// dropLast removes the open segment, and opens the one before it.
func (s *segmented) dropLast() error {
	files, parts := s.commits.files, s.before.parts
	name := s.open.name
	if err := errors.Join(s.open.Close(), files.named("remove", name, files.root.Remove(name))); err != nil {
		return err
	}
	delete(s.commits.extents, name)
	s.before.parts = parts[:len(parts)-1]
	if n := len(s.untold); n > 0 {
		s.open, s.untold, s.full = s.untold[n-1], s.untold[:n-1], false
		return nil
	}
	return s.openNext(parts[len(parts)-1].name)
}

// tell makes the file durable, and adds the extents of its segments to the values of a commit. It closes a segment that has reached its
// size or age, and blocks writes until it is durable.
func (s *segmented) tell(values map[string][]byte) error {
	s.mu.Lock()
	untold, open := s.untold, s.open
	s.untold = nil
	closes := s.limit > 0 && (open.bytes >= s.limit || s.old()) && !s.torn && !s.full
	if closes {
		defer s.mu.Unlock()
	} else {
		s.mu.Unlock()
	}
	for _, e := range untold {
		now, marked, _, err := e.grown(s.commits.extents[e.name])
		if err = errors.Join(err, e.Close()); err != nil {
			return err
		}
		now.Closed = true
		s.commits.tell(values, e.name, now, marked)
	}
	now, marked, grown, err := open.grown(s.commits.extents[open.name])
	if err != nil {
		return err
	}
	if closes {
		now.Closed, grown, s.full = true, true, true
	}
	if grown {
		s.commits.tell(values, open.name, now, marked)
	}
	return nil
}

// old reports whether the open segment is to be closed although it is not full.
func (s *segmented) old() bool {
	return s.commits.age > 0 && s.open.bytes > 0 && time.Since(s.begun) >= s.commits.age
}

// Sync makes the contents of the file durable.
func (s *segmented) Sync() error { return s.open.Sync() }

// Close closes the file.
func (s *segmented) Close() error {
	err := s.before.close()
	for _, e := range s.untold {
		err = errors.Join(err, e.Close())
	}
	if s.open != nil {
		err = errors.Join(err, s.open.Close())
	}
	return err
}
