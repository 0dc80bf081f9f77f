package jobs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract/css"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/jobs"
)

var title = css.MustCompile("title")

// A service starts jobs, gives the name of the program that handles their pages, and reads the results. After a restart of the service, the
// same calls continue where they stopped.
func Example() {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>Tea, 100 g</title>")
	}))
	defer shop.Close()
	dir, err := os.MkdirTemp("", "jobs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	m, err := jobs.Open(dir, jobs.Config{Running: 20, Programs: map[string]jobs.Program{
		"titles": func(_ json.RawMessage, c *job.Config) error {
			c.Crawl.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
				tree, err := v.Tree()
				if err != nil || tree == nil {
					return err
				}
				return v.Emit(css.Text(tree, title))
			})
			return nil
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	info, err := m.Start(jobs.Request{Key: "tea", Program: "titles", Seeds: []string{shop.URL + "/"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for r, err := range m.Results(context.Background(), info.ID, 0) {
		var visit struct{ Data json.RawMessage }
		if err == nil {
			err = json.Unmarshal(r.Visit, &visit)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.N, string(visit.Data))
	}
	if err := m.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output: 1 ["Tea, 100 g"]
}
