package sink

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/internal/safefile"
)

// CSV writes the results of a crawl as a table (RFC 4180, with line feeds): a row for each element of [Record].Data, which must be
// a JSON object, after a row with the names of the columns. It is not safe for concurrent use.
//
// Strings are written unchanged, numbers and booleans as in JSON, null and missing fields as empty cells, arrays and objects as
// JSON. Text comes from web sites, and spreadsheets execute some of it: a string that begins with =, +, -, @, a tab or a line end,
// or with a full-width form of these signs, gets an apostrophe in front (OWASP, "CSV Injection"). Control characters, and
// characters that hide or reorder text, are written as \u and four digits.
type CSV struct {
	Base

	out     *JSONL
	columns []string
	chosen  bool  // the caller named the columns, so other fields are left out
	header  bool  // the output has the row with the columns
	bad     error // error that prevents further rows until Restore(0)
}

// NewCSV writes to w, which the caller closes, under the same conditions as [NewJSONL]. Columns are names of fields of the results; other
// fields are left out. Without columns, the fields of the first result are the columns, and a later result with any other field is an
// error, so that nothing is lost silently.
func NewCSV(w io.Writer, columns ...string) *CSV {
	c := &CSV{out: NewJSONL(w), columns: cells(columns), chosen: len(columns) > 0}
	c.out.encode, c.out.stream = c.rows, "csv"
	return c
}

// OpenCSV appends to the file at path and creates it if it does not exist, under the same conditions as [OpenJSONL]. If the file begins
// with a row of columns other than those given, the error wraps ErrColumns.
func OpenCSV(path string, columns ...string) (*CSV, error) {
	out, err := OpenJSONL(path)
	if err != nil {
		return nil, err
	}
	f, err := safefile.Open(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sink: %w", err), out.f.Close())
	}
	c, err := appendCSV(out, f, columns)
	if err != nil {
		err = errors.Join(err, out.f.Close())
	}
	return c, errors.Join(err, f.Close())
}

// ErrColumns is wrapped by the error of [OpenCSV] and [AppendCSV] for a file that has other columns.
var ErrColumns = errors.New("name another file, or the same columns")

// CSVFile is the part of *os.File that AppendCSV needs. The file must have been opened with O_RDWR and O_APPEND.
type CSVFile interface {
	File
	io.ReaderAt
}

// AppendCSV is like OpenCSV for an open file, under the same conditions as [AppendJSONL]. After an error the file remains open.
func AppendCSV(f CSVFile, path string, columns ...string) (*CSV, error) {
	out, err := AppendJSONL(f, path)
	if err != nil {
		return nil, err
	}
	return appendCSV(out, f, columns)
}

// appendCSV returns a sink that appends to a file through out. It reads only the first row of the file.
func appendCSV(out *JSONL, file io.ReaderAt, columns []string) (*CSV, error) {
	c := &CSV{out: out, columns: cells(columns), chosen: len(columns) > 0}
	out.encode = c.rows
	if out.written == 0 {
		return c, nil
	}
	switch there, err := firstRow(file); {
	case err != nil:
		c.bad = fmt.Errorf("sink: the columns of %s: %w", out.path, err)
	case c.chosen && !slices.Equal(there, c.columns):
		return nil, fmt.Errorf("sink: %s has the columns %s, not %s: %w", out.path, quoted(there), quoted(columns), ErrColumns)
	case !c.chosen:
		c.columns, c.header = there, true
	default:
		c.header = true
	}
	return c, nil
}

// maxHeader limits the row with the columns, in bytes.
const maxHeader = 1 << 20

// firstRow returns the columns in the first row of a file.
func firstRow(f io.ReaderAt) ([]string, error) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, maxHeader))
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(bytes.NewReader(b))
	row, err := r.Read()
	if end := r.InputOffset(); err == nil && (end == 0 || b[end-1] != '\n') {
		err = errors.New("the first row is torn, or longer than 1 MiB")
	}
	return row, err
}

// Name implements Sink: it returns the last element of the file's path, or "csv" if the output is not a file.
func (c *CSV) Name() string { return c.out.Name() }

// Append implements Sink. If a result is invalid, such as one that is not an object, the error names it, and the output is unchanged.
func (c *CSV) Append(ctx context.Context, r *Record) error {
	if err := c.out.usable(); err != nil {
		return err
	}
	if c.bad != nil {
		return c.bad
	}
	return c.out.Append(ctx, r)
}

// Sync implements Sink.
func (c *CSV) Sync(ctx context.Context) (int64, error) { return c.out.Sync(ctx) }

// Restore implements Sink.
func (c *CSV) Restore(ctx context.Context, offset int64) error {
	if err := c.out.Restore(ctx, offset); err != nil {
		return err
	}
	if offset == 0 {
		c.header, c.bad = false, nil
		if !c.chosen {
			c.columns = nil
		}
	}
	return nil
}

// Close implements Sink.
func (c *CSV) Close(ctx context.Context) error { return c.out.Close(ctx) }

// rows appends the results of a record to b, as rows.
func (c *CSV) rows(b []byte, r *Record) ([]byte, error) {
	header, columns := c.header, c.columns
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	for i, item := range r.Data {
		fields, err := object(item)
		if err != nil {
			return b, fmt.Errorf("result %d: %w", i+1, err)
		}
		if columns == nil && len(fields.names) == 0 {
			return b, errors.New("result 1: an object without fields names no columns")
		}
		if columns == nil {
			columns = fields.names
		}
		if !header {
			header = true
			_ = w.Write(columns) // a write to memory cannot fail
		}
		row, err := fields.row(columns, c.chosen)
		if err != nil {
			return b, fmt.Errorf("result %d: %w", i+1, err)
		}
		if len(row) == 1 && row[0] == "" { // a row with a single empty cell would be an empty line, which readers skip
			w.Flush()
			text.WriteString("\"\"\n")
			continue
		}
		_ = w.Write(row)
	}
	w.Flush()
	c.header, c.columns = header, columns
	return append(b, text.Bytes()...), nil
}

// fields holds the fields of a JSON object, in order.
type fields struct {
	names  []string // names, in the form of a cell
	values map[string]json.RawMessage
}

// object parses a result, which must be a JSON object.
func object(item json.RawMessage) (fields, error) {
	f := fields{names: []string{}, values: map[string]json.RawMessage{}}
	d := json.NewDecoder(bytes.NewReader(item))
	if t, err := d.Token(); err != nil {
		return f, fmt.Errorf("not valid JSON: %w", err)
	} else if t != json.Delim('{') {
		return f, errors.New("only an object has columns: emit a struct or a map")
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return f, fmt.Errorf("not valid JSON: %w", err)
		}
		key, _ := t.(string) // a key is always a string
		name := hidden.Cell(key)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return f, fmt.Errorf("not valid JSON: %w", err)
		}
		if _, twice := f.values[name]; !twice {
			f.names = append(f.names, name)
		}
		f.values[name] = value
	}
	if _, err := d.Token(); err != nil {
		return f, fmt.Errorf("not valid JSON: %w", err)
	}
	return f, nil
}

// row returns the fields of an object as the cells of a row.
func (f fields) row(columns []string, chosen bool) ([]string, error) {
	row := make([]string, len(columns))
	known := 0
	for i, name := range columns {
		value, ok := f.values[name]
		if !ok {
			continue
		}
		known++
		var err error
		if row[i], err = cell(value); err != nil {
			return nil, err
		}
	}
	if known < len(f.names) && !chosen {
		for _, name := range f.names {
			if !slices.Contains(columns, name) {
				return nil, fmt.Errorf("the field %q is not one of the columns %s, which are those of the first result: name the columns that you want", name, quoted(columns))
			}
		}
	}
	return row, nil
}

// cell returns the text of the cell for a JSON value.
func cell(value json.RawMessage) (string, error) {
	switch value[0] {
	case 'n':
		return "", nil
	case '"':
		var s string
		if err := json.Unmarshal(value, &s); err != nil {
			return "", err
		}
		return hidden.Cell(s), nil
	case '[', '{':
		b, err := compact(value)
		return string(b), err
	}
	return string(value), nil
}

func cells(texts []string) []string {
	if texts == nil {
		return nil
	}
	cs := make([]string, len(texts))
	for i, t := range texts {
		cs[i] = hidden.Cell(t)
	}
	return cs
}

func quoted(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(q, ", ")
}
