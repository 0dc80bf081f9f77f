package watch_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/watch"
)

// Crawl two pages, and watch them for an instant. A real watch takes days, as set by Config.For.
func Example() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/news>news</a> <a href=/>home</a>")
	}))
	defer site.Close()
	parent, err := os.MkdirTemp("", "watch")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "site")

	var config job.Config
	config.Crawl.Politeness.Delay = crawler.NoDelay // on loopback
	j, err := job.Create(dir, config, site.URL+"/")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := j.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	if err := j.Close(); err != nil {
		log.Fatal(err)
	}

	w, err := watch.Open(dir, watch.Config{
		Budget: 2000, For: time.Millisecond,
		Found: func(c watch.Change) { fmt.Println(c.Change, c.URL) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	for _, h := range w.Status().Hosts {
		fmt.Println(h.Pages, "pages are known, of which", len(h.TooFast), "change too fast to follow")
	}
	// Output: 2 pages are known, of which 0 change too fast to follow
}
