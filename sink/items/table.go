package items

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/sink"
)

// Table implements [sink.Sink]: it writes each result as a row of a table in a SQL database. If the table already has a row with the same
// key, that row's columns are replaced; columns that T does not have are unchanged.
//
// The columns are the exported fields of T. A column has the name of the tag db, otherwise of json, otherwise the Go name; db:"-" leaves a
// field out. Strings, numbers, booleans, times and bytes have native types of the database; structs, maps and lists are stored as JSON;
// pointers can be NULL. Times are in UTC with microseconds.
//
// Results stay in memory until Sync, which writes all of them in one transaction. For each, it also writes a row to the table NAME_undo:
// the job, the number of the result in the job, the key, and the previous state of the key's row, as JSON. With these rows, a resumed crawl
// undoes results that were not committed, so each result counts once. Several jobs may write to one table, even at the same time: each
// undoes only its own results. When a job will not be resumed, its rows can be deleted from NAME_undo.
//
// A Table is not safe for concurrent use.
type Table[T any] struct {
	sink.Base

	db      *sql.DB
	dialect Dialect
	name    string
	job     string
	columns []column
	keys    []int  // indexes of the columns in the key
	selects string // statement that reads a row by its key
	upserts string // statement that adds a row, or replaces the columns of the row with the same key
	pending []row  // results since the last Sync
	last    int64  // number of the last result in the database
	err     error
	closed  bool
}

// row is a result, converted to the values of a row.
type row struct {
	key    string // values of the key's columns, as JSON
	values []any
}

// OpenTable opens the table name, and creates it and the table name_undo if they do not exist. job is a text that identifies the crawl and
// stays the same when the crawl is resumed, such as the path of its directory. key names one or more columns that contain texts or whole
// numbers.
//
// The caller opens the database with a driver, and closes it after the Table.
func OpenTable[T any](ctx context.Context, db *sql.DB, d Dialect, name, job string, key ...string) (*Table[T], error) {
	columns, err := columnsOf[T](d)
	if err != nil {
		return nil, err
	}
	t := &Table[T]{db: db, dialect: d, name: name, job: job, columns: columns}
	for _, k := range key {
		i := slices.IndexFunc(columns, func(c column) bool { return c.name == k && c.canBeKey() })
		if i < 0 {
			return nil, fmt.Errorf("items: table %s: the key %s is no column of %s with texts or whole numbers that are never NULL", name, k, reflect.TypeFor[T]())
		}
		t.keys = append(t.keys, i)
	}
	if name == "" || job == "" || len(key) == 0 || d != SQLite && d != PostgreSQL {
		return nil, fmt.Errorf("items: table %q: a name, a job, a key and a Dialect are needed", name)
	}
	t.prepare()
	for _, statement := range t.schema() {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, fmt.Errorf("items: table %s: %w", name, err)
		}
	}
	if t.last, err = t.number(ctx, db); err != nil {
		return nil, fmt.Errorf("items: table %s: %w", name, err)
	}
	return t, nil
}

// Name implements sink.Sink. It returns the name of the table, such as "table products".
func (t *Table[T]) Name() string { return "table " + t.name }

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// undo returns the quoted name of the table NAME_undo.
func (t *Table[T]) undo() string { return quote(t.name + "_undo") }

// schema returns the statements that create the tables.
func (t *Table[T]) schema() []string {
	var columns, keys []string
	for i := range t.columns {
		columns = append(columns, quote(t.columns[i].name)+" "+t.columns[i].sql)
	}
	for _, i := range t.keys {
		keys = append(keys, quote(t.columns[i].name))
	}
	return []string{
		fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s, PRIMARY KEY (%s))", quote(t.name), strings.Join(columns, ", "), strings.Join(keys, ", ")),
		fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (seq BIGINT PRIMARY KEY, job TEXT NOT NULL, n BIGINT NOT NULL, key TEXT NOT NULL, before TEXT, UNIQUE (job, n))", t.undo()),
		fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s (key, seq)", quote(t.name+"_undo_key"), t.undo()),
	}
}

// prepare sets the statements that are executed for each result.
func (t *Table[T]) prepare() {
	var names, marks, sets, keys []string
	for i := range t.columns {
		name := quote(t.columns[i].name)
		names, marks = append(names, name), append(marks, t.mark(i+1))
		if slices.Contains(t.keys, i) {
			keys = append(keys, name)
		} else {
			sets = append(sets, name+" = excluded."+name)
		}
	}
	then := "NOTHING"
	if len(sets) > 0 {
		then = "UPDATE SET " + strings.Join(sets, ", ")
	}
	all := strings.Join(names, ", ")
	t.selects = fmt.Sprintf("SELECT %s FROM %s WHERE %s", all, quote(t.name), t.where(1))
	t.upserts = fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT (%s) DO %s",
		quote(t.name), all, strings.Join(marks, ", "), strings.Join(keys, ", "), then)
}

// mark returns the placeholder of a statement's n-th parameter.
func (t *Table[T]) mark(n int) string {
	if t.dialect == SQLite {
		return fmt.Sprintf("?%d", n)
	}
	return fmt.Sprintf("$%d", n)
}

// where returns the condition that selects a key. Its first parameter has the number n.
func (t *Table[T]) where(n int) string {
	var all []string
	for k, i := range t.keys {
		all = append(all, quote(t.columns[i].name)+" = "+t.mark(n+k))
	}
	return strings.Join(all, " AND ")
}

// keyOf returns those of the values that belong to the key.
func (t *Table[T]) keyOf(values []any) (all []any) {
	for _, i := range t.keys {
		all = append(all, values[i])
	}
	return all
}

// row converts a result to a row.
func (t *Table[T]) row(item *T) (r row, err error) {
	v := reflect.ValueOf(item).Elem()
	for i := range t.columns {
		value, err := t.columns[i].value(at(v, t.columns[i].index))
		if err != nil {
			return r, err
		}
		r.values = append(r.values, value)
	}
	key, err := json.Marshal(t.keyOf(r.values))
	r.key = string(key)
	return r, err
}

// at returns the field of v at index. It allocates embedded pointers that are nil.
func at(v reflect.Value, index []int) reflect.Value {
	for k, i := range index {
		if k > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

// Append implements sink.Sink.
func (t *Table[T]) Append(_ context.Context, r *sink.Record) error {
	if err := t.usable(); err != nil {
		return err
	}
	all, err := decode[T](r)
	if err != nil {
		return err
	}
	rows := make([]row, len(all))
	for i := range all {
		if rows[i], err = t.row(&all[i]); err != nil {
			return fmt.Errorf("items: %s: result %d: %w", r.URL, i+1, err)
		}
	}
	t.pending = append(t.pending, rows...)
	return nil
}

func (t *Table[T]) usable() error {
	if t.closed {
		return sink.ErrClosed
	}
	return t.err
}

// Sync implements sink.Sink. The offset is the number of results of the job. If ctx ends, the transaction is rolled back.
func (t *Table[T]) Sync(ctx context.Context) (int64, error) {
	if err := t.usable(); err != nil {
		return 0, err
	}
	if len(t.pending) == 0 {
		return t.last, nil
	}
	if err := t.transaction(ctx, t.commit); err != nil {
		t.err = fmt.Errorf("items: table %s: %w", t.name, err)
		return 0, t.err
	}
	t.last, t.pending = t.last+int64(len(t.pending)), nil
	return t.last, nil
}

// transaction calls f in a transaction. No other Table writes to the same table meanwhile.
func (t *Table[T]) transaction(ctx context.Context, f func(context.Context, *sql.Tx) error) error {
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	lock := "LOCK TABLE " + t.undo() + " IN SHARE ROW EXCLUSIVE MODE"
	if t.dialect == SQLite { // in SQLite, the first statement that writes locks the database
		lock = "DELETE FROM " + t.undo() + " WHERE seq < 0"
	}
	if _, err = tx.ExecContext(ctx, lock); err == nil {
		err = f(ctx, tx)
	}
	if err != nil {
		_ = tx.Rollback() // err is the first error
		return err
	}
	return tx.Commit()
}

// queries is implemented by a database and by a transaction.
type queries interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// number returns the number of the job's last result.
func (t *Table[T]) number(ctx context.Context, q queries) (n int64, err error) {
	err = q.QueryRowContext(ctx, fmt.Sprintf("SELECT coalesce(max(n), 0) FROM %s WHERE job = %s", t.undo(), t.mark(1)), t.job).Scan(&n)
	return n, err
}

// commit writes the pending rows, and their rows in NAME_undo.
func (t *Table[T]) commit(ctx context.Context, tx *sql.Tx) error {
	last, err := t.number(ctx, tx)
	if err != nil {
		return err
	}
	if last != t.last {
		return fmt.Errorf("the job %s has %d results, not %d: another process writes them, too", t.job, last, t.last)
	}
	var seq int64
	if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM "+t.undo()).Scan(&seq); err != nil {
		return err
	}
	note := fmt.Sprintf("INSERT INTO %s (seq, job, n, key, before) VALUES (%s, %s, %s, %s, %s)", t.undo(), t.mark(1), t.mark(2), t.mark(3), t.mark(4), t.mark(5))
	for i, r := range t.pending {
		before, err := t.read(ctx, tx, r.values)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, note, seq+int64(i)+1, t.job, last+int64(i)+1, r.key, before); err != nil {
			return err
		}
		if err := t.upsert(ctx, tx, r.values); err != nil {
			return err
		}
	}
	return nil
}

// read returns the existing row with the key in values, as JSON. The result is not valid if there is no such row.
func (t *Table[T]) read(ctx context.Context, tx *sql.Tx, values []any) (before sql.NullString, err error) {
	var cells []any
	var item T
	for i := range t.columns {
		cells = append(cells, cell{&t.columns[i], at(reflect.ValueOf(&item).Elem(), t.columns[i].index)})
	}
	switch err := tx.QueryRowContext(ctx, t.selects, t.keyOf(values)...).Scan(cells...); err {
	case nil:
	case sql.ErrNoRows:
		return before, nil
	default:
		return before, err
	}
	b, err := json.Marshal(item)
	return sql.NullString{String: string(b), Valid: true}, err
}

// upsert adds a row, or replaces the columns of the row with the same key.
func (t *Table[T]) upsert(ctx context.Context, tx *sql.Tx, values []any) error {
	_, err := tx.ExecContext(ctx, t.upserts, values...)
	return err
}

// Close implements sink.Sink. The database remains open.
func (t *Table[T]) Close(ctx context.Context) error {
	if t.closed {
		return nil
	}
	var err error
	if t.err == nil {
		_, err = t.Sync(ctx)
	}
	t.closed, t.pending = true, nil
	return err
}
