package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/sinktest"
	"github.com/amble-crawler/amble/sink/sqlite"
)

const file = "items.db"

// emitting is a sink of results that adds one result to each record, which contains its URL.
type emitting struct{ sink.Sink }

func (e emitting) Append(ctx context.Context, r *sink.Record) error {
	with := *r
	item, err := json.Marshal(map[string]any{"url": r.URL, "note": strings.Repeat("x", 3000)})
	if err != nil {
		return err
	}
	with.Data = []json.RawMessage{item}
	return e.Sink.Append(ctx, &with)
}

func suite() sinktest.Suite {
	open := func(dir string) (sink.Sink, error) {
		s, err := sqlite.Open(filepath.Join(dir, file), "items")
		if err != nil {
			return nil, err
		}
		return emitting{s}, nil
	}
	return sinktest.Suite{
		Open: open,
		Read: func(dir string, _ bool) ([]string, error) {
			if _, err := os.Stat(filepath.Join(dir, file)); errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			return pages(filepath.Join(dir, file))
		},
		OpenFull: func(dir string, room int) (sink.Sink, error) {
			s, err := sqlite.OpenFull(filepath.Join(dir, file), "items", room)
			return emitting{s}, err
		},
		Runs:    20,
		InPlace: true,
	}
}

// pages returns the _page column of each row.
func pages(path string) (urls []string, err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var tables int
	if err := db.QueryRow("SELECT count(*) FROM sqlite_master WHERE name = 'items'").Scan(&tables); err != nil || tables == 0 {
		return nil, err
	}
	rows, err := db.Query("SELECT * FROM items ORDER BY _id")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for n := 1; rows.Next(); n++ {
		var id int
		var page, note, url string
		if err := rows.Scan(&id, &page, &note, &url); err != nil {
			return urls, err
		}
		if id != n || page != url || len(note) != 3000 {
			return urls, fmt.Errorf("row %d is %d, %s, %s", n, id, page, url)
		}
		urls = append(urls, page)
	}
	return urls, rows.Err()
}

func TestContract(t *testing.T) { sinktest.Run(t, suite()) }

func TestKilledWhileItWrites(t *testing.T) {
	kills := long.Seeds(4, 12)
	if testing.Short() {
		kills = min(kills, 3)
	}
	sinktest.RunKilled(t, suite(), kills)
}

func record(items ...string) *sink.Record {
	r := &sink.Record{URL: "http://a.test/"}
	for _, item := range items {
		r.Data = append(r.Data, json.RawMessage(item))
	}
	return r
}

func TestValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := sqlite.Open(path, `a "table"`)
	if err != nil {
		t.Fatal(err)
	}
	if s.Name() != `x.db#a "table"` {
		t.Errorf("Name: %s", s.Name())
	}
	err = errors.Join(
		s.Append(t.Context(), record(`{"n": 7, "f": 1.5, "s": "it's", "b": true, "z": null}`, `{}`)),
		s.Append(t.Context(), record()),
		s.Append(t.Context(), record(`{"b": false, "list": [1, 2], "o": {"k": "v"}, "big": 1234567890123456789012, "huge": 1e999}`, `"text"`, `5`)),
		s.Close(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT format('%d %s %s %s %s %s %s %s %s %s %s %s', _id, _page, n, typeof(n), f, s, b, z, list, o->>'k', big, huge) || coalesce(value, '-') FROM "a ""table"""`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		got = append(got, line)
	}
	want := []string{
		"1 http://a.test/ 7 integer 1.5 it's 1     -",
		"2 http://a.test/  null        -",
		"3 http://a.test/  null   0  [1,2] v 1.2345678901234568e+21 1e999-",
		"4 http://a.test/  null        text",
		"5 http://a.test/  null        5",
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestRefused checks that a result that cannot be stored as a row causes an error and no other change, and that the next result is
// accepted.
func TestRefused(t *testing.T) {
	many := make([]string, 1200)
	for i := range many {
		many[i] = fmt.Sprintf(`"f%d":1`, i)
	}
	for item, want := range map[string]string{
		`{`:                                 "not valid JSON",
		``:                                  "not valid JSON",
		`{"a":}`:                            "not valid JSON",
		`{"_id":1}`:                         "names that begin with _ are the sink's",
		`{"":1}`:                            "a field cannot be named",
		`{"url":1,"URL":2}`:                 `"url" and "URL" are one column`,
		`{"Url":1,"uRL":2}`:                 "are one column",
		`{"a\u0000b":1}`:                    "a field cannot be named",
		"{" + strings.Join(many, ",") + "}": "more than 1000 different fields",
	} {
		path := filepath.Join(t.TempDir(), file)
		s, err := sqlite.Open(path, "items")
		if err != nil {
			t.Fatal(err)
		}
		good := record(`{"note":"` + strings.Repeat("x", 3000) + `","url":"http://a.test/"}`)
		if err := s.Append(t.Context(), good); err != nil {
			t.Fatal(err)
		}
		err = s.Append(t.Context(), record(string(good.Data[0]), item))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "http://a.test/: result 2") {
			t.Errorf("%.40s: %v", item, err)
		}
		if err := errors.Join(s.Append(t.Context(), good), s.Close(t.Context())); err != nil {
			t.Error(err)
		}
		if urls, err := pages(path); len(urls) != 2 || err != nil {
			t.Errorf("%.40s: %v, %v", item, urls, err)
		}
	}
}

func TestOpenRefused(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is not a database. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, table, want string }{
		{text, "items", "text.db: not a SQLite database"},
		{filepath.Join(dir, "x.db"), "", "a table needs a name"},
		{filepath.Join(dir, "none", "x.db"), "items", "no such file or directory"},
	} {
		if _, err := sqlite.Open(c.path, c.table); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.path, err)
		}
	}
}

// TestReadMeanwhile checks that processes that read the database while it is written see only complete commits.
func TestReadMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), file)
	s, err := sqlite.Open(path, "items")
	if err != nil {
		t.Fatal(err)
	}
	e := emitting{s}
	for n := range 3 {
		if err := errors.Join(e.Append(t.Context(), record()), e.Append(t.Context(), record())); err != nil {
			t.Fatal(err)
		}
		if urls, err := pages(path); len(urls) != 2*n || err != nil {
			t.Errorf("before the commit: %v, %v", urls, err)
		}
		if _, err := s.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
