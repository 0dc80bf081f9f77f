package main

import (
	"os"
	"path/filepath"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
)

// since makes cfg the recrawl of an earlier crawl: those of its pages that are in scope are visited again, by
// conditional requests.
func (c *crawlFlags) since(cfg *crawler.Config) error {
	if c.Since == "" {
		return nil
	}
	path := c.Since
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, visitsName)
	}
	f, err := os.Open(path)
	if err != nil {
		return cli.Usage("--since: %w: name a job directory or its %s", err, visitsName)
	}
	defer func() { _ = f.Close() }() // only read
	past, err := crawler.ReadHistory(f, 0)
	if err != nil {
		return cli.Usage("--since: %s: %w", path, err)
	}
	cfg.Since = past
	return nil
}
