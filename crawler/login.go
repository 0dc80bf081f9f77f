package crawler

import (
	"context"
	"fmt"

	"github.com/amble-crawler/amble/fetcher"
)

// login calls Config.Login.
func (r *run) login(ctx context.Context) error {
	if r.cfg.Login == nil || r.counter != nil && r.left() == 0 {
		return nil
	}
	client := *r.client
	client.Fetcher, client.Answered = r.fetcher, r.loginAnswered
	if err := r.cfg.Login(ctx, &client); err != nil {
		return fmt.Errorf("crawler: Login: %w", err)
	}
	return nil
}

// loginAnswered counts a request of Config.Login. Of its exchanges, those for a robots.txt are archived: another one may
// show what only somebody who has logged in can see, or how to.
func (r *run) loginAnswered(ctx context.Context, a *fetcher.Answer) {
	r.requested(ctx, a)
}
