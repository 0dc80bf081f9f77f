package mirror_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/exporttest"
	"github.com/amble-crawler/amble/job/export/mirror"
)

// Make a copy of the pages in an archive, as files to browse.
func ExampleKind() {
	parent, err := os.MkdirTemp("", "mirror")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	r, err := exporttest.Shop(filepath.Join(parent, "shop"), job.Config{Archive: true})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	out := filepath.Join(parent, "files")
	if _, err := export.Write(context.Background(), r, mirror.Kind(), out, nil); err != nil {
		log.Fatal(err)
	}
	err = filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".html" {
			fmt.Println(filepath.Base(path))
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// index.html
	// pen.html
}
