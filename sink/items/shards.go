package items

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/amble-crawler/amble/internal/durable"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/sink"
)

// Bounds holds the size limits for each file of [Shards].
type Bounds struct {
	Rows  int64 // maximum number of rows. 0: 1,000,000
	Bytes int64 // maximum size of the rows as JSON lines; a longer row gets a file for itself. 0: 128 MiB
}

// Shards implements [sink.Sink]: it writes each result as a row to files in a directory. When a file is full, it begins a new one.
//
// The name of a file has the numbers of its first and last row, such as products-000000000001-000000050000.csv. A file appears when it is
// complete, and its content does not change while the crawl runs. The rows of the next file are in products-000000050001.open, as JSON
// lines. Close makes a complete file of them, too, so each run of a crawl ends with a shorter file. When a crawl is resumed, rows that were
// not committed are removed: a file with such rows becomes shorter, and gets a new name.
//
// A directory may have several Shards of different names. Each belongs to one crawl. A Shards is not safe for concurrent use.
type Shards[T any] struct {
	sink.Base

	dir, name string
	format    Format[T]
	bounds    Bounds
	files     []shard
	open      shard         // range of rows that are not in a complete file yet; last is first-1 if there are no such rows
	torn      []shard       // other open files: earlier ones can reappear after a power failure
	f         *os.File      // file with the rows of the shard open; may be nil
	w         *bufio.Writer // writes to f
	size      int64         // bytes written to w
	unnamed   bool          // the name of f may not be durable
	stale     bool          // the content of f may not be durable
	err       error
	closed    bool
	synced    int64    // last offset that Sync or Restore has established
	up        *uploads // nil: files are not copied to a store

	disk func(io.Writer) io.Writer // wraps the writer of each file; nil: no wrapper
	step func()                    // called after each change of the directory; may be nil
}

// shard is a file with a range of rows, which are counted from 1.
type shard struct {
	first, last int64
	path        string
}

// OpenShards opens the files NAME-… in dir, and creates dir if it does not exist. The complete files have the format f: [JSONL], [CSV], or
// Parquet of package sink/items/parquet.
func OpenShards[T any](dir, name string, f Format[T], b Bounds) (*Shards[T], error) {
	if f.Err != nil {
		return nil, f.Err
	}
	if f.Write == nil || f.Cut == nil || f.Suffix == "" || b.Rows < 0 || b.Bytes < 0 || name == "" || name != filepath.Base(name) {
		return nil, fmt.Errorf("items: shards %q in %s: a name without separators, a Format and bounds of 0 or more are needed", name, dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("items: %w", err)
	}
	s := &Shards[T]{dir: dir, name: name, format: f, bounds: Bounds{cmp.Or(b.Rows, 1_000_000), cmp.Or(b.Bytes, 128<<20)}}
	if err := s.scan(); err != nil {
		return nil, s.failed(err)
	}
	next := int64(1)
	for _, x := range append(slices.Clone(s.files), s.open) {
		if x.first != next || len(s.torn) > 0 {
			s.err = fmt.Errorf("items: shards %s were left by a process that was killed: Restore must come first", s.Name())
		}
		next = x.last + 1
	}
	return s, nil
}

// Name implements sink.Sink. It returns the last element of the directory and the name, such as "crawl/products".
func (s *Shards[T]) Name() string { return filepath.Base(s.dir) + "/" + s.name }

// scan finds the files of s in the directory.
func (s *Shards[T]) scan() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	own := regexp.MustCompile("^" + regexp.QuoteMeta(s.name) + `-(\d{12,18})(?:\.open|-(\d{12,18})` + regexp.QuoteMeta(s.format.Suffix) + ")$")
	s.files, s.open, s.torn, s.size = nil, shard{}, nil, 0
	for _, e := range entries {
		m := own.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		x := shard{path: filepath.Join(s.dir, e.Name())}
		x.first, _ = strconv.ParseInt(m[1], 10, 64) // cannot fail: up to 18 digits
		x.last, _ = strconv.ParseInt(m[2], 10, 64)
		if m[2] != "" {
			s.files = append(s.files, x)
			continue
		}
		if s.open.path != "" {
			s.torn = append(s.torn, s.open)
		}
		if s.open, s.size, err = measure(x); err != nil {
			return err
		}
	}
	slices.SortFunc(s.files, func(a, b shard) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last)) })
	if s.open.path == "" {
		s.open = shard{first: s.complete() + 1, last: s.complete()}
	}
	return nil
}

// measure returns x with the last row of an open file, and the bytes of its complete lines.
func measure(x shard) (shard, int64, error) {
	f, err := safefile.Open(x.path)
	if err != nil {
		return x, 0, err
	}
	size := int64(0)
	x.last = x.first - 1
	for row, err := range rowsOf(f) {
		if err != nil {
			break // the rest is a torn line or foreign bytes
		}
		x.last++
		size += int64(len(row)) + 1
	}
	return x, size, f.Close()
}

// complete returns the number of the last row in the complete files.
func (s *Shards[T]) complete() int64 {
	end := int64(0)
	for _, x := range s.files {
		end = max(end, x.last)
	}
	return end
}

func (s *Shards[T]) end() int64 { return max(s.complete(), s.open.last) }

// rowsOf reads rows from JSON lines. The first invalid line ends the sequence with an error.
func rowsOf(r io.Reader) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for lines := bufio.NewReaderSize(r, 256<<10); ; {
			row, err := lines.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(row) == 0 {
				return
			}
			if err == nil && !json.Valid(row) {
				err = errors.New("a line that is not valid JSON")
			}
			if !yield(bytes.TrimSuffix(row, []byte("\n")), err) || err != nil {
				return
			}
		}
	}
}

// Append implements sink.Sink.
func (s *Shards[T]) Append(_ context.Context, r *sink.Record) error {
	if err := s.usable(); err != nil {
		return err
	}
	values, err := decode[T](r)
	if err != nil {
		return err
	}
	rows := make([][]byte, len(values))
	for i := range values {
		if rows[i], err = json.Marshal(values[i]); err != nil {
			return fmt.Errorf("items: %s: result %d: %w", r.URL, i+1, err)
		}
	}
	for _, row := range rows {
		if err := s.add(append(row, '\n')); err != nil {
			return s.failed(err)
		}
	}
	return nil
}

func (s *Shards[T]) usable() error {
	if s.closed {
		return sink.ErrClosed
	}
	return s.err
}

// failed keeps err, unless it is nil, as the error of all later calls.
func (s *Shards[T]) failed(err error) error {
	if err != nil {
		s.err = fmt.Errorf("items: shards %s: %w", s.Name(), err)
	}
	return s.err
}

// add adds a row to the open file. If that file is full, it is completed first.
func (s *Shards[T]) add(row []byte) error {
	n := s.open.last - s.open.first + 1
	if n >= s.bounds.Rows || n > 0 && s.size+int64(len(row)) > s.bounds.Bytes {
		if err := s.finish(); err != nil {
			return err
		}
	}
	if s.f == nil {
		if err := s.reopen(); err != nil {
			return err
		}
	}
	if _, err := s.w.Write(row); err != nil {
		return err
	}
	s.open.last, s.size, s.stale = s.open.last+1, s.size+int64(len(row)), true
	return nil
}

// reopen opens the open file, or creates it, and removes torn bytes at its end.
func (s *Shards[T]) reopen() error {
	s.unnamed = s.open.path == ""
	if s.unnamed {
		s.open.path = filepath.Join(s.dir, fmt.Sprintf("%s-%012d.open", s.name, s.open.first))
	}
	f, err := os.OpenFile(s.open.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if err := f.Truncate(s.size); err != nil {
		return errors.Join(err, f.Close())
	}
	s.changed()
	s.f, s.w = f, bufio.NewWriterSize(s.through(f), 64<<10)
	return nil
}

func (s *Shards[T]) through(w io.Writer) io.Writer {
	if s.disk == nil {
		return w
	}
	return s.disk(w)
}

func (s *Shards[T]) changed() {
	if s.step != nil {
		s.step()
	}
}

// finish makes a complete file from the open one. If the process is killed meanwhile, the open file, the complete one, or both exist.
func (s *Shards[T]) finish() error {
	if s.f == nil {
		if err := s.reopen(); err != nil {
			return err
		}
	}
	if err := s.w.Flush(); err != nil {
		return err
	}
	s.changed()
	done := s.named(s.open.first, s.open.last)
	err := s.write(done.path, func(w io.Writer) error { return s.format.Write(w, rowsOf(io.NewSectionReader(s.f, 0, s.size))) })
	if err != nil {
		return err
	}
	if err := errors.Join(s.f.Close(), os.Remove(s.open.path)); err != nil {
		return err
	}
	s.changed()
	s.files = append(s.files, done)
	s.f, s.w, s.open, s.size, s.stale = nil, nil, shard{first: done.last + 1, last: done.last}, 0, false
	return nil
}

func (s *Shards[T]) named(first, last int64) shard {
	return shard{first, last, filepath.Join(s.dir, fmt.Sprintf("%s-%012d-%012d%s", s.name, first, last, s.format.Suffix))}
}

// write writes a complete file, which appears in one durable step.
func (s *Shards[T]) write(path string, content func(io.Writer) error) error {
	temp := filepath.Join(s.dir, s.name+".tmp")
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	s.changed()
	if err = content(s.through(f)); err == nil {
		err = f.Sync()
	}
	s.changed()
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	s.changed()
	return durable.Dir(s.dir)
}

// Sync implements sink.Sink. The offset is the number of rows.
func (s *Shards[T]) Sync(_ context.Context) (int64, error) {
	if err := s.usable(); err != nil {
		return 0, err
	}
	if s.up != nil {
		s.up.offer(s.files, s.synced) // rows up to synced are committed, because the caller calls Sync again only afterwards
	}
	if !s.stale || s.f == nil {
		s.synced = s.end()
		return s.synced, nil
	}
	err := s.w.Flush()
	s.changed()
	if err == nil {
		err = s.f.Sync()
	}
	if err == nil && s.unnamed {
		err = durable.Dir(s.dir)
	}
	if err != nil {
		return 0, s.failed(err)
	}
	s.unnamed, s.stale, s.synced = false, false, s.end()
	return s.synced, nil
}

// Restore implements sink.Sink. It removes the rows after the offset. A complete file with some of these rows is rewritten without them.
func (s *Shards[T]) Restore(ctx context.Context, offset int64) error {
	if s.closed {
		return sink.ErrClosed
	}
	beyond := func() error {
		if offset >= 0 && offset <= s.end() {
			return nil
		}
		return fmt.Errorf("items: shards %s have %d rows, but %d were committed: another program changed them", s.Name(), s.end(), offset)
	}
	if err := beyond(); err != nil && s.err == nil {
		return err
	}
	if s.f != nil {
		_ = s.f.Close() // errors do not matter: scan reads the file again
		s.f, s.w = nil, nil
	}
	err := s.scan()
	if err == nil && beyond() != nil {
		return beyond()
	}
	if err == nil && s.up != nil {
		err = s.up.remove(ctx, s.files, offset)
	}
	if err == nil {
		err = s.cut(offset)
	}
	if err == nil {
		err = durable.Dir(s.dir)
	}
	if err == nil {
		err = s.scan()
	}
	if err != nil {
		return s.failed(err)
	}
	s.stale, s.err, s.synced = true, nil, offset
	if s.up != nil {
		s.up.offer(s.files, offset)
	}
	return nil
}

// cut removes the rows after offset. It begins with the last rows, so it can be repeated after a kill.
func (s *Shards[T]) cut(offset int64) error {
	if err := os.Remove(filepath.Join(s.dir, s.name+".tmp")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	whole := slices.ContainsFunc(s.files, func(x shard) bool { return x.last == offset })
	kept := int64(math.MaxInt64) // first row of the open file that remains
	for _, x := range append(s.torn, s.open) {
		var err error
		switch {
		case x.path == "":
			continue
		case x.first <= offset && offset <= x.last && !whole && kept > x.first:
			kept, err = x.first, s.cutOpen(x, offset)
		default:
			err = os.Remove(x.path)
		}
		if err != nil {
			return err
		}
		s.changed()
	}
	for _, x := range slices.Backward(s.files) {
		switch {
		case x.last <= offset:
			continue
		case kept > offset && x.first <= offset && !whole:
			if err := s.shorten(x, offset); err != nil {
				return err
			}
		}
		if err := os.Remove(x.path); err != nil {
			return err
		}
		s.changed()
	}
	return nil
}

// cutOpen truncates the open file x after the row offset.
func (s *Shards[T]) cutOpen(x shard, offset int64) error {
	f, err := os.OpenFile(x.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	end, err := endOfLine(f, offset-x.first+1)
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// shorten writes the rows of a complete file up to offset as a new file.
func (s *Shards[T]) shorten(x shard, offset int64) error {
	f, err := safefile.Open(x.path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		err = s.write(s.named(x.first, offset).path, func(w io.Writer) error { return s.format.Cut(w, f, info.Size(), offset-x.first+1) })
	}
	return errors.Join(err, f.Close())
}

// Close implements sink.Sink. It makes a complete file of the rows that are not in one yet.
func (s *Shards[T]) Close(_ context.Context) error {
	if s.closed {
		return nil
	}
	var err error
	if s.err == nil && s.open.last >= s.open.first {
		err = s.finish()
	}
	s.closed = true
	if s.up != nil {
		s.up.stop()
		<-s.up.ended
	}
	if s.f != nil && (s.err != nil || err != nil) {
		err = errors.Join(err, s.f.Close())
	}
	if err != nil {
		return fmt.Errorf("items: shards %s: %w", s.Name(), err)
	}
	return nil
}
