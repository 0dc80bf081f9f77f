package corpus_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/corpus"
	"github.com/amble-crawler/amble/job/export/exporttest"
	"github.com/amble-crawler/amble/job/export/text"
)

// Make a corpus of a crawl and check its files.
func Example() {
	parent, err := os.MkdirTemp("", "corpus")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	r, err := exporttest.Shop(filepath.Join(parent, "shop"), job.Config{Archive: true})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	dir := filepath.Join(parent, "shop-corpus")
	if _, err := export.Write(context.Background(), r, corpus.Kind(text.Options{Refuse: []string{"train-ai"}}), dir, nil); err != nil {
		log.Fatal(err)
	}
	v, err := corpus.Verify(dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Files, "files,", len(v.Differ), "different")
	// Output: 6 files, 0 different
}
