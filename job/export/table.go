package export

import (
	"encoding/json"
	"iter"
	"strconv"
	"time"
)

// Type is the type of a column.
type Type uint8

// The types of columns. Every column may be null.
const (
	Text  Type = iota // UTF-8
	Int               // 64 bits
	Float             // 64 bits
	Bool
	Time // UTC, with microseconds
	List // list of texts
)

// String returns the name of the type.
func (t Type) String() string {
	return [...]string{"text", "int", "float", "bool", "time", "list of text"}[t]
}

// Column is a column of a Table.
type Column struct {
	Name string
	Type Type
	Doc  string // description in one line; null means what Doc says about it, or that the value is unknown
}

// Value is a cell. The zero Value is null; of any other, the fields for the column's type are set.
type Value struct {
	Valid bool
	Text  string
	Int   int64 // value of Int; 1 or 0 of Bool; microseconds since 1970-01-01T00:00:00Z of Time
	Float float64
	List  []string
}

// Table is a table made from a job.
type Table struct {
	Name    string
	Doc     string // description of a row, in one line
	Columns []Column

	// Rows calls f with each row: a value for each column. The row is valid until f returns.
	Rows func(x *Export, f func(row []Value) error) error
	// In reports whether the job has the data for the table. nil: every job has it.
	In func(x *Export) (bool, error)
	// Part marks a table with some rows of another one; a database has a view for it.
	Part bool
}

// timeForm is RFC 3339 in UTC with microseconds.
const timeForm = "2006-01-02T15:04:05.000000Z"

// AsTime returns a value of type Time.
func (v *Value) AsTime() time.Time { return time.UnixMicro(v.Int).UTC() }

// AsText returns a value as text: "" for null, RFC 3339 for times, JSON for lists.
func (v *Value) AsText(t Type) string {
	switch {
	case !v.Valid:
		return ""
	case t == Int:
		return strconv.FormatInt(v.Int, 10)
	case t == Float:
		return strconv.FormatFloat(v.Float, 'f', -1, 64)
	case t == Bool:
		return strconv.FormatBool(v.Int != 0)
	case t == Time:
		return v.AsTime().Format(timeForm)
	case t == List:
		b, _ := json.Marshal(v.List) // marshalling strings cannot fail
		return string(b)
	}
	return v.Text
}

// field is a column with the function that computes its value.
type field[T any] struct {
	Column
	of func(T) Value
}

// tableOf returns a table with a row for each element of a sequence.
func tableOf[T any](name, doc string, rows func(x *Export) iter.Seq2[T, error], fields []field[T]) *Table {
	t := &Table{Name: name, Doc: doc}
	for _, f := range fields {
		t.Columns = append(t.Columns, f.Column)
	}
	t.Rows = func(x *Export, f func([]Value) error) error {
		row := make([]Value, len(fields))
		for e, err := range rows(x) {
			if err != nil {
				return err
			}
			for i := range fields {
				row[i] = fields[i].of(e)
			}
			if err := f(row); err != nil {
				return err
			}
		}
		return nil
	}
	return t
}

func text(s string) Value { return Value{Valid: s != "", Text: s} }

func number(n int64) Value { return Value{Valid: true, Int: n} }

func count(n int) Value { return number(int64(n)) }

// positive returns a number as a value, null for 0.
func positive[N int | int64 | uint64](n N) Value { return Value{Valid: n != 0, Int: int64(n)} }

func seconds(d time.Duration, known bool) Value { return Value{Valid: known, Float: d.Seconds()} }

func boolean(b bool) Value {
	v := Value{Valid: true}
	if b {
		v.Int = 1
	}
	return v
}

func moment(t time.Time) Value { return Value{Valid: !t.IsZero(), Int: t.UnixMicro()} }

func list(l []string) Value { return Value{Valid: len(l) > 0, List: l} }
