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
	"syscall"
	"testing"
	"time"
)

// readLines reads a file of visits back: the URL of each line.
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

// narrow is a file on a disk with room for so many octets more.
type narrow struct {
	file
	room int
}

func (n *narrow) Write(p []byte) (int, error) {
	m, err := n.file.Write(p[:min(len(p), n.room)])
	if n.room -= m; err == nil && m < len(p) {
		err = &os.PathError{Op: "write", Path: "visits.jsonl", Err: syscall.ENOSPC}
	}
	return m, err
}

// OpenFull opens a JSONL on a disk with room for so many octets more.
func OpenFull(path string, room int) (*JSONL, error) {
	j, err := OpenJSONL(path)
	if err != nil {
		return nil, err
	}
	n := &narrow{j.f, room}
	j.f, j.w = n, n
	return j, nil
}

// ReadLines is for the conformance test.
var ReadLines = readLines

// pieces counts writes and can break them.
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
	if offset, err := j.Sync(); err != nil || offset != int64(len(out.writes[0])+len(out.writes[1])+len(out.writes[2])) {
		t.Errorf("Sync %d, %v", offset, err)
	}
	if err := j.Restore(0); !errors.Is(err, ErrNotCuttable) {
		t.Errorf("Restore: %v", err)
	}
	if err := j.Close(); err != nil {
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
	if _, err := j.Sync(); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Sync: %v, want EPIPE", err)
	}
	if err := j.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestNamesOfOutputs(t *testing.T) {
	j, err := OpenJSONL(filepath.Join(t.TempDir(), "pages.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for want, n := range map[string]Named{"pages.jsonl": j, "stdout": NewJSONL(io.Discard)} {
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

// A record that cannot be written down says nothing about the output.
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

// After an error the output can be cut back and gone on with, when there is room again.
func TestRestoreClearsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "visits.jsonl")
	j, err := OpenFull(path, 600)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append(t.Context(), page()); err != nil {
		t.Fatal(err)
	}
	offset, err := j.Sync()
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append(t.Context(), page()); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := j.Restore(offset + 100); err == nil {
		t.Error("Restore to what was never written")
	}
	j.f.(*narrow).room = 10_000
	if err := j.Append(t.Context(), page()); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Append behind a torn line: %v", err)
	}
	if err := errors.Join(j.Restore(offset), j.Append(t.Context(), page()), j.Close()); err != nil {
		t.Fatal(err)
	}
	if urls, err := readLines(path); len(urls) != 2 || err != nil {
		t.Errorf("%v, %v", urls, err)
	}
}

func TestLongLinesAreNotKept(t *testing.T) {
	j := NewJSONL(new(pieces))
	long := page()
	long.Title = string(bytes.Repeat([]byte("long"), keepLine))
	if err := errors.Join(j.Append(t.Context(), long), j.Append(t.Context(), page())); err != nil || cap(j.line) > keepLine {
		t.Errorf("%d octets are kept, %v", cap(j.line), err)
	}
}

func TestOpenWhereNoFileCanBe(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none", "visits.jsonl")} {
		if _, err := OpenJSONL(path); err == nil {
			t.Errorf("%s opens", path)
		}
	}
}
