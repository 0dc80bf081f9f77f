package replay_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export/exporttest"
	"github.com/amble-crawler/amble/job/replay"
)

// Repeat a crawl from its archive without making requests, and compare the outcome with the recorded visits.
func ExampleRun() {
	parent, err := os.MkdirTemp("", "replay")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	r, err := exporttest.Shop(filepath.Join(parent, "shop"), job.Config{Archive: true})
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
