package items_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/items"
	"github.com/amble-crawler/amble/stores"
)

type lamp struct {
	SKU   string  `json:"sku" db:"sku"`
	Price float64 `json:"price" db:"price"`
}

// visit returns the record that a crawl passes to its sinks after a handler has emitted a lamp.
func visit(l lamp) *sink.Record {
	b, _ := json.Marshal(l)
	return &sink.Record{URL: "https://shop.test/", Data: []json.RawMessage{b}}
}

func ExampleOpenShards() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	s, err := items.OpenShards(dir, "lamps", items.CSV[lamp](), items.Bounds{Rows: 2}) // for crawler.Config.Sinks
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range []lamp{{"a", 9.5}, {"b", 7}, {"c", 8}} {
		if err := s.Append(ctx, visit(l)); err != nil {
			fmt.Println(err)
		}
	}
	if err := s.Close(ctx); err != nil {
		fmt.Println(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, path := range files {
		text, _ := os.ReadFile(path)
		fmt.Printf("%s\n%s", filepath.Base(path), text)
	}
	// Output:
	// lamps-000000000001-000000000002.csv
	// sku,price
	// a,9.5
	// b,7
	// lamps-000000000003-000000000003.csv
	// sku,price
	// c,8
}

// Upload the files of a crawl to a directory, in place of a bucket from s3.Open("s3://crawls/lamps").
func ExampleShards_UploadTo() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	to, err := stores.OpenDir(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer to.Close()
	s, err := items.OpenShards(filepath.Join(dir, "crawl"), "lamps", items.CSV[lamp](), items.Bounds{Rows: 2}) // for crawler.Config.Sinks
	if err == nil {
		err = s.UploadTo(to, "stored", func(err error) { fmt.Println("later:", err) })
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range []lamp{{"a", 9.5}, {"b", 7}, {"c", 8}} {
		if err := s.Append(ctx, visit(l)); err != nil {
			fmt.Println(err)
		}
	}
	if err := errors.Join(s.Close(ctx), s.Upload(ctx)); err != nil { // after Run, which leaves them open
		fmt.Println(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "stored", "*"))
	for _, path := range files {
		fmt.Println(filepath.Base(path))
	}
	// Output:
	// lamps-000000000001-000000000002.csv
	// lamps-000000000003-000000000003.csv
}

func ExampleOpenTable() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:") // or sql.Open("pgx", …) and items.PostgreSQL
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have its own in-memory database
	t, err := items.OpenTable[lamp](ctx, db, items.SQLite, "lamps", "crawls/shop", "sku")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range []lamp{{"a", 9.5}, {"b", 7}} {
		_ = t.Append(ctx, visit(l))
	}
	committed, _ := t.Sync(ctx) // the crawl's frontier stores the offset
	_ = t.Append(ctx, visit(lamp{"a", 1}))
	_, _ = t.Sync(ctx) // the process is killed before the frontier stores this one

	t, err = items.OpenTable[lamp](ctx, db, items.SQLite, "lamps", "crawls/shop", "sku")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := t.Restore(ctx, committed); err != nil {
		fmt.Println(err)
	}
	var price float64
	err = db.QueryRow("SELECT price FROM lamps WHERE sku = 'a'").Scan(&price)
	fmt.Println(price, err)
	// Output: 9.5 <nil>
}
