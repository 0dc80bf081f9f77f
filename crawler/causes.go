package crawler

import (
	"fmt"
	"sync"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
)

// causes remembers why robots.txt files could not be fetched, so that the visits of URLs that are given up
// because of it can name the cause.
type causes struct {
	mu   sync.Mutex
	last map[string]error // by origin
}

// maxCauses bounds the number of causes remembered; when the table is full, it is emptied.
const maxCauses = 10_000

// note records the outcome of a request for an origin's robots.txt.
func (c *causes) note(origin string, page *fetcher.Page, err error) {
	if err == nil && page != nil {
		switch {
		case page.Wall != "":
			err = &wallError{page.Wall}
		case robots.ForStatus(page.Status) == robots.Unreachable:
			err = fmt.Errorf("status %d", page.Status)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		delete(c.last, origin)
		return
	}
	if c.last == nil || len(c.last) >= maxCauses {
		c.last = map[string]error{}
	}
	c.last[origin] = err
}

// wallError is the cause of a robots.txt that a bot wall answered.
type wallError struct{ wall string }

func (e *wallError) Error() string { return "a challenge of " + e.wall }

// of returns why a visit was denied, nil when there is nothing to add.
func (c *causes) of(origin string, d *politeness.Denied) error {
	if d.Reason != politeness.ReasonRobotsUnreachable {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.last[origin]; err != nil {
		return fmt.Errorf("robots.txt: %w", err)
	}
	return nil
}
