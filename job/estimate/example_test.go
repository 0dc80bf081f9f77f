package estimate_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/estimate"
)

// Estimate the share of pages that are gone, by media type, from a job crawled with crawler.Config.Sample.
func Example() {
	r, err := job.Read("job")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	res, err := estimate.Run(context.Background(), r, estimate.Question{Of: "fetch_status = 404", By: "content_mime_type"})
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range res.Groups {
		if g.Value != nil {
			fmt.Println(*g.Value, g.Mean, g.Of.Low, g.Of.High)
		}
	}
	if err := res.WriteText(os.Stdout); err != nil {
		log.Fatal(err)
	}
}
