package crawler

import (
	"encoding/json"
	"strings"
	"time"
)

// Inherit returns what a crawl that continues another with some of its hosts has of one of its values, by the name under which a
// durable Frontier keeps it for the owner "" (frontier.Durable.Values); nil if it has none. ours reports which hosts (weburl.URL.Host)
// it continues with. Counts of visits stay with the other crawl, which has their records, and so do the values of Config.AtCommit. All
// that makes requests polite is in both: pauses, robots.txt files, pinned addresses.
func Inherit(name string, value []byte, ours func(host string) bool) []byte {
	if name == keyTally {
		return inheritTally(value)
	}
	for _, prefix := range []string{keyHost, keyUsed} {
		if host, is := strings.CutPrefix(name, prefix); is && !ours(host) {
			return nil
		}
	}
	if !strings.HasPrefix(name, "crawler/") {
		return nil
	}
	return value
}

// inheritTally returns the counts of a crawl that has counted nothing, and is not new all the same: sitemaps that an earlier process may
// not have queued are looked for.
func inheritTally(value []byte) []byte {
	var was kept
	if json.Unmarshal(value, &was) != nil {
		return value // which the crawl will say
	}
	now := kept{Report: newTally(time.Time{}).r, Hosts: was.Hosts}
	now.Report.Started, now.Report.Runs, now.Report.Sitemaps = was.Report.Started, 0, nil
	b, err := json.Marshal(now)
	if err != nil {
		return value
	}
	return b
}
