package main

import (
	"context"

	"github.com/amble-crawler/amble/frontier"
)

// robotsOnly is a Frontier whose pages are never requested: as soon as the robots.txt of a URL's origin is known, the URL is done.
type robotsOnly struct {
	*frontier.Memory
	study *study
}

// Settle implements frontier.Frontier.
func (r *robotsOnly) Settle(ctx context.Context, c frontier.Claim, s frontier.Settlement) error {
	if s.Again != nil && r.study.known(c.URL) {
		s.Again = nil
	}
	return r.Memory.Settle(ctx, c, s)
}
