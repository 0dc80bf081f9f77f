package disk

import (
	"context"
	"sync"

	"github.com/amble-crawler/amble/frontier"
)

// calls counts the calls under way, so that Close can wait for them.
type calls struct {
	failure *failure

	mu     sync.Mutex
	closed bool
	under  sync.WaitGroup
}

// enter begins a call; unless it returns an error, leave must end it.
func (c *calls) enter(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return frontier.ErrClosed
	}
	if err := c.failure.err(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.under.Add(1)
	return nil
}

func (c *calls) leave() { c.under.Done() }

// close makes every further call fail.
func (c *calls) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return frontier.ErrClosed
	}
	c.closed = true
	return nil
}
