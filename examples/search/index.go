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

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// index is a full-text index in a file. It is for one goroutine at a time.
type index struct {
	db *sql.DB
	tx *sql.Tx // what was written since the last commit; nil: nothing
	n  int     // in tx
}

// batch is how many pages are written at once: what a killed process loses.
const batch = 100

// entry is a page as it stands in the index.
type entry struct {
	url, title, text string
	fetched          string // RFC 3339
}

// schema makes the tables of an empty file. Words are compared without case and accents. The address is
// in a table of its own, because a full-text table finds rows by their words and numbers only.
const schema = `
CREATE TABLE IF NOT EXISTS address (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, fetched TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS page USING fts5(title, text, tokenize = "unicode61 remove_diacritics 2");`

// create opens the index in dir, and makes it when missing.
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

// open opens the index in dir to read it.
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

// connect opens the database of an index by one connection, which is what SQLite's writers want.
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

// put adds a page, in place of an older one at its URL.
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

// remove takes a page out; was tells whether it was there.
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

// begin makes sure that a transaction is open and has room.
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

// commit makes what was written last.
func (x *index) commit() error {
	if x.tx == nil {
		return nil
	}
	err := x.tx.Commit()
	x.tx, x.n = nil, 0
	return err
}

// close commits and releases the index.
func (x *index) close() error { return errors.Join(x.commit(), x.db.Close()) }

// size is the number of pages, what was not committed included.
func (x *index) size(ctx context.Context) (n int, err error) {
	if err := x.commit(); err != nil {
		return 0, err
	}
	err = x.db.QueryRowContext(ctx, `SELECT count(*) FROM address`).Scan(&n)
	return n, err
}
