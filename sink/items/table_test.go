package items_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/items"
	"github.com/amble-crawler/amble/sink/sinktest"
)

func openSQLite(path string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)")
}

// full is a sink that converts SQLite's error for a full disk to the operating system's.
type full struct{ sink.Sink }

func (f full) Sync(ctx context.Context) (int64, error) {
	n, err := f.Sink.Sync(ctx)
	return n, of(err)
}
func (f full) Restore(ctx context.Context, n int64) error { return of(f.Sink.Restore(ctx, n)) }

func of(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code()&0xff == 13 { // SQLITE_FULL
		return errors.Join(err, syscall.ENOSPC)
	}
	if errors.As(err, &e) && e.Code()&0xff == 14 { // SQLITE_CANTOPEN
		return errors.Join(err, os.ErrPermission)
	}
	return err
}

func tableSuite() sinktest.Suite {
	open := func(dir string, room int) (sink.Sink, error) {
		db, err := openSQLite(filepath.Join(dir, "x.db"))
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		table, err := items.OpenTable[page](context.Background(), db, items.SQLite, "pages", "job", "url")
		if err == nil && room > 0 {
			_, err = db.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", 6+room/4096))
		}
		if err != nil {
			return nil, errors.Join(of(err), db.Close())
		}
		return emitting{full{table}, db}, nil
	}
	return sinktest.Suite{
		Open: func(dir string) (sink.Sink, error) { return open(dir, 0) },
		Read: func(dir string, _ bool) (urls []string, err error) {
			if _, err := os.Stat(filepath.Join(dir, "x.db")); err != nil {
				return nil, nil
			}
			db, err := openSQLite(filepath.Join(dir, "x.db"))
			if err != nil {
				return nil, err
			}
			defer db.Close()
			err = db.QueryRow("SELECT coalesce(json_group_array(url ORDER BY depth), '[]') FROM pages").Scan(into(&urls))
			return urls, err
		},
		Runs:    10,
		InPlace: true,
	}
}

type scanned struct{ to any }

func (s scanned) Scan(from any) error { return json.Unmarshal([]byte(from.(string)), s.to) }

func into(to any) sql.Scanner { return scanned{to} }

func TestTableKeepsContractOfSinks(t *testing.T) { sinktest.Run(t, tableSuite()) }

func TestTableOutlivesKilledProcesses(t *testing.T) {
	sinktest.RunKilled(t, tableSuite(), long.Seeds(3, 12))
}

type product struct {
	SKU    string            `db:"sku" json:"sku"`
	Shop   int32             `json:"shop"`
	Name   string            `json:"name"`
	Price  *float64          `json:"price"`
	Stock  uint              `json:"stock"`
	Sold   bool              `json:"sold"`
	Seen   time.Time         `json:"seen"`
	Tags   []string          `json:"tags"`
	Facts  map[string]string `json:"facts"`
	Raw    []byte            `json:"raw"`
	Hidden string            `json:"hidden" db:"-"`
}

// This test runs random results of two jobs, kills, restores and failing statements, and compares the table with a model.
func TestTableAgreesWithModel(t *testing.T) {
	databases(t, func(t *testing.T, d items.Dialect, db *sql.DB) {
		for seed := range uint64(long.Seeds(6, 60)) {
			modelled(t, d, db, seed)
		}
	})
}

// databases runs f for each dialect of SQL, with a database of that dialect.
func databases(t *testing.T, f func(t *testing.T, d items.Dialect, db *sql.DB)) {
	t.Run("SQLite", func(t *testing.T) {
		db, err := openSQLite(filepath.Join(t.TempDir(), "x.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		f(t, items.SQLite, db)
	})
	t.Run("PostgreSQL", func(t *testing.T) { f(t, items.PostgreSQL, postgres(t)) })
}

// result represents one result of a job. The model keeps results in the order of their insertion.
type result struct {
	job int
	product
}

func modelled(t *testing.T, d items.Dialect, db *sql.DB, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	name := fmt.Sprintf("products %d", seed)
	open := func(job int) *items.Table[product] {
		table, err := items.OpenTable[product](t.Context(), db, d, name, fmt.Sprint("job ", job), "sku", "shop")
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	var history []result
	pending := map[int][]result{}
	tables := map[int]*items.Table[product]{0: open(0), 1: open(1)}
	count := func(job int) (n int64) {
		for _, r := range history {
			if r.job == job {
				n++
			}
		}
		return n
	}
	for range 60 {
		job := rng.IntN(2)
		table := tables[job]
		switch k := rng.IntN(8); {
		case k < 4:
			p := random(rng)
			b, _ := json.Marshal(p)
			if err := table.Append(t.Context(), &sink.Record{Data: []json.RawMessage{b}}); err != nil {
				t.Fatal(err)
			}
			pending[job] = append(pending[job], result{job, p})
		case k < 6:
			history = append(history, pending[job]...)
			pending[job] = nil
			if n, err := table.Sync(t.Context()); err != nil || n != count(job) {
				t.Fatalf("seed %d: %d, %v, want %d", seed, n, err, count(job))
			}
		case k == 6: // killed: pending rows are lost
			tables[job], pending[job] = open(job), nil
		default:
			to := rng.Int64N(count(job) + 1)
			if err := table.Restore(t.Context(), count(job)+1); err == nil {
				t.Fatal("restored beyond the end")
			}
			if err := table.Restore(t.Context(), to); err != nil {
				t.Fatal(err)
			}
			pending[job] = nil
			n := int64(0)
			history = slices.DeleteFunc(history, func(r result) bool {
				if r.job == job {
					n++
				}
				return r.job == job && n > to
			})
		}
		want := map[string]product{}
		for _, r := range history {
			r.Hidden = ""
			want[fmt.Sprint(r.SKU, r.Shop)] = r.product
		}
		if got := stored(t, d, db, name); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d:\n%v\nwant\n%v", seed, got, want)
		}
	}
}

func random(rng *rand.Rand) product {
	p := product{
		SKU: fmt.Sprint("s", rng.IntN(3)), Shop: rng.Int32N(2), Name: "it's \"x\" \u202e", Stock: rng.UintN(9), Sold: rng.IntN(2) == 0, Hidden: "x",
		Seen: time.Date(2026, 1, 1+rng.IntN(9), 1, 2, 3, 4000, time.UTC), Tags: []string{"a", "b"}, Facts: map[string]string{"k": "v"}, Raw: []byte{0, 255, byte(rng.IntN(99))},
	}
	if price := rng.Float64(); price < 0.7 {
		p.Price = &price
	}
	return p
}

// stored reads the table without using the tested code.
func stored(t *testing.T, d items.Dialect, db *sql.DB, name string) map[string]product {
	t.Helper()
	rows, err := db.Query(`SELECT sku, shop, name, price, stock, sold, seen, tags, facts, raw FROM "` + name + `"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]product{}
	for rows.Next() {
		var p product
		var tags, facts string
		var seen any = &p.Seen
		var text string
		if d == items.SQLite {
			seen = &text
		}
		if err := rows.Scan(&p.SKU, &p.Shop, &p.Name, &p.Price, &p.Stock, &p.Sold, seen, &tags, &facts, &p.Raw); err != nil {
			t.Fatal(err)
		}
		if d == items.SQLite {
			p.Seen, _ = time.Parse(time.RFC3339Nano, text)
		}
		p.Seen = p.Seen.UTC()
		if err := errors.Join(json.Unmarshal([]byte(tags), &p.Tags), json.Unmarshal([]byte(facts), &p.Facts)); err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprint(p.SKU, p.Shop)] = p
	}
	return all
}

func TestHostileTextIsStored(t *testing.T) {
	databases(t, func(t *testing.T, d items.Dialect, db *sql.DB) {
		table, err := items.OpenTable[product](t.Context(), db, d, `a "b"; --`, "job", "sku")
		if err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(product{SKU: "a\x00b'; DROP TABLE x", Tags: []string{"\x00"}})
		r := &sink.Record{Data: []json.RawMessage{b, b}}
		if err := errors.Join(table.Append(t.Context(), r), table.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		table, err = items.OpenTable[product](t.Context(), db, d, `a "b"; --`, "job", "sku")
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Restore(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM "a ""b""; --"`).Scan(&n); err != nil || n != 1 {
			t.Error(n, err)
		}
		if err := table.Restore(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if err := db.QueryRow(`SELECT count(*) FROM "a ""b""; --"`).Scan(&n); err != nil || n != 0 {
			t.Error(n, err)
		}
	})
}

// If a second process writes to the table for the same job, it gets an error before it has written anything.
func TestTableOfOneJobHasOneWriter(t *testing.T) {
	databases(t, func(t *testing.T, d items.Dialect, db *sql.DB) {
		var tables []*items.Table[page]
		for range 2 {
			table, err := items.OpenTable[page](t.Context(), db, d, "one writer", "job", "url")
			if err != nil {
				t.Fatal(err)
			}
			if err := (emitting{Sink: table}).Append(t.Context(), &sink.Record{URL: "a"}); err != nil {
				t.Fatal(err)
			}
			tables = append(tables, table)
		}
		if n, err := tables[0].Sync(t.Context()); n != 1 || err != nil {
			t.Error(n, err)
		}
		if _, err := tables[1].Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "another process") {
			t.Error(err)
		}
	})
}

func TestTablesThatCannotBeAreRefused(t *testing.T) {
	db, err := openSQLite(filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for key, want := range maps.All(map[string]string{"": "a key", "none": "no column", "price": "no column", "seen": "no column"}) {
		keys := []string{key}
		if key == "" {
			keys = nil
		}
		if _, err := items.OpenTable[product](t.Context(), db, items.SQLite, "x", "job", keys...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, err := items.OpenTable[int](t.Context(), db, items.SQLite, "x", "job", "a"); err == nil {
		t.Error("an int has columns")
	}
}
