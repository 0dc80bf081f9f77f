package disk

import (
	"context"

	"github.com/amble-crawler/amble/frontier"
)

// Revive queues URLs that are done once more, behind the others of their hosts, for a crawl that tries
// again what was not to be had before. It returns how many those were. URLs that are queued already stay
// as they are, and unknown ones are added. It is on disk when it returns. The errors are those of Add.
func (s *Store) Revive(ctx context.Context, rs ...frontier.Request) (revived int, err error) {
	o := &op{steps: make([]step, 1), revive: true}
	if err := s.enqueue(ctx, o, rs); err != nil {
		return 0, err
	}
	return -o.done, nil
}
