package digest_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/job/export/exporttest"
)

// Read facts about the hosts of a job in one pass over its ledger and visits.
func Example() {
	parent, err := os.MkdirTemp("", "digest")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	r, err := exporttest.Shop(filepath.Join(parent, "shop"), job.Config{})
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
