package main

import (
	"context"

	"github.com/amble-crawler/amble/frontier"
)

// robotsOnly is a Frontier with which no page is requested: a URL is done as soon as the robots.txt of its origin is known.
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
