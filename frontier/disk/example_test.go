package disk_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/weburl"
)

// A crawl that is interrupted and resumed. A page's record and the end of its claim become durable together.
func Example() {
	dir, err := os.MkdirTemp("", "crawl")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	crawl := filepath.Join(dir, "frontier")
	for day := 1; ; day++ {
		fmt.Println("day", day)
		if err := visit(crawl, 2); errors.Is(err, frontier.ErrDrained) {
			break
		} else if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// day 1
	// http://a.test/
	// http://a.test/1
	// day 2
	// http://a.test/2
	// 3 records
}

// visit visits at most the given number of pages of the crawl in dir.
func visit(dir string, pages int) error {
	web := map[string][]string{"http://a.test/": {"/1", "/2"}, "http://a.test/1": {"/", "/2"}}
	ctx := context.Background()
	f, err := disk.Open(dir, disk.Config{})
	if err != nil {
		return err
	}
	defer f.Close()
	seed, err := weburl.Parse("http://a.test/")
	if err != nil {
		return err
	}
	if _, err := f.Add(ctx, frontier.Request{URL: seed, Kind: frontier.KindSeed}); err != nil { // on day 2 the seed is already known
		return err
	}
	records := f.Offsets("")["records"] // the output is truncated to this size before the crawl continues
	for range pages {
		c, err := f.Claim(ctx)
		if errors.Is(err, frontier.ErrDrained) {
			fmt.Println(records, "records")
		}
		if err != nil {
			return err
		}
		fmt.Println(c.URL) // here a crawler fetches the page and writes its record
		if err := f.Release(ctx, c, time.Time{}); err != nil {
			return err
		}
		end := frontier.End{Claim: c}
		for _, ref := range web[c.URL.String()] {
			if u, err := c.URL.Resolve(ref); err == nil {
				end.Settlement.Links = append(end.Settlement.Links, frontier.Request{URL: u, Depth: c.Depth + 1, Via: c.URL})
			}
		}
		records++
		// Here a crawler syncs its output, for many pages at once.
		if err := f.Commit(ctx, []frontier.End{end}, frontier.Checkpoint{Offsets: map[string]int64{"records": records}}); err != nil {
			return err
		}
	}
	return nil
}
