package check_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/check"
	"github.com/amble-crawler/amble/job/export/exporttest"
)

// Find the broken links of a site that a job has crawled, and name the pages that have them.
func ExampleJob() {
	parent, err := os.MkdirTemp("", "check")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	r, err := exporttest.Shop(filepath.Join(parent, "shop"), job.Config{Links: true, Archive: true})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	result, err := check.Job(context.Background(), r)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range result.Findings {
		fmt.Println(f.Why(), "-", len(f.Pages), "pages")
	}
	fmt.Println("broken:", result.Broken())
	// Output:
	// broken: 0
}
