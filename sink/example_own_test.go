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

// Table is a custom sink: a text file with the status and the URL of each page.
type Table struct {
	sink.Base // accepts records only

	f      *os.File
	w      io.Writer // destination of writes: f, except in tests of a full disk
	lines  []byte    // not yet written
	size   int64     // size of the file
	err    error     // write error: the file may be torn after the last Sync
	closed bool
}

// OpenTable opens the file at path for appending, and creates it if it does not exist.
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

// Name distinguishes the offsets of this sink from those of the crawl's other sinks.
func (t *Table) Name() string { return "table" }

// Append copies what it needs: after it returns, the record belongs to the caller.
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

// Sync writes and syncs the pending lines and returns the file's length. After an error, it is unknown which lines are
// in the file, so Sync fails until Restore.
func (t *Table) Sync(_ context.Context) (int64, error) {
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

// Restore truncates the file and discards the pending lines.
func (t *Table) Restore(_ context.Context, offset int64) error {
	if t.closed {
		return sink.ErrClosed
	}
	if offset < 0 || offset > t.size {
		return fmt.Errorf("table: %d is not an offset of a file of %d bytes", offset, t.size)
	}
	if err := t.f.Truncate(offset); err != nil {
		return err
	}
	t.size, t.lines, t.err = offset, t.lines[:0], nil
	return nil
}

// Close calls Sync unless an earlier call failed.
func (t *Table) Close(ctx context.Context) error {
	if t.closed {
		return nil
	}
	var err error
	if t.err == nil {
		_, err = t.Sync(ctx)
	}
	t.closed = true
	return errors.Join(err, t.f.Close())
}

// A custom sink. To test it, call sinktest.Run.
func Example_ownSink() {
	dir, err := os.MkdirTemp("", "table")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "table.txt")
	ctx := context.Background()

	var out sink.Sink // as in crawler.Config.Sinks
	out, _ = OpenTable(path)
	_ = out.Append(ctx, &sink.Record{URL: "http://example.org/", Status: 200})
	committed, _ := out.Sync(ctx) // the crawl's frontier stores the offset
	_ = out.Append(ctx, &sink.Record{URL: "http://example.org/lost", Status: 200})
	_, _ = out.Sync(ctx) // the process is killed before the frontier stores this one

	out, _ = OpenTable(path)
	if err := out.Restore(ctx, committed); err != nil {
		fmt.Println(err)
	}
	_ = out.Append(ctx, &sink.Record{URL: "http://example.org/again", Status: 404})
	if err := out.Close(ctx); err != nil {
		fmt.Println(err)
	}
	text, _ := os.ReadFile(path)
	fmt.Printf("%s", text)
	// Output:
	// 200	"http://example.org/"
	// 404	"http://example.org/again"
}
