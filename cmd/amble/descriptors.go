package main

import (
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
)

// What a crawl may have open besides connections.
const (
	leastFiles = 48 // with fewer, a crawl does not begin
	ownFiles   = 36 // the process's, the outputs' and the queue's, tables aside
	minTables  = 8  // tables of the queue that are open at once
	maxTables  = 1000
	perRequest = 2 // a look-up asks for both families of addresses at once
)

// files is how many files this process may have open, and of what.
type files struct {
	limit       int // 0: it is not known
	tables      int // of the queue, at once
	connections int // and look-ups
}

// shareFiles shares out what the system allows: what the outputs need comes first.
func shareFiles(limit int) files {
	if limit == 0 {
		return files{}
	}
	tables := min(max(minTables, limit/4), maxTables)
	return files{limit: limit, tables: tables, connections: limit - ownFiles - tables}
}

// checkFiles refuses a limit by which not even the outputs have what they need.
func checkFiles() error {
	n := fileLimit()
	return cli.Refuse(0 < n && n < leastFiles, "this process may have %d open files (ulimit -n): a crawl needs %d", n, leastFiles)
}

// restrain lets a crawl have no more connections than there are files for.
func (s files) restrain(c *crawler.Config) {
	if s.limit > 0 {
		c.Concurrency = min(c.Concurrency, max(1, s.connections/(perRequest+1)))
		c.Fetch.MaxIdle = min(fetcher.DefaultMaxIdle, max(1, s.connections-perRequest*c.Concurrency))
	}
}

// restrain does so, and says if that makes fewer requests at once than were wanted.
func (u *ui) restrain(c *crawler.Config) {
	s, wanted := shareFiles(fileLimit()), c.Concurrency
	s.restrain(c)
	if c.Concurrency < wanted {
		u.tell("this process may have %d open files (ulimit -n), and the crawl's own come first: %s at once instead of %d",
			s.limit, cli.Plural(c.Concurrency, "request"), wanted)
	}
}
