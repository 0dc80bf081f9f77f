// Package sqlite implements a sink that writes the results of a crawl to a table of a SQLite database.
//
// The sink needs no C: modernc.org/sqlite is SQLite translated to Go. That library is large, so the sink is a separate package: programs
// that do not import it do not contain the library.
//
// For a job directory, use job.ItemsTable(sqlite.Open).
//
//	s, err := sqlite.Open("shop.db", "products")
//	config.Sinks = []sink.Sink{s} // a Handler calls v.Emit(product)
//	…
//	err = s.Close(ctx)
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/amble-crawler/amble/sink"
)

// Sink writes each element of [sink.Record].Data as a row. Fields of an object are columns, which are added when they first occur. Two
// columns belong to the sink: _id is the number of the row, and _page the URL of the page. Strings are TEXT, numbers INTEGER or REAL,
// booleans 1 and 0, null and missing fields NULL. Arrays and objects are JSON text, for SQLite's JSON functions. A result that is not an
// object is in the column value.
//
// Rows appended between two calls of Sync are one transaction, so that other programs see only complete commits of the crawl. They may read
// the database while the crawl runs, but must not write to the table.
//
// A Sink is not safe for concurrent use.
type Sink struct {
	sink.Base

	db      *sql.DB
	path    string
	table   string
	columns columns
	tx      *sql.Tx // begun by the first Append after a Sync
	last    int64   // highest _id
	err     error   // error since the last Restore
	closed  bool
}

var (
	_ sink.Sink = (*Sink)(nil)
)

// Open opens the database at path, and creates it and the table if they do not exist. The name of the table may be any text except "" and
// names that begin with "sqlite_".
func Open(path, table string) (*Sink, error) {
	s := &Sink{path: path, table: table}
	if err := s.open(); err != nil {
		if s.db != nil {
			err = errors.Join(err, s.db.Close())
		}
		return nil, fmt.Errorf("sqlite: %s: %w", path, err)
	}
	return s, nil
}

// pragmas make a commit durable before it returns, and let other programs read at the same time.
const pragmas = "_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"

func (s *Sink) open() error {
	if s.table == "" {
		return errors.New("a table needs a name")
	}
	f, err := os.OpenFile(s.path, os.O_CREATE|os.O_RDWR, 0o644) // opened first without SQLite, because the system's error is more specific
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	abs, err := filepath.Abs(s.path)
	if err != nil {
		return err
	}
	if s.db, err = sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: pragmas}).String()); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(1) // a single connection sees its own writes
	if _, err := s.db.ExecContext(context.Background(), "CREATE TABLE IF NOT EXISTS "+name(s.table)+" (_id INTEGER PRIMARY KEY, _page TEXT NOT NULL)"); err != nil {
		return failure(err)
	}
	return s.read(context.Background())
}

// read reads the state of the sink from the table.
func (s *Sink) read(ctx context.Context) error {
	if err := s.db.QueryRowContext(ctx, "SELECT coalesce(max(_id), 0) FROM "+name(s.table)).Scan(&s.last); err != nil {
		return failure(err)
	}
	rows, err := s.db.QueryContext(ctx, "SELECT name FROM pragma_table_info(?)", s.table)
	if err != nil {
		return failure(err)
	}
	defer func() { _ = rows.Close() }()
	s.columns = columns{}
	for rows.Next() {
		var column string
		if err := rows.Scan(&column); err != nil {
			return failure(err)
		}
		s.columns.add(column)
	}
	return failure(rows.Err())
}

// Name implements sink.Sink. It returns the last element of the path, and the table.
func (s *Sink) Name() string { return filepath.Base(s.path) + "#" + s.table }

// Append implements sink.Sink. If a result is invalid, the error names it, and the table is unchanged.
//
// The context is not used: pages that were fetched are written even while the crawl is being stopped.
func (s *Sink) Append(ctx context.Context, r *sink.Record) error {
	ctx = context.WithoutCancel(ctx)
	if err := s.usable(); err != nil {
		return err
	}
	rows := make([]row, 0, len(r.Data))
	for i, item := range r.Data {
		row, err := parse(item)
		if err == nil {
			err = s.columns.fit(row)
		}
		if err != nil {
			return fmt.Errorf("sqlite: %s: result %d: %w", r.URL, i+1, err)
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		if s.err = s.insert(ctx, r.URL, row); s.err != nil {
			s.err = fmt.Errorf("sqlite: %s: %w", s.path, failure(s.err))
			return s.err
		}
	}
	return nil
}

func (s *Sink) usable() error {
	if s.closed {
		return sink.ErrClosed
	}
	return s.err
}

func (s *Sink) insert(ctx context.Context, page string, r row) error {
	if s.tx == nil {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		s.tx = tx
	}
	for _, column := range s.columns.missing(r) {
		if _, err := s.tx.ExecContext(ctx, "ALTER TABLE "+name(s.table)+" ADD COLUMN "+name(column)); err != nil {
			return err
		}
		s.columns.add(column)
	}
	statement, values := r.insert(s.table, s.last+1, page)
	if _, err := s.tx.ExecContext(ctx, statement, values...); err != nil {
		return err
	}
	s.last++
	return nil
}

// Sync implements sink.Sink. The offset is the highest _id.
func (s *Sink) Sync(_ context.Context) (int64, error) {
	if err := s.usable(); err != nil {
		return 0, err
	}
	if s.tx != nil {
		err := s.tx.Commit()
		if s.tx = nil; err != nil {
			s.err = fmt.Errorf("sqlite: %s: %w", s.path, failure(err))
			return 0, s.err
		}
	}
	return s.last, nil
}

// Restore implements sink.Sink. It deletes the rows with a higher _id; columns remain.
func (s *Sink) Restore(ctx context.Context, offset int64) error {
	if s.closed {
		return sink.ErrClosed
	}
	if s.tx != nil {
		_ = s.tx.Rollback()
		s.tx = nil
	}
	if err := s.read(ctx); err != nil {
		return fmt.Errorf("sqlite: %s: %w", s.path, err)
	}
	if offset < 0 || offset > s.last {
		return fmt.Errorf("sqlite: %s has %d rows in %s, but %d were committed: another program changed it", s.path, s.last, name(s.table), offset)
	}
	if _, err := s.db.ExecContext(ctx, "DELETE FROM "+name(s.table)+" WHERE _id > ?", offset); err != nil {
		return fmt.Errorf("sqlite: %s: %w", s.path, failure(err))
	}
	s.last, s.err = offset, nil
	return nil
}

// Close implements sink.Sink.
func (s *Sink) Close(ctx context.Context) error {
	if s.closed {
		return nil
	}
	var err error
	if s.err == nil {
		_, err = s.Sync(ctx)
	} else if s.tx != nil {
		_ = s.tx.Rollback()
	}
	s.closed = true
	if cerr := s.db.Close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("sqlite: %s: %w", s.path, failure(cerr)))
	}
	return err
}

// failure returns the error of the system that caused an error of SQLite, if there is one.
func failure(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff { // primary result code
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", err, syscall.ENOSPC)
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("not a SQLite database, or a damaged one: %w", err)
	}
	return err
}
