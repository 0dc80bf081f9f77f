package replay_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/replay"
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

// Repeat a crawl from its archive, without a request, and compare what comes of it with the record.
func ExampleRun() {
	parent, err := os.MkdirTemp("", "replay")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	r, err := crawled(filepath.Join(parent, "shop"), job.Config{Archive: true})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	result, err := replay.Run(context.Background(), r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text())
	// Output:
	// 2 visits, 0 differ
}
