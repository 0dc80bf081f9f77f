package items_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	library "github.com/parquet-go/parquet-go"

	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/items"
	"github.com/amble-crawler/amble/sink/items/parquet"
	"github.com/amble-crawler/amble/sink/sinktest"
)

type page struct {
	URL   string   `json:"url" db:"url"`
	Depth int      `json:"depth"`
	Price *float64 `json:"price,omitempty"`
}

// emitting is a sink that adds one result to each record before it passes the record on, and closes other resources at the end.
type emitting struct {
	sink.Sink

	also io.Closer
}

func (e emitting) Append(ctx context.Context, r *sink.Record) error {
	with := *r
	b, err := json.Marshal(page{URL: r.URL, Depth: r.Depth})
	if err != nil {
		return err
	}
	with.Data = []json.RawMessage{b}
	return e.Sink.Append(ctx, &with)
}

func (e emitting) Close(ctx context.Context) error {
	err := e.Sink.Close(ctx)
	if e.also != nil {
		_ = e.also.Close()
	}
	return err
}

// format represents a file format: functions that write it, and an independent reader for it.
type format struct {
	items.Format[page]
	read func(path string) ([]string, error)
}

func formats() map[string]format {
	return map[string]format{
		"jsonl":   {items.JSONL[page](), readLines},
		"csv":     {items.CSV[page](), readCSV},
		"parquet": {parquet.Format[page](), readParquet},
	}
}

func readLines(path string) (urls []string, err error) {
	b, err := os.ReadFile(path)
	for line := range strings.Lines(string(b)) {
		var p page
		if err := json.Unmarshal([]byte(line), &p); err != nil || !strings.HasSuffix(line, "\n") {
			return urls, fmt.Errorf("%q: %w", line, err)
		}
		urls = append(urls, p.URL)
	}
	return urls, err
}

func readCSV(path string) (urls []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	for i, row := range rows {
		if i == 0 && strings.Join(row, " ") != "url depth price" {
			return nil, fmt.Errorf("columns %q", row)
		} else if i > 0 {
			urls = append(urls, row[0])
		}
	}
	return urls, err
}

func readParquet(path string) (urls []string, err error) {
	type row struct {
		URL   string   `parquet:"url"`
		Depth int64    `parquet:"depth"`
		Price *float64 `parquet:"price,optional"`
	}
	rows, err := library.ReadFile[row](path)
	for _, r := range rows {
		urls = append(urls, r.URL)
	}
	return urls, err
}

// readShards reads the results in the complete files and in the open file. It checks that the names of files match their contents.
func readShards(dir string, closed bool, f format) (urls []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() == "pages.sha256" || e.Name() == "store" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		var first, last int
		if n, _ := fmt.Sscanf(e.Name(), "pages-%d-%d"+f.Suffix, &first, &last); n == 2 {
			more, err := f.read(path)
			if err != nil || first != len(urls)+1 || last-first+1 != len(more) {
				return urls, fmt.Errorf("%s, with %d rows after %d: %w", e.Name(), len(more), len(urls), err)
			}
			urls = append(urls, more...)
			continue
		}
		if n, _ := fmt.Sscanf(e.Name(), "pages-%d.open", &first); n != 1 || closed || first != len(urls)+1 {
			return urls, fmt.Errorf("%s, after %d rows; closed: %v", e.Name(), len(urls), closed)
		}
		more, err := readLines(path)
		if err != nil {
			return urls, err
		}
		urls = append(urls, more...)
	}
	return urls, nil
}

// small is a disk with a limited number of bytes left.
type small struct {
	io.Writer
	room *int
}

func (s small) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p[:min(len(p), *s.room)])
	if *s.room -= n; err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

func shardSuite(f format, rows int64) sinktest.Suite {
	open := func(dir string) (*items.Shards[page], error) {
		return items.OpenShards(dir, "pages", f.Format, items.Bounds{Rows: rows})
	}
	return sinktest.Suite{
		Open: func(dir string) (sink.Sink, error) {
			s, err := open(dir)
			return emitting{Sink: s}, err
		},
		Read: func(dir string, closed bool) ([]string, error) { return readShards(dir, closed, f) },
		OpenFull: func(dir string, room int) (sink.Sink, error) {
			s, err := open(dir)
			if err == nil {
				s.OnStep(nil, func(w io.Writer) io.Writer { return small{w, &room} })
			}
			return emitting{Sink: s}, err
		},
		Runs:    20,
		InPlace: true, // complete files are created in one step: see TestShardsOutliveKillsAtEachStep
	}
}

func TestShardsKeepContractOfSinks(t *testing.T) {
	for name, f := range formats() {
		t.Run(name, func(t *testing.T) { sinktest.Run(t, shardSuite(f, 3)) })
	}
}

func TestShardsOutliveKilledProcesses(t *testing.T) {
	for name, f := range formats() {
		t.Run(name, func(t *testing.T) { sinktest.RunKilled(t, shardSuite(f, 3), long.Seeds(2, 8)) })
	}
}

// A process is killed after each change of the directory. From each state of the directory, the next process restores each offset that may
// have been committed, and is itself killed after each change.
func TestShardsOutliveKillsAtEachStep(t *testing.T) {
	for name, f := range formats() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := items.OpenShards(dir, "pages", f.Format, items.Bounds{Rows: 3})
			if err != nil {
				t.Fatal(err)
			}
			committed, left := int64(0), map[string]int64{} // copies of the directory, with the offset committed at that time
			s.OnStep(func() { left[copied(t, dir)] = committed }, nil)
			e := emitting{Sink: s}
			for n := range 8 {
				if err := e.Append(t.Context(), &sink.Record{URL: fmt.Sprint(n + 1), Depth: n}); err != nil {
					t.Fatal(err)
				}
				if n%2 == 1 {
					if committed, err = s.Sync(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			left[dir] = committed
			if len(left) < 15 {
				t.Fatalf("%d steps", len(left))
			}
			for dir, committed := range left {
				for offset := range committed + 1 {
					for again := range restored(t, copied(t, dir), f, offset) {
						restored(t, again, f, offset)
					}
				}
			}
		})
	}
}

// restored restores a directory, adds two rows and checks everything. It returns the states in which kills meanwhile would have left the
// directory.
func restored(t *testing.T, dir string, f format, offset int64) map[string]bool {
	t.Helper()
	s, err := items.OpenShards(dir, "pages", f.Format, items.Bounds{Rows: 3})
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	s.OnStep(func() { left[copied(t, dir)] = true }, nil)
	if err := s.Restore(t.Context(), offset); err != nil {
		t.Fatal(err)
	}
	s.OnStep(nil, nil)
	e := emitting{Sink: s}
	var want []string
	for n := range int(offset) + 2 {
		want = append(want, fmt.Sprint(n+1))
		if n >= int(offset) {
			if err := e.Append(t.Context(), &sink.Record{URL: fmt.Sprint(n + 1), Depth: n}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := readShards(dir, true, f); err != nil || !slices.Equal(got, want) {
		t.Fatalf("restored to %d: %v, %q", offset, err, got)
	}
	return left
}

// copied returns a copy of a directory.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestResultOfAnotherTypeIsRefusedAndChangesNothing(t *testing.T) {
	dir := t.TempDir()
	s, err := items.OpenShards(dir, "pages", items.JSONL[page](), items.Bounds{Bytes: 60})
	if err != nil {
		t.Fatal(err)
	}
	good := json.RawMessage(`{"url":"a","depth":1}`)
	for _, bad := range []string{`{"url":1}`, `{"other":1}`, `{`, `[]`} {
		err := s.Append(t.Context(), &sink.Record{URL: "http://a.test/", Data: []json.RawMessage{good, json.RawMessage(bad)}})
		if err == nil || !strings.Contains(err.Error(), "http://a.test/: result 2 is not a items_test.page") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for range 5 {
		if err := s.Append(t.Context(), &sink.Record{Data: []json.RawMessage{good}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, _ := os.ReadDir(dir)
	urls, err := readShards(dir, true, formats()["jsonl"])
	if len(urls) != 5 || err != nil || len(files) != 3 { // two rows have 44 bytes
		t.Errorf("%q, %v, %v", urls, err, files)
	}
}

// A complete file is durable before its open file is removed. After a power failure, the open file may exist again with other rows; it does
// not count then. Until Restore has settled this, no row may be added.
func TestCompleteFileCountsAfterFailureOfPower(t *testing.T) {
	dir := t.TempDir()
	f := formats()["jsonl"]
	for name, url := range map[string]string{"pages-000000000001-000000000003.jsonl": "good", "pages-000000000001.open": "stale"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat(`{"url":"`+url+`","depth":1}`+"\n", 3)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := items.OpenShards(dir, "pages", f.Format, items.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), &sink.Record{}); err == nil || !strings.Contains(err.Error(), "Restore must come first") {
		t.Error(err)
	}
	if err := errors.Join(s.Restore(t.Context(), 3), s.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got, err := readShards(dir, true, f); err != nil || !slices.Equal(got, []string{"good", "good", "good"}) {
		t.Error(got, err)
	}
}
