package crawler

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/amble-crawler/amble/weburl"
)

// checkSeeds reports what is wrong with Config.Seeds, by field.
func checkSeeds(seeds []Request) error {
	var errs []error
	for i, q := range seeds {
		if _, err := weburl.Parse(q.URL); err != nil {
			errs = append(errs, &ConfigError{fmt.Sprintf("Seeds[%d].URL", i), "is not a URL to crawl: " + err.Error(), err})
		}
	}
	return errors.Join(errs...)
}

// seedURLs returns the URLs of the seeds given as Requests, followed by the plain ones.
func seedURLs(requests []Request, plain []string) []string {
	all := make([]string, 0, len(requests)+len(plain))
	for _, q := range requests {
		all = append(all, q.URL)
	}
	return append(all, plain...)
}

func parseSeeds(seeds []string, maxLen int) ([]weburl.URL, error) {
	if len(seeds) == 0 {
		return nil, ErrNoSeeds
	}
	var errs []error
	urls := make([]weburl.URL, 0, len(seeds))
	for _, s := range seeds {
		u, err := weburl.Parse(s)
		if err == nil && len(u.String()) > maxLen {
			err = fmt.Errorf("longer than %d bytes", maxLen)
		}
		if err != nil {
			errs = append(errs, &SeedError{Seed: s, Err: err})
			continue
		}
		urls = append(urls, u)
	}
	return urls, errors.Join(errs...)
}

// allLoopback reports whether a contact may be missing: all requests stay on this machine.
func allLoopback(seeds []weburl.URL) bool {
	for _, u := range seeds {
		addr, err := netip.ParseAddr(u.Hostname())
		if u.Hostname() != "localhost" && (err != nil || !addr.IsLoopback()) {
			return false
		}
	}
	return true
}
