package work

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/weburl"
)

// slots bounds the requests that a node has in flight, of all its shards together.
type slots chan struct{}

// clocks is crawler.Config.Clocks.
type clocks = func(ctx context.Context, u weburl.URL, addr netip.Addr) (*fetcher.Clock, error)

// limit takes a slot before the clocks of a request, and gives it back with them.
func (s slots) limit(take clocks) clocks {
	return func(ctx context.Context, u weburl.URL, addr netip.Addr) (*fetcher.Clock, error) {
		select {
		case s <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		c, err := take(ctx, u, addr)
		if err != nil {
			<-s
			return nil, err
		}
		if c == nil {
			c = &fetcher.Clock{}
		}
		limited, done, once := *c, c.Done, sync.Once{}
		limited.Done = func(rest time.Duration) {
			once.Do(func() { <-s })
			if done != nil {
				done(rest)
			}
		}
		return &limited, nil
	}
}
