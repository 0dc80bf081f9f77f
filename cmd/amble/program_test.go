package main

import (
	"context"
	"fmt"
	"os"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
)

// program implements the script command "program DIR SEED [handler]", which uses the packages without the amble command. It makes a job
// directory or resumes the existing one, and fetches two more pages each time.
func program() {
	dir, seed := os.Args[1], os.Args[2]
	var config job.Config
	config.Crawl.Politeness.Delay = crawler.NoDelay
	config.Crawl.Limits.Pages = 2
	if r, err := job.Read(dir); err == nil {
		if rep, err := r.Report(); err == nil {
			config.Crawl.Limits.Pages += crawler.Limit(rep.Pages)
		}
		_ = r.Close()
	}
	if len(os.Args) > 3 {
		config.Crawl.Handler = crawler.HandlerFunc(func(context.Context, *crawler.Visit) error { return nil })
	}
	j, err := job.Start(dir, config, seed)
	if err == nil {
		_, err = j.Run(context.Background())
		if closeErr := j.Close(); err == nil {
			err = closeErr
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
