package export_test

import (
	"context"
	"fmt"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/export"
)

// A program exports a job like the command does.
func ExampleWrite() {
	r, err := job.Read("testdata/no-job")
	if err != nil {
		fmt.Println("there is no job")
		return
	}
	defer r.Close() //nolint:errcheck // it was only read
	res, err := export.Write(context.Background(), r, export.CSV(), "job-csv", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, note := range res.Notes {
		fmt.Println(note)
	}
	// Output: there is no job
}
