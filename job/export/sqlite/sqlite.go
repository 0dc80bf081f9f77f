// Package sqlite exports jobs as SQLite databases. It does not need cgo: modernc.org/sqlite is SQLite translated to Go. That
// library is large, so this kind has a separate package.
//
//	r, err := job.Read("site")
//	defer r.Close()
//	_, err = export.Write(ctx, r, sqlite.Kind(), "site.db", nil)
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/amble-crawler/amble/job/export"
)

// Kind returns the kind sqlite: a database with a table for each of export.Tables, and the view problems. Times are TEXT as in
// RFC 3339, which SQLite's date functions read. Booleans are 0 and 1. Lists are JSON, for SQLite's JSON functions.
func Kind() export.Kind {
	return export.Kind{
		Name: "sqlite", Doc: "a SQLite database: visits, requests, hosts, robots, …", Suffix: ".sqlite", Tables: export.Tables(), Write: write,
	}
}

// pragmas make writing fast. They are safe because no other process sees the file before it is complete and durable.
const pragmas = "_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)&_pragma=locking_mode(EXCLUSIVE)&_pragma=cache_size(-16000)&_pragma=page_size(8192)"

func write(x *export.Export) error {
	abs, err := filepath.Abs(x.Path)
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: pragmas}).String())
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if err = errors.Join(fill(x, db), db.Close()); err != nil {
		return failure(err)
	}
	f, err := os.OpenFile(x.Path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func fill(x *export.Export, db *sql.DB) error {
	err := export.EachTable(x, export.Tables(), func(t *export.Table) error {
		if t.Part {
			return nil
		}
		return table(x, db, t)
	})
	if err != nil {
		return err
	}
	for _, statement := range []string{
		"CREATE INDEX visits_url ON visits (url)",
		"CREATE VIEW problems AS SELECT " + strings.Join(export.ProblemColumns(), ", ") + ` FROM visits
WHERE outcome NOT IN ('redirected', 'not_modified', 'out_of_scope') AND (outcome <> 'fetched' OR coalesce(fetch_status, 0) >= 400)`,
	} {
		if _, err := db.ExecContext(x.Context(), statement); err != nil {
			return err
		}
	}
	return nil
}

// types maps types of columns to SQLite's types. The default is TEXT.
var types = map[export.Type]string{export.Int: "INTEGER", export.Bool: "INTEGER", export.Float: "REAL"}

// batch is the number of rows per transaction.
const batch = 20_000

// table creates a table and fills it.
func table(x *export.Export, db *sql.DB, t *export.Table) error {
	var columns []string
	for _, c := range t.Columns {
		typ := types[c.Type]
		if typ == "" {
			typ = "TEXT"
		}
		columns = append(columns, fmt.Sprintf("%q %s", c.Name, typ))
	}
	if _, err := db.ExecContext(x.Context(), fmt.Sprintf("CREATE TABLE %q (%s)", t.Name, strings.Join(columns, ", "))); err != nil {
		return err
	}
	in := &inserter{db: db, statement: fmt.Sprintf("INSERT INTO %q VALUES (?%s)", t.Name, strings.Repeat(", ?", len(columns)-1)), values: make([]any, len(columns))}
	err := t.Rows(x, func(row []export.Value) error {
		for i := range row {
			in.values[i] = cell(&row[i], t.Columns[i].Type)
		}
		return in.insert()
	})
	return errors.Join(err, in.end(err == nil))
}

// cell returns a value as SQLite stores it.
func cell(v *export.Value, t export.Type) any {
	switch {
	case !v.Valid:
		return nil
	case t == export.Int, t == export.Bool:
		return v.Int
	case t == export.Float:
		return v.Float
	}
	return strings.ReplaceAll(v.AsText(t), "\x00", "\uFFFD") // many tools take a NUL byte for the end of the text
}

// inserter inserts rows, many in a transaction.
type inserter struct {
	db        *sql.DB
	statement string
	values    []any
	tx        *sql.Tx
	prepared  *sql.Stmt
	n         int
}

// insert inserts in.values. An open transaction is completed even if the context ends.
func (in *inserter) insert() (err error) {
	ctx := context.Background()
	if in.tx == nil {
		if in.tx, err = in.db.BeginTx(ctx, nil); err != nil {
			return err
		}
		if in.prepared, err = in.tx.PrepareContext(ctx, in.statement); err != nil {
			return err
		}
	}
	if _, err := in.prepared.ExecContext(ctx, in.values...); err != nil {
		return err
	}
	if in.n++; in.n%batch == 0 {
		return in.end(true)
	}
	return nil
}

// end commits or rolls back the open transaction, if any.
func (in *inserter) end(keep bool) error {
	tx, prepared := in.tx, in.prepared
	if in.tx, in.prepared = nil, nil; tx == nil {
		return nil
	}
	if prepared != nil {
		_ = prepared.Close() // not needed any more: the transaction ends now
	}
	if !keep {
		_ = tx.Rollback() // an error does no harm: the file will be removed
		return nil
	}
	return tx.Commit()
}

// failure converts an error of SQLite to the underlying error of the system, if there is one.
func failure(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_FULL {
		return fmt.Errorf("%w: %w", err, syscall.ENOSPC)
	}
	return err
}
