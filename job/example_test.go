package job_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
)

// Create makes the same job directory as "amble crawl -o", so the command can resume, verify, explain and report the job.
func Example() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>")
	}))
	defer site.Close()
	parent, err := os.MkdirTemp("", "job")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "site")

	var config job.Config
	config.Crawl.Limits.Pages = 2
	config.Crawl.Politeness.Delay = crawler.NoDelay // on loopback
	j, err := job.Create(dir, config, site.URL+"/")
	if err != nil {
		log.Fatal(err)
	}
	report, err := j.Run(context.Background())
	if err = closed(j, err); err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Pages, "pages,", report.Left, "left")

	config.Crawl.Limits.Pages = 100
	if j, err = job.Resume(dir, config, []string{site.URL + "/"}); err != nil {
		log.Fatal(err)
	}
	report, err = j.Run(context.Background())
	if err = closed(j, err); err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Pages, "pages,", report.Left, "left")

	r, err := job.Read(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	found, err := r.Verify()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(found.Violations), "violations")
	// Output:
	// 2 pages, 2 left
	// 4 pages, 0 left
	// 0 violations
}

// Find which of the values that a handler emitted have changed between two crawls.
func ExampleChanges() {
	price := 9.5
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "lamp costs %v", price)
	}))
	defer site.Close()
	parent, err := os.MkdirTemp("", "job")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)

	type product struct {
		Name  string  `json:"name"`
		Price float64 `json:"price"`
	}
	crawl := func(dir string) *job.Reader {
		var config job.Config
		config.Crawl.Politeness.Delay = crawler.NoDelay // on loopback
		config.Crawl.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
			var p product
			if n, _ := fmt.Sscanf(string(v.Page.Body), "%s costs %v", &p.Name, &p.Price); n < 2 {
				return nil
			}
			return v.Emit(p)
		})
		j, err := job.Create(filepath.Join(parent, dir), config, site.URL+"/")
		if err != nil {
			log.Fatal(err)
		}
		_, err = j.Run(context.Background())
		if err = closed(j, err); err != nil {
			log.Fatal(err)
		}
		r, err := job.Read(j.Dir())
		if err != nil {
			log.Fatal(err)
		}
		return r
	}
	monday := crawl("monday")
	defer monday.Close()
	price = 7
	tuesday := crawl("tuesday")
	defer tuesday.Close()

	for c, err := range job.Changes(func(p product) string { return p.Name }, monday, tuesday) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Key, c.Fields, c.Before.Price, c.After.Price)
	}
	// Output: lamp [price] 9.5 7
}

func closed(j *job.Job, err error) error {
	if closeErr := j.Close(); err == nil {
		err = closeErr
	}
	return err
}
