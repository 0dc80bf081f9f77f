package report_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export/exporttest"
	"github.com/amble-crawler/amble/job/report"
)

// Write the report of a job into its directory: the page, the lists to which it links, and the data sheet.
func Example() {
	parent, err := os.MkdirTemp("", "report")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	r, err := exporttest.Shop(filepath.Join(parent, "shop"), job.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	if err := report.Write(r, report.Commands{}); err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"report.html", "report.json", "datasheet.md", "SHA256SUMS"} {
		if _, err := os.Stat(filepath.Join(r.Dir(), name)); err != nil {
			log.Fatal(err)
		}
		fmt.Println(name)
	}
	// Output:
	// report.html
	// report.json
	// datasheet.md
	// SHA256SUMS
}
