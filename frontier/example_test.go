package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// A minimal crawl: claim a URL, fetch it, settle it with the links found, until the queue is empty.
func Example() {
	web := map[string][]string{
		"http://a.test/":  {"/1", "/2", "http://b.test/"},
		"http://a.test/1": {"/", "/2"},
	}
	ctx := context.Background()
	f := frontier.NewMemory(frontier.MemoryConfig{})
	seed, err := weburl.Parse("http://a.test/")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := f.Add(ctx, frontier.Request{URL: seed, Kind: frontier.KindSeed}); err != nil {
		log.Fatal(err)
	}
	for {
		c, err := f.Claim(ctx)
		if errors.Is(err, frontier.ErrDrained) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Depth, c.URL)
		var found []frontier.Request
		for _, ref := range web[c.URL.String()] {
			if u, err := c.URL.Resolve(ref); err == nil {
				found = append(found, frontier.Request{URL: u, Depth: c.Depth + 1, Via: c.URL})
			}
		}
		if err := f.Settle(ctx, c, frontier.Settlement{Links: found}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("%+v\n", f.Stats())
	// Output:
	// 0 http://a.test/
	// 1 http://a.test/1
	// 1 http://b.test/
	// 1 http://a.test/2
	// {Queued:0 Waiting:0 Claimed:0 Done:4 Rejected:0 Hosts:0}
}

// A failed URL is put back. It stays known, and is tried again after the URLs that have not been tried yet.
func ExampleAgain() {
	ctx := context.Background()
	f := frontier.NewMemory(frontier.MemoryConfig{})
	for _, s := range []string{"http://a.test/1", "http://a.test/2"} {
		u, err := weburl.Parse(s)
		if err != nil {
			log.Fatal(err)
		}
		_, _ = f.Add(ctx, frontier.Request{URL: u})
	}
	for range 3 {
		c, err := f.Claim(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.URL, "attempt", c.Attempt)
		var s frontier.Settlement
		if c.URL.Path() == "/1" && c.Attempt == 0 {
			s.Again = &frontier.Again{Retry: true}
		}
		if err := f.Settle(ctx, c, s); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// http://a.test/1 attempt 0
	// http://a.test/2 attempt 0
	// http://a.test/1 attempt 1
}
