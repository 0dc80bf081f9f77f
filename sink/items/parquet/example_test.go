package parquet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	library "github.com/parquet-go/parquet-go"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/sink/items"
	"github.com/amble-crawler/amble/sink/items/parquet"
)

func Example() {
	type lamp struct {
		Name  string   `json:"name"`
		Price *float64 `json:"price" parquet:"euros,optional"`
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	s, err := items.OpenShards(dir, "lamps", parquet.Format[lamp](), items.Bounds{}) // for crawler.Config.Sinks
	if err != nil {
		fmt.Println(err)
		return
	}
	emitted := json.RawMessage(`{"name": "A lamp", "price": 9.5}`)
	if err := s.Append(context.Background(), &sink.Record{Data: []json.RawMessage{emitted}}); err != nil {
		fmt.Println(err)
	}
	if err := s.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	rows, err := library.ReadFile[struct {
		Name  string  `parquet:"name"`
		Euros float64 `parquet:"euros,optional"`
	}](filepath.Join(dir, "lamps-000000000001-000000000001.parquet"))
	fmt.Println(rows, err)
	// Output: [{A lamp 9.5}] <nil>
}
