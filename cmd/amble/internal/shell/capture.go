package shell

import (
	"sync"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Capture keeps the responses of a crawl in memory. It is meant for a page or two, with their robots.txt. The zero Capture is empty and
// ready to use; it is safe for concurrent use.
type Capture struct {
	mu      sync.Mutex
	answers map[weburl.URL]*fetcher.Recorded
}

// Add stores the response of p, if fetcher.Config.Record has recorded it. It never fails; it has an error result to match
// crawler.Config.KeepRobots.
func (c *Capture) Add(p *fetcher.Page) error {
	if p == nil || p.Raw == nil {
		return nil
	}
	x := sink.Exchange{Head: p.Raw.Head, Body: p.Raw.Body}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers == nil {
		c.answers = map[weburl.URL]*fetcher.Recorded{}
	}
	c.answers[p.URL] = &fetcher.Recorded{Addr: p.Addr, Head: x.Head, Payload: x.Payload(), Truncated: p.Truncated}
	return nil
}

// Apply changes cfg to a crawl that takes its responses from c, like job.Recording.Apply.
func (c *Capture) Apply(cfg *crawler.Config) error {
	f, err := fetcher.NewReplayer(cfg.Fetch, c.find)
	if err != nil {
		return err
	}
	cfg.Fetcher, cfg.Retries.Max, cfg.Politeness.Offline = f, crawler.Zero, true
	return nil
}

func (c *Capture) find(u weburl.URL, _ politeness.Purpose) (*fetcher.Recorded, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.answers[u]; a != nil {
		return a, nil
	}
	return nil, fetcher.ErrNotRecorded
}
