package sink_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/sink"
)

// Table is a sink of one's own: a text file with the status and the URL of each page.
type Table struct {
	f      *os.File
	w      io.Writer // f, but in tests of a full disk
	lines  []byte    // appended, not written yet
	size   int64     // of the file
	err    error     // of a write: what is behind the last Sync may be torn
	closed bool
}

// OpenTable goes on behind what is in the file.
func OpenTable(path string) (*Table, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Table{f: f, w: f, size: size}, nil
}

// Name tells this sink's offsets from those of the crawl's other sinks.
func (t *Table) Name() string { return "table" }

// Append copies what it needs: the record is the caller's again when it returns.
func (t *Table) Append(_ context.Context, r *sink.Record) error {
	if err := t.usable(); err != nil {
		return err
	}
	t.lines = fmt.Appendf(t.lines, "%d\t%q\n", r.Status, r.URL)
	return nil
}

func (t *Table) usable() error {
	if t.closed {
		return sink.ErrClosed
	}
	return t.err
}

// Sync writes what was appended, forces it out and says how long the file is. After an error it fails
// until Restore: nobody knows what of the lines is in the file.
func (t *Table) Sync() (int64, error) {
	if err := t.usable(); err != nil {
		return 0, err
	}
	n, err := t.w.Write(t.lines)
	t.size, t.lines = t.size+int64(n), t.lines[:0]
	if err == nil {
		err = t.f.Sync()
	}
	t.err = err
	return t.size, err
}

// Restore cuts the file, and forgets what was appended and not written.
func (t *Table) Restore(offset int64) error {
	if t.closed {
		return sink.ErrClosed
	}
	if offset < 0 || offset > t.size {
		return fmt.Errorf("table: %d is not an offset of a file of %d octets", offset, t.size)
	}
	if err := t.f.Truncate(offset); err != nil {
		return err
	}
	t.size, t.lines, t.err = offset, t.lines[:0], nil
	return nil
}

// Close syncs, unless something is wrong already.
func (t *Table) Close() error {
	if t.closed {
		return nil
	}
	var err error
	if t.err == nil {
		_, err = t.Sync()
	}
	t.closed = true
	return errors.Join(err, t.f.Close())
}

// A sink of one's own. Its test is a call of sinktest.Run.
func Example_ownSink() {
	dir, err := os.MkdirTemp("", "table")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "table.txt")
	ctx := context.Background()

	var out sink.Sink // as it stands in crawler.Config.Sinks
	out, _ = OpenTable(path)
	_ = out.Append(ctx, &sink.Record{URL: "http://example.org/", Status: 200})
	committed, _ := out.Sync() // the crawl's frontier keeps the offset
	_ = out.Append(ctx, &sink.Record{URL: "http://example.org/lost", Status: 200})
	_, _ = out.Sync() // the process is killed before the frontier keeps this one

	out, _ = OpenTable(path)
	if err := out.Restore(committed); err != nil {
		fmt.Println(err)
	}
	_ = out.Append(ctx, &sink.Record{URL: "http://example.org/again", Status: 404})
	if err := out.Close(); err != nil {
		fmt.Println(err)
	}
	text, _ := os.ReadFile(path)
	fmt.Printf("%s", text)
	// Output:
	// 200	"http://example.org/"
	// 404	"http://example.org/again"
}
