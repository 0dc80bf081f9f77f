package items

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/jsonl"
)

// Dialect is the SQL dialect of a database.
type Dialect int

// Dialects for [OpenTable].
const (
	SQLite Dialect = iota + 1
	PostgreSQL
)

// column is a column of a table, for a field of T.
type column struct {
	field
	sql     string // SQL type
	null    bool
	dialect Dialect
}

var (
	timeType  = reflect.TypeFor[time.Time]()
	bytesType = reflect.TypeFor[[]byte]()
)

// columnsOf returns the columns for the fields of T.
func columnsOf[T any](d Dialect) ([]column, error) {
	fields, err := fieldsOf[T]("db", "json")
	var all []column
	for _, f := range fields {
		c := column{field: f, dialect: d}
		if f.typ.Kind() == reflect.Pointer {
			c.null, c.typ = true, f.typ.Elem()
		}
		c.sql = c.sqlType()
		if !c.null {
			c.sql += " NOT NULL"
		}
		if strings.HasPrefix(strings.ToLower(c.name), "_") || strings.ContainsRune(c.name, 0) {
			return nil, fmt.Errorf("items: a column cannot be named %q", c.name)
		}
		all = append(all, c)
	}
	return all, err
}

func (c *column) sqlType() string {
	pick := func(sqlite, postgres string) string {
		if c.dialect == SQLite {
			return sqlite
		}
		return postgres
	}
	switch k := c.typ.Kind(); {
	case c.typ == timeType:
		return pick("TEXT", "TIMESTAMPTZ")
	case c.typ == bytesType:
		return pick("BLOB", "BYTEA")
	case k == reflect.String:
		return "TEXT"
	case k == reflect.Bool:
		return pick("INTEGER", "BOOLEAN")
	case k >= reflect.Int && k <= reflect.Uint64:
		return pick("INTEGER", "BIGINT")
	case k == reflect.Float32 || k == reflect.Float64:
		return pick("REAL", "DOUBLE PRECISION")
	}
	return pick("TEXT", "JSON")
}

// canBeKey reports whether the column contains texts or whole numbers, and cannot be NULL.
func (c *column) canBeKey() bool {
	k := c.typ.Kind()
	return !c.null && (k == reflect.String || k >= reflect.Int && k <= reflect.Uint64)
}

// value converts the value of a field to the database's form.
func (c *column) value(v reflect.Value) (driver.Value, error) {
	if c.null {
		if v.IsNil() {
			return nil, nil
		}
		v = v.Elem()
	}
	switch k := c.typ.Kind(); {
	case c.typ == timeType:
		t := v.Interface().(time.Time).UTC().Truncate(time.Microsecond) // c.typ guarantees the type
		if c.dialect == SQLite {
			return t.Format(jsonl.TimeForm), nil // SQLite compares times as text
		}
		return t, nil
	case c.typ == bytesType:
		return append([]byte{}, v.Bytes()...), nil
	case k == reflect.String:
		if c.dialect == PostgreSQL { // PostgreSQL cannot store the character 0
			return strings.ReplaceAll(v.String(), "\x00", "\ufffd"), nil
		}
		return v.String(), nil
	case k == reflect.Bool && c.dialect == SQLite:
		if v.Bool() {
			return int64(1), nil
		}
		return int64(0), nil
	case k == reflect.Bool:
		return v.Bool(), nil
	case v.CanInt():
		return v.Int(), nil
	case v.CanUint():
		if v.Uint() > math.MaxInt64 {
			return nil, fmt.Errorf("%s: %d does not fit into 64 bits with a sign", c.name, v.Uint())
		}
		return int64(v.Uint()), nil
	case v.CanFloat():
		return v.Float(), nil
	}
	b, err := json.Marshal(v.Interface())
	return string(b), err
}

// cell implements sql.Scanner: it sets a field of T to a value from the database.
type cell struct {
	*column
	v reflect.Value
}

// Scan implements sql.Scanner.
func (c cell) Scan(from any) error {
	v := c.v
	if from == nil {
		v.SetZero()
		return nil
	}
	if c.null {
		v.Set(reflect.New(c.typ))
		v = v.Elem()
	}
	if b, ok := from.([]byte); ok && c.typ != bytesType {
		from = string(b)
	}
	text, isText := from.(string)
	n, isInt := from.(int64)
	switch k := c.typ.Kind(); {
	case c.typ == timeType && isText:
		t, err := time.Parse(time.RFC3339Nano, text)
		v.Set(reflect.ValueOf(t))
		return err
	case c.typ == timeType || c.typ == bytesType || k == reflect.String:
	case k == reflect.Bool && isInt:
		v.SetBool(n != 0)
		return nil
	case v.CanUint() && isInt:
		v.SetUint(uint64(n))
		return nil
	case v.CanInt() && isInt:
		v.SetInt(n)
		return nil
	case v.CanFloat() && isInt:
		v.SetFloat(float64(n))
		return nil
	case isText:
		return json.Unmarshal([]byte(text), v.Addr().Interface())
	}
	got := reflect.ValueOf(from)
	if !got.CanConvert(c.typ) || (got.Kind() == reflect.String) != (c.typ.Kind() == reflect.String) {
		return fmt.Errorf("column %s holds a %T instead of a %s", c.name, from, c.typ)
	}
	v.Set(got.Convert(c.typ))
	return nil
}
