package crawler

import (
	"errors"
	"fmt"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// checkSeeds reports what is wrong with Config.Seeds, by field.
func checkSeeds(seeds []Request) error {
	var errs []error
	for i, q := range seeds {
		if _, err := weburl.Parse(q.URL); err != nil {
			errs = append(errs, &ConfigError{fmt.Sprintf("Seeds[%d].URL", i), "is no URL to crawl: " + err.Error(), err})
		}
	}
	return errors.Join(errs...)
}

// seedURLs are the URLs of requested seeds and of plain ones, in this order.
func seedURLs(requests []Request, plain []string) []string {
	all := make([]string, 0, len(requests)+len(plain))
	for _, q := range requests {
		all = append(all, q.URL)
	}
	return append(all, plain...)
}

// checkScope reports that a crawl has nothing to do because its rules leave out every seed.
func (r *run) checkScope() error {
	if r.left() > 0 {
		return nil
	}
	var rule string
	for _, u := range r.seeds {
		d := r.judge(u, frontier.KindSeed)
		if d.In {
			return nil
		}
		if rule == "" {
			rule = d.Rule
		}
	}
	more := ""
	if n := len(r.seeds) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Errorf("%w: %s (%s)%s", ErrNothingInScope, r.seeds[0], rule, more)
}
