// Package openfiles divides the open files that a process is allowed: a crawl's outputs and its queue come first, connections get
// the rest.
//
//	err := openfiles.Check(openfiles.Limit()) // an error if there are too few for any crawl
//	shares := openfiles.Share(openfiles.Limit())
package openfiles

import (
	"fmt"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
)

// Open files that a crawl needs besides connections.
const (
	least      = 48 // minimum limit of open files with which a crawl begins
	ownFiles   = 36 // for the process, its outputs and the queue without tables
	minTables  = 8  // minimum of open tables of the queue
	maxTables  = 1000
	perRequest = 2 // a look-up queries both address families at once
)

// Shares divides the process's limit on open files among its uses.
type Shares struct {
	Limit       int // 0: unknown
	Tables      int // open tables of the queue
	Connections int // connections and look-ups
}

// Share divides a limit; 0 means that it is unknown.
func Share(limit int) Shares {
	if limit == 0 {
		return Shares{}
	}
	tables := min(max(minTables, limit/4), maxTables)
	return Shares{Limit: limit, Tables: tables, Connections: limit - ownFiles - tables}
}

// Check returns an error if a limit is too low even for the outputs.
func Check(limit int) error {
	if 0 < limit && limit < least {
		return fmt.Errorf("this process may have %d open files (ulimit -n): a crawl needs %d", limit, least)
	}
	return nil
}

// Restrain limits the connections of a crawl to the available files.
func (s Shares) Restrain(c *crawler.Config) {
	if s.Limit > 0 {
		c.Concurrency = min(c.Concurrency, max(1, s.Connections/(perRequest+1)))
		c.Fetch.MaxIdle = min(fetcher.DefaultMaxIdle, max(1, s.Connections-perRequest*c.Concurrency))
	}
}

// Note returns a message if fewer requests run at once than were wanted, otherwise "".
func (s Shares) Note(wanted, now int) string {
	if now >= wanted {
		return ""
	}
	return fmt.Sprintf("this process may have %d open files (ulimit -n), and the crawl's own come first: %s at once instead of %d",
		s.Limit, cli.Plural(now, "request"), wanted)
}
