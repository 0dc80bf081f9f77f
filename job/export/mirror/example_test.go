package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
	"github.com/amble-crawler/amble/job/export/mirror"
)

// crawled crawls two pages on loopback into a new job directory.
func crawled(dir string, config job.Config) (*job.Reader, error) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>Shop</title><a href=/pen>a pen</a>")
	}))
	defer site.Close()
	config.Crawl.Politeness.Delay = crawler.None // on loopback
	j, err := job.Create(dir, config, site.URL+"/")
	if err != nil {
		return nil, err
	}
	_, err = j.Run(context.Background())
	if err = errors.Join(err, j.Close()); err != nil {
		return nil, err
	}
	return job.Read(dir)
}

// Make files to browse of the pages in an archive.
func ExampleKind() {
	parent, err := os.MkdirTemp("", "mirror")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	r, err := crawled(filepath.Join(parent, "shop"), job.Config{Archive: true})
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
