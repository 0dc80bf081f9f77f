package sink_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/sinktest"
)

func csvSuite() sinktest.Suite {
	return sinktest.Suite{
		Open: func(dir string) (sink.Sink, error) {
			s, err := sink.OpenCSV(filepath.Join(dir, "items.csv"))
			if err != nil {
				return nil, err
			}
			return emitting{s}, nil
		},
		Read: func(dir string, _ bool) ([]string, error) {
			b, err := os.ReadFile(filepath.Join(dir, "items.csv"))
			if len(b) == 0 || errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
			switch {
			case err != nil:
				return nil, err
			case b[len(b)-1] != '\n':
				return nil, errors.New("the last row is torn")
			case !slices.Equal(rows[0], []string{"url", "note"}):
				return nil, fmt.Errorf("columns %q", rows[0])
			}
			var urls []string
			for _, row := range rows[1:] {
				if row[1] != "'=1+1\n\"x\",\\u202e" {
					return urls, fmt.Errorf("%q", row)
				}
				urls = append(urls, row[0])
			}
			return urls, nil
		},
		OpenFull: func(dir string, room int) (sink.Sink, error) {
			s, err := sink.OpenCSVFull(filepath.Join(dir, "items.csv"), room)
			return emitting{s}, err
		},
	}
}

func TestCSVKeepsTheContract(t *testing.T) { sinktest.Run(t, csvSuite()) }

func TestKilledWhileItWritesCSV(t *testing.T) { sinktest.RunKilled(t, csvSuite(), kills()) }

// table writes items, one per record, and returns the text.
func table(t *testing.T, columns []string, items ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	s := sink.NewCSV(&out, columns...)
	var failed error
	for _, item := range items {
		err := s.Append(t.Context(), &sink.Record{URL: "http://a.test/", Data: []json.RawMessage{json.RawMessage(item)}})
		failed = errors.Join(failed, err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String(), failed
}

func TestCSVCells(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{`"text"`, "text"}, {`""`, ""}, {`null`, ""}, {`-5`, "-5"}, {`1e3`, "1e3"}, {`true`, "true"},
		{`[1, "a"]`, `"[1,""a""]"`}, {`{"b": 1}`, `"{""b"":1}"`},
		{`"=1+1"`, "'=1+1"}, {`"+1"`, "'+1"}, {`"-1"`, "'-1"}, {`"@x"`, "'@x"}, {`"\tx"`, "'\tx"},
		{`"\r\nx"`, "\"'\nx\""}, {`"＝1"`, "'＝1"}, {`"a=1"`, "a=1"},
		{`"a,\"b\"\nc"`, "\"a,\"\"b\"\"\nc\""}, {`"a\rb"`, "\"a\nb\""},
		{`"\u001b[31m"`, `\u001b[31m`}, {`"\u009b31m"`, `\u009b31m`}, {`"\u202eabc"`, `\u202eabc`}, {`"\u0000"`, `\u0000`},
		{`"\ud800"`, "\ufffd"}, {`"名前"`, "名前"},
	} {
		got, err := table(t, nil, `{"a": `+c.value+`, "b": 1}`)
		if want := "a,b\n" + c.want + ",1\n"; got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", c.value, got, err, want)
		}
	}
}

func TestCSVColumns(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns []string
		items   []string
		want    string
		err     string
	}{
		{"of the first result", nil, []string{`{"b":1,"a":2}`, `{"a":3}`}, "b,a\n1,2\n,3\n", ""},
		{"chosen", []string{"a", "c"}, []string{`{"b":1,"a":2}`, `{"c":3}`}, "a,c\n2,\n,3\n", ""},
		{"twice the same", nil, []string{`{"a":1,"a":2}`}, "a\n2\n", ""},
		{"nothing but an empty cell", nil, []string{`{"a":""}`, `{"a":1}`}, "a\n\"\"\n1\n", ""},
		{"a formula", nil, []string{`{"=a":1}`, `{"=a":2}`}, "'=a\n1\n2\n", ""},
		{"a new field", nil, []string{`{"a":1}`, `{"a":2,"b":3}`, `{"a":4}`}, "a\n1\n4\n", `http://a.test/: result 1: the field "b" is not one of the columns "a"`},
		{"no object", nil, []string{`"text"`, `[1]`}, "", "only an object has columns"},
		{"no fields", nil, []string{`{}`}, "", "an object without fields"},
		{"not JSON", nil, []string{`{"a":1`, `{"a" 1}`, ``, `{"a":}`}, "", "not valid JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := table(t, c.columns, c.items...)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q, %v\nwant %q, %s", got, err, c.want, c.err)
			}
		})
	}
}

// TestCSVFormulaColumnReopened checks that an existing header with an escaped column name is recognized.
func TestCSVFormulaColumnReopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv")
	for range 2 {
		s, err := sink.OpenCSV(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), &sink.Record{Data: []json.RawMessage{json.RawMessage(`{"=a":1}`)}}); err != nil {
			t.Error(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "'=a\n1\n1\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestCSVOtherColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sink.OpenCSV(path, "a", "c")
	if err == nil || !strings.Contains(err.Error(), `has the columns "a", "b", not "a", "c"`) {
		t.Errorf("%v", err)
	}
}

func TestCSVReopenedWithColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv")
	r := &sink.Record{Data: []json.RawMessage{json.RawMessage(`{"a":1,"b":2}`)}}
	for range 2 {
		s, err := sink.OpenCSV(path, "b", "=c")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Append(t.Context(), r), s.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "b,'=c\n2,\n2,\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestCSVTornHeader checks that if a kill left only a part of the header, rows are refused until Restore is called.
func TestCSVTornHeader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(path, []byte("a,b"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sink.OpenCSV(path)
	if err != nil {
		t.Fatal(err)
	}
	r := &sink.Record{Data: []json.RawMessage{json.RawMessage(`{"a":1}`)}}
	if err := s.Append(t.Context(), r); err == nil || !strings.Contains(err.Error(), "torn") {
		t.Errorf("Append: %v", err)
	}
	if err := errors.Join(s.Restore(t.Context(), 0), s.Append(t.Context(), r), s.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "a\n1\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func ExampleNewCSV() {
	s := sink.NewCSV(os.Stdout, "title", "price") // one of a crawler's sinks
	for _, item := range []string{`{"title": "Lamps", "price": 9.5}`, `{"title": "=HYPERLINK(…)", "stock": 3}`} {
		if err := s.Append(context.Background(), &sink.Record{URL: "http://shop.test/", Data: []json.RawMessage{json.RawMessage(item)}}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// title,price
	// Lamps,9.5
	// '=HYPERLINK(…),
}
