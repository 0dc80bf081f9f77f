package digest_test

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
	"github.com/amble-crawler/amble/job/digest"
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

// Read the facts about the hosts of a job: one pass over its ledger and its visits.
func Example() {
	parent, err := os.MkdirTemp("", "digest")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	r, err := crawled(filepath.Join(parent, "shop"), job.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	d := digest.New(digest.Config{})
	for e, err := range r.Ledger() {
		if err != nil {
			log.Fatal(err)
		}
		d.Add(e)
	}
	total := d.Totals()
	fmt.Println(total.Requests, "requests")
	// Output:
	// 3 requests
}
