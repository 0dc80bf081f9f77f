package sqlite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// valueColumn is the name of the column for results that are not objects.
const valueColumn = "value"

// maxColumns limits the columns of the table. SQLite itself supports 2,000.
const maxColumns = 1000

// row is one result.
type row struct {
	columns []string
	values  []any
}

// parse parses a result.
func parse(item json.RawMessage) (row, error) {
	d := json.NewDecoder(bytes.NewReader(item))
	d.UseNumber()
	t, err := d.Token()
	if err != nil {
		return row{}, fmt.Errorf("not valid JSON: %w", err)
	}
	if t != json.Delim('{') {
		v, err := value(item)
		return row{[]string{valueColumn}, []any{v}}, err
	}
	var r row
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return row{}, fmt.Errorf("not valid JSON: %w", err)
		}
		key, _ := t.(string) // a key is always a string
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			return row{}, fmt.Errorf("not valid JSON: %w", err)
		}
		v, err := value(text)
		if err != nil {
			return row{}, err
		}
		if err := r.set(key, v); err != nil {
			return row{}, err
		}
	}
	if _, err := d.Token(); err != nil {
		return row{}, fmt.Errorf("not valid JSON: %w", err)
	}
	return r, nil
}

// set adds a field. If a name occurs twice, the last field counts, as in encoding/json.
func (r *row) set(key string, v any) error {
	if strings.ContainsRune(key, 0) || strings.HasPrefix(key, "_") || key == "" {
		return fmt.Errorf("a field cannot be named %q here: names that begin with _ are the sink's", key)
	}
	for i, column := range r.columns {
		if column == key {
			r.values[i] = v
			return nil
		}
	}
	r.columns, r.values = append(r.columns, key), append(r.values, v)
	return nil
}

// value converts a JSON value to SQLite's form.
func value(text json.RawMessage) (any, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	switch v := v.(type) {
	case json.Number:
		return number(v), nil
	case map[string]any, []any:
		var b bytes.Buffer
		err := json.Compact(&b, text)
		return b.String(), err
	}
	return v, nil
}

// number returns an INTEGER or a REAL. A number that neither can represent becomes TEXT, so that it is not lost.
func number(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	if f, err := n.Float64(); err == nil {
		return f
	}
	return n.String()
}

// insert returns the statement that adds the row.
func (r row) insert(table string, id int64, page string) (string, []any) {
	var b strings.Builder
	b.WriteString("INSERT INTO " + name(table) + " (_id, _page")
	for _, column := range r.columns {
		b.WriteString(", " + name(column))
	}
	b.WriteString(") VALUES (?, ?" + strings.Repeat(", ?", len(r.columns)) + ")")
	return b.String(), append([]any{id, page}, r.values...)
}

// name quotes a name for use in SQL.
func name(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// columns holds the columns of the table, keyed by name in lower case, because SQLite ignores the case of ASCII letters.
type columns map[string]string

func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

func (c columns) add(column string) { c[fold(column)] = column }

// missing returns the columns that a row needs and the table does not have.
func (c columns) missing(r row) []string {
	var ms []string
	for _, column := range r.columns {
		if _, ok := c[fold(column)]; !ok {
			ms = append(ms, column)
		}
	}
	return ms
}

// fit returns an error if the row does not fit into the table.
func (c columns) fit(r row) error {
	if len(c)+len(c.missing(r)) > maxColumns {
		return fmt.Errorf("more than %d different fields: emit what varies as an array or an object in one field", maxColumns)
	}
	seen := map[string]string{}
	for _, column := range r.columns {
		f := fold(column)
		other, ok := c[f]
		if !ok {
			other, ok = seen[f]
		}
		if ok && other != column {
			return fmt.Errorf("the fields %q and %q are one column to SQLite: rename one", other, column)
		}
		seen[f] = column
	}
	return nil
}
