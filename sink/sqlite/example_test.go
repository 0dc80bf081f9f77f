package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/sqlite"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "shop.db")
	s, err := sqlite.Open(path, "products") // one of a crawler's sinks
	if err != nil {
		fmt.Println(err)
		return
	}
	err = s.Append(context.Background(), &sink.Record{
		URL:  "https://shop.test/lamps",
		Data: []json.RawMessage{json.RawMessage(`{"name": "A lamp", "price": 9.5}`)},
	})
	if err != nil {
		fmt.Println(err)
	}
	if err := s.Close(context.Background()); err != nil {
		fmt.Println(err)
	}

	db, err := sql.Open("sqlite", path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	var name, page string
	var price float64
	if err := db.QueryRow("SELECT name, price, _page FROM products").Scan(&name, &price, &page); err != nil {
		fmt.Println(err)
	}
	fmt.Println(name, price, page)
	// Output: A lamp 9.5 https://shop.test/lamps
}
