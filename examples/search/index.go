package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// index is a full-text index in a file. Only one goroutine at a time may use it.
type index struct {
	db *sql.DB
	tx *sql.Tx // writes since the last commit; nil if there are none
	n  int     // number of pages in tx
}

// batch is the number of pages per transaction: if the process is killed, at most these are lost.
const batch = 100

// entry is a page in the index.
type entry struct {
	url, title, text string
	fetched          string // time of fetching, RFC 3339
}

// schema creates the tables in an empty file. Words are compared without case and accents. URLs have a separate table, because a full-text
// table finds rows only by words and by number.
const schema = `
CREATE TABLE IF NOT EXISTS address (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, fetched TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS page USING fts5(title, text, tokenize = "unicode61 remove_diacritics 2");`

// create opens the index in dir, and creates it if it does not exist.
func create(ctx context.Context, dir string) (*index, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	db, err := connect(dir, "rwc")
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("the index in %s: %w", dir, err), db.Close())
	}
	return &index{db: db}, nil
}

// open opens the index in dir for reading.
func open(dir string) (*index, error) {
	if _, err := os.Stat(filepath.Join(dir, fileName)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s has no index: make one by \"search index\"", dir)
		}
		return nil, err
	}
	db, err := connect(dir, "ro")
	return &index{db: db}, err
}

const fileName = "pages.db"

// connect opens the database of an index with a single connection, because SQLite allows one writer.
func connect(dir, mode string) (*sql.DB, error) {
	path, err := filepath.Abs(filepath.Join(dir, fileName))
	if err != nil {
		return nil, err
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"mode": {mode}, "_pragma": {"busy_timeout(5000)"}}.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// put adds a page, or replaces an older one with the same URL.
func (x *index) put(ctx context.Context, e entry) (err error) {
	if err := x.begin(ctx); err != nil {
		return err
	}
	var id int64
	err = x.tx.QueryRowContext(ctx, `INSERT INTO address (url, fetched) VALUES (?, ?)
		ON CONFLICT (url) DO UPDATE SET fetched = excluded.fetched RETURNING id`, e.url, e.fetched).Scan(&id)
	if err == nil {
		_, err = x.tx.ExecContext(ctx, `INSERT OR REPLACE INTO page (rowid, title, text) VALUES (?, ?, ?)`, id, e.title, e.text)
	}
	return err
}

// remove removes a page. was reports whether it was in the index.
func (x *index) remove(ctx context.Context, url string) (was bool, err error) {
	if err := x.begin(ctx); err != nil {
		return false, err
	}
	var id int64
	err = x.tx.QueryRowContext(ctx, `DELETE FROM address WHERE url = ? RETURNING id`, url).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err == nil {
		_, err = x.tx.ExecContext(ctx, `DELETE FROM page WHERE rowid = ?`, id)
	}
	return true, err
}

// begin begins a transaction if none is open, and commits a full one before.
func (x *index) begin(ctx context.Context) (err error) {
	if x.n >= batch {
		if err := x.commit(); err != nil {
			return err
		}
	}
	x.n++
	if x.tx == nil {
		x.tx, err = x.db.BeginTx(ctx, nil)
	}
	return err
}

// commit commits the open transaction.
func (x *index) commit() error {
	if x.tx == nil {
		return nil
	}
	err := x.tx.Commit()
	x.tx, x.n = nil, 0
	return err
}

// close commits and closes the index.
func (x *index) close() error { return errors.Join(x.commit(), x.db.Close()) }

// size returns the number of pages in the index, including those that are not committed.
func (x *index) size(ctx context.Context) (n int, err error) {
	if err := x.commit(); err != nil {
		return 0, err
	}
	err = x.db.QueryRowContext(ctx, `SELECT count(*) FROM address`).Scan(&n)
	return n, err
}
