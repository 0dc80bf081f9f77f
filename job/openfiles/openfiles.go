// Package openfiles shares out the files that a process may have open: what a crawl's outputs and its queue need comes
// first, connections get the rest.
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

// What a crawl may have open besides connections.
const (
	least      = 48 // with fewer, a crawl does not begin
	ownFiles   = 36 // for the process, its outputs and the queue, without tables
	minTables  = 8  // tables of the queue that are open at once
	maxTables  = 1000
	perRequest = 2 // a look-up queries both families of addresses at once
)

// Shares are how many files this process may have open, and for what.
type Shares struct {
	Limit       int // 0: it is not known
	Tables      int // of the queue, at once
	Connections int // and look-ups
}

// Share shares out a limit; 0 is one that is not known.
func Share(limit int) Shares {
	if limit == 0 {
		return Shares{}
	}
	tables := min(max(minTables, limit/4), maxTables)
	return Shares{Limit: limit, Tables: tables, Connections: limit - ownFiles - tables}
}

// Check refuses a limit that is too low even for the outputs.
func Check(limit int) error {
	if 0 < limit && limit < least {
		return fmt.Errorf("this process may have %d open files (ulimit -n): a crawl needs %d", limit, least)
	}
	return nil
}

// Restrain lets a crawl have no more connections than there are files for.
func (s Shares) Restrain(c *crawler.Config) {
	if s.Limit > 0 {
		c.Concurrency = min(c.Concurrency, max(1, s.Connections/(perRequest+1)))
		c.Fetch.MaxIdle = min(fetcher.DefaultMaxIdle, max(1, s.Connections-perRequest*c.Concurrency))
	}
}

// Note says that there are fewer requests at once than were wanted, "" if there are not.
func (s Shares) Note(wanted, now int) string {
	if now >= wanted {
		return ""
	}
	return fmt.Sprintf("this process may have %d open files (ulimit -n), and the crawl's own come first: %s at once instead of %d",
		s.Limit, cli.Plural(now, "request"), wanted)
}
