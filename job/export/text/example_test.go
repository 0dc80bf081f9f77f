package text_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/exporttest"
	"github.com/amble-crawler/amble/job/export/text"
)

// Read the texts of an archive.
func Example() {
	parent, err := os.MkdirTemp("", "text")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	r, err := exporttest.Shop(filepath.Join(parent, "shop"), job.Config{Archive: true})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	out := filepath.Join(parent, "shop.jsonl")
	if _, err := export.Write(context.Background(), r, text.Text(text.Options{}), out, nil); err != nil {
		log.Fatal(err)
	}
	f, err := os.Open(out)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for rows := json.NewDecoder(f); rows.More(); {
		var row text.Row
		if err := rows.Decode(&row); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %q\n", row.Title, row.Text)
	}
	// Output:
	// Shop: "a pen"
	// Shop: "a pen"
}
