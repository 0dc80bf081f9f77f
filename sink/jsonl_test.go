package sink

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// readLines returns the URL of each line of a file of visits.
func readLines(path string) ([]string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var urls []string
	for in := bufio.NewReader(f); ; {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return urls, nil
		}
		if err != nil {
			return urls, fmt.Errorf("the last line is torn: %.40q", line)
		}
		var r Record
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&r); err != nil {
			return urls, err
		}
		urls = append(urls, r.URL)
	}
}

// narrow is a file on a disk with a limited number of bytes left.
type narrow struct {
	File
	room int
}

func (n *narrow) Write(p []byte) (int, error) {
	m, err := n.File.Write(p[:min(len(p), n.room)])
	if n.room -= m; err == nil && m < len(p) {
		err = &os.PathError{Op: "write", Path: "visits.jsonl", Err: syscall.ENOSPC}
	}
	return m, err
}

// OpenFull opens a JSONL file on a disk with room more bytes left.
func OpenFull(path string, room int) (*JSONL, error) {
	j, err := OpenJSONL(path)
	if err != nil {
		return nil, err
	}
	n := &narrow{j.f, room}
	j.f, j.w = n, n
	return j, nil
}

// ReadLines exports readLines for the conformance test.
var ReadLines = readLines

// pieces is a writer that counts writes and can make them fail.
type pieces struct {
	writes []string
	short  bool
	err    error
}

func (p *pieces) Write(b []byte) (int, error) {
	p.writes = append(p.writes, string(b))
	if p.short {
		return len(b) - 1, p.err
	}
	return len(b), p.err
}

func TestEachRecordIsOneWrite(t *testing.T) {
	out := new(pieces)
	j := NewJSONL(out)
	for i := range 3 {
		r := page()
		r.Title = string(bytes.Repeat([]byte("long"), i*50_000))
		if err := j.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if len(out.writes) != i+1 || out.writes[i][len(out.writes[i])-1] != '\n' {
			t.Fatalf("%d writes after %d records", len(out.writes), i+1)
		}
	}
	if offset, err := j.Sync(t.Context()); err != nil || offset != int64(len(out.writes[0])+len(out.writes[1])+len(out.writes[2])) {
		t.Errorf("Sync %d, %v", offset, err)
	}
	if err := j.Restore(t.Context(), 0); !errors.Is(err, ErrNotCuttable) {
		t.Errorf("Restore: %v", err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestBrokenPipeIsEPIPE(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	j := NewJSONL(w)
	if err := j.Append(t.Context(), page()); err != nil {
		t.Fatal(err)
	}
	r.Close()
	for range 2 {
		if err := j.Append(t.Context(), page()); !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("%v, want EPIPE", err)
		}
	}
	if _, err := j.Sync(t.Context()); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Sync: %v, want EPIPE", err)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestNamesOfOutputs(t *testing.T) {
	j, err := OpenJSONL(filepath.Join(t.TempDir(), "pages.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(t.Context())
	for want, n := range map[string]Sink{"pages.jsonl": j, "stdout": NewJSONL(io.Discard)} {
		if got := n.Name(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestShortWriteIsAnError(t *testing.T) {
	j := NewJSONL(&pieces{short: true})
	if err := j.Append(t.Context(), page()); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}

// After a record that cannot be encoded, the output still accepts other records.
func TestBadRecordLeavesTheOutput(t *testing.T) {
	out := new(pieces)
	j := NewJSONL(out)
	bad := page()
	bad.Ended = time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := j.Append(t.Context(), bad); !errors.Is(err, errYear) || len(out.writes) != 0 {
		t.Fatalf("%v, %d writes", err, len(out.writes))
	}
	if err := j.Append(t.Context(), page()); err != nil {
		t.Error(err)
	}
}

// If a write has failed because the disk was full, the output can be restored and used again once there is space.
func TestRestoreClearsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "visits.jsonl")
	j, err := OpenFull(path, 600)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append(t.Context(), page()); err != nil {
		t.Fatal(err)
	}
	offset, err := j.Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append(t.Context(), page()); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Sync(t.Context()); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := j.Restore(t.Context(), offset+100); err == nil {
		t.Error("Restore accepts an offset that was never written")
	}
	j.f.(*narrow).room = 10_000
	if err := j.Append(t.Context(), page()); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Append behind a torn line: %v", err)
	}
	if err := errors.Join(j.Restore(t.Context(), offset), j.Append(t.Context(), page()), j.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if urls, err := readLines(path); len(urls) != 2 || err != nil {
		t.Errorf("%v, %v", urls, err)
	}
}

func TestLongLinesAreNotKept(t *testing.T) {
	j := NewJSONL(new(pieces))
	long := page()
	long.Title = string(bytes.Repeat([]byte("long"), keepLines))
	if err := errors.Join(j.Append(t.Context(), long), j.Append(t.Context(), page())); err != nil || cap(j.lines) > keepLines {
		t.Errorf("%d bytes are kept, %v", cap(j.lines), err)
	}
}

// noting is a file that records its method calls.
type noting struct {
	File
	calls []string
}

func (n *noting) Write(p []byte) (int, error) {
	n.calls = append(n.calls, "write")
	return n.File.Write(p)
}

func (n *noting) Sync() error {
	n.calls = append(n.calls, "sync")
	return n.File.Sync()
}

func (n *noting) done() string {
	s := strings.Join(n.calls, " ")
	n.calls = nil
	return s
}

func openNoting(t *testing.T) (*JSONL, *noting) {
	t.Helper()
	j, err := OpenJSONL(filepath.Join(t.TempDir(), "visits.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	n := &noting{File: j.f}
	j.f, j.w = n, n
	return j, n
}

// The lines since the last Sync are written to the file together, in one write.
func TestFileHoldsLinesUntilSync(t *testing.T) {
	j, f := openNoting(t)
	for i := range 5 {
		for range i {
			if err := j.Append(t.Context(), page()); err != nil {
				t.Fatal(err)
			}
		}
		if got := f.done(); got != "" {
			t.Errorf("%d records: %s before Sync", i, got)
		}
		want := "write sync"
		if i == 0 {
			want = "sync" // also syncs what an earlier run has written
		}
		if _, err := j.Sync(t.Context()); err != nil || f.done() != want {
			t.Errorf("%d records: want %s, %v", i, want, err)
		}
	}
	if _, err := j.Sync(t.Context()); err != nil || f.done() != "" {
		t.Errorf("a Sync of nothing: %v", err)
	}
	if err := errors.Join(j.Append(t.Context(), page()), j.Close(t.Context())); err != nil || f.done() != "write sync" {
		t.Errorf("Close: %v", err)
	}
	if urls, err := readLines(j.path); len(urls) != 11 || err != nil {
		t.Errorf("%d lines, %v", len(urls), err)
	}
}

func TestFileHoldsLittle(t *testing.T) {
	j, f := openNoting(t)
	defer j.Close(t.Context())
	for len(f.calls) == 0 {
		if len(j.lines) >= holdLines {
			t.Fatalf("%d bytes are pending", len(j.lines))
		}
		if err := j.Append(t.Context(), page()); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(j.path); err != nil || info.Size() < holdLines || len(j.lines) > 0 {
		t.Errorf("%v, %d bytes held back, %v", info.Size(), len(j.lines), err)
	}
}

func TestCutIsSynced(t *testing.T) {
	j, f := openNoting(t)
	defer j.Close(t.Context())
	if _, err := j.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.done()
	if err := j.Restore(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Sync(t.Context()); err != nil || f.done() != "sync" {
		t.Errorf("a Sync after Restore does nothing, %v", err)
	}
}

// In a slow crawl, lines are written to the file after about a second even without a Sync, so that a user can follow them.
func TestFileHoldsLinesForASecond(t *testing.T) {
	j, f := openNoting(t)
	defer j.Close(t.Context())
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{0, ""}, {900 * time.Millisecond, ""}, {time.Second, "write"}, {1900 * time.Millisecond, ""}, {2 * time.Second, ""}, {2900 * time.Millisecond, "write"}, {time.Hour, ""}, {0, ""}} {
		r := page()
		r.Ended = r.Ended.Add(c.after)
		if err := j.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if got := f.done(); got != c.want {
			t.Errorf("a record after %v: %q, want %q", c.after, got, c.want)
		}
	}
}

// Restore discards lines that were never synced. It cannot restore to an offset within these lines.
func TestRestoreDropsHeldLines(t *testing.T) {
	j, _ := openNoting(t)
	offset := int64(0)
	for range 2 {
		if err := j.Append(t.Context(), page()); err != nil {
			t.Fatal(err)
		}
		if err := j.Restore(t.Context(), offset+int64(len(j.lines))); err == nil {
			t.Error("Restore accepts an offset that was not written")
		}
		var err error
		if offset, err = j.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.Append(t.Context(), page()), j.Restore(t.Context(), offset), j.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if urls, err := readLines(j.path); len(urls) != 2 || err != nil {
		t.Errorf("%d lines, %v", len(urls), err)
	}
}

// A record that cannot be encoded does not affect earlier lines that are not yet written.
func TestBadRecordLeavesHeldLines(t *testing.T) {
	j, _ := openNoting(t)
	bad := page()
	bad.Ended = time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, r := range []*Record{page(), bad, page(), bad} {
		if err := j.Append(t.Context(), r); (err != nil) != (r == bad) {
			t.Fatal(err)
		}
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if urls, err := readLines(j.path); len(urls) != 2 || err != nil {
		t.Errorf("%d lines, %v", len(urls), err)
	}
}

func TestOpenFailsWithoutAFile(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none", "visits.jsonl")} {
		if _, err := OpenJSONL(path); err == nil {
			t.Errorf("%s opens", path)
		}
	}
}
