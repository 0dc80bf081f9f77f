package main

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/amble-crawler/amble/internal/cli"
)

// freedom is how a setting may differ when a job goes on.
type freedom int

const (
	fixed freedom = iota + 1 // what was decided by it is in the job: links, refusals, names of URLs
	free                     // as one likes, and the manifest says since when
	up                       // to a longer pause only
	down                     // to fewer requests only
	shown                    // as one likes: it is about one process and leaves no trace in the job
)

// freedoms are the freedoms of all settings.
var freedoms = map[string]freedom{
	"agent": fixed, "contact": fixed,
	"depth": fixed, "sitemaps": fixed, "beyond": fixed, "scope": fixed, "include": fixed, "exclude": fixed, "rules": fixed,
	"canonical": fixed, "follow-nofollow": fixed, "feeds": fixed, "resources": fixed, "allow-address": fixed, "allow-port": fixed,
	"per-host": fixed, "own-hosts": fixed, "forbidden-denies": fixed, "dialect": fixed,
	"revisited-directives": fixed, "refuse-usage": fixed, "beyond-kinds": fixed, "cookies": fixed, keyOverrides: fixed,

	"delay": up, "delay-factor": up, "max-delay": up, "rate": down,
	"visit-time": up, "per-domain": up,
	"max-crawl-delay": free, "max-retry-after": free, "max-backoff": free, "max-failures": free, "max-silence": free,
	"robots-give-up": free, "opt-out": free, "hours": free,

	"concurrency": free, "max-pages": free, "max-bytes": free, "max-time": free, "max-per-host": free, "max-body": free,
	"max-errors": free, "retries": free, "retry-pause": free, "max-url": free, "max-links": free, "max-queries": free,
	"max-per-dir": free, "max-same": free, "near-bits": free, "max-redirects": free, "dns-timeout": free,
	"connect-timeout": free, "tls-timeout": free, "first-byte-timeout": free, "idle-timeout": free, "fetch-timeout": free,
	"max-header": free, "max-header-fields": free, "max-encodings": free, "max-ratio": free, "min-rate": free, "max-robots": free, "max-sitemap": free,
	"max-sessions": free, "max-soft": free,
	"proxy": free, "source-address": free, "insecure-hosts": free, "since": free,
	"format": free,

	"out": shown, "seeds": shown, "fail-on-limit": shown, "json": shown, "quiet": shown, "verbose": shown,
	"log-format": shown, "color": shown,
}

// change is a setting that is not what it was.
type change struct {
	Key  string `json:"key"`
	From string `json:"from"`
	To   string `json:"to"`
}

// recorded are the settings that make up the job, by name.
func recorded(all []setting) map[string]string {
	m := map[string]string{}
	for _, s := range all {
		if freedoms[s.name] != shown {
			m[s.name] = s.text()
		}
	}
	return m
}

// changes compares settings with those in force. The error names everything that may not differ.
func changes(dir string, was, now map[string]string) ([]change, error) {
	var list []change
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(now)) {
		from, known := was[key]
		c := change{key, from, now[key]}
		if !known || c.From == c.To {
			continue
		}
		errs = append(errs, c.refusal(dir))
		list = append(list, c)
	}
	return list, errors.Join(errs...)
}

// refusal is why a job cannot go on with the change, nil if it can.
func (c *change) refusal(dir string) error {
	from, to := cmp.Or(c.From, "none"), cmp.Or(c.To, "none")
	const again = "leave it as it was, or begin a new crawl in another directory"
	switch freedoms[c.Key] {
	case fixed:
		return cli.Usage("--%s %s: job %s was begun with %s, by which it has decided about URLs: %s", c.Key, to, dir, from, again)
	case up:
		return cli.Refuse(pace(c.Key, c.To) < pace(c.Key, c.From), "--%s %s: job %s promised %s, which can be raised and not lowered: %s", c.Key, to, dir, from, again)
	case down:
		return cli.Refuse(pace(c.Key, c.To) > pace(c.Key, c.From), "--%s %s: job %s promised %s, which can be lowered and not raised: %s", c.Key, to, dir, from, again)
	}
	return nil
}

// pace is the value of a setting as a number: seconds, a factor, or a rate.
func pace(key, text string) float64 {
	const without = 1e18
	var d duration
	var n number
	switch {
	case text == cli.None && (key == "rate" || key == "max-delay"):
		return without
	case text == cli.None, text == "false":
		return 0
	case text == "true":
		return 1
	case n.UnmarshalText([]byte(text)) == nil:
		return float64(n)
	case d.UnmarshalText([]byte(text)) == nil:
		return d.Seconds()
	}
	return 0
}

// seedChanges compares seeds with those that the job has. A seed that is gone could still be what
// others were found by.
func seedChanges(dir string, was, now []string) (added []string, err error) {
	gone, added := missing(was, now), missing(now, was)
	if n := len(gone); n > 0 {
		err = cli.Usage("job %s has the seed %s%s, and what it led to is queued: give all seeds, or none to go on with those there are, or begin a new crawl in another directory", dir, gone[0], cli.AndMore(n-1))
	}
	return added, err
}

// missing are those of list that are not in from.
func missing(list, from []string) (res []string) {
	has := make(map[string]bool, len(from))
	for _, s := range from {
		has[s] = true
	}
	for _, s := range list {
		if !has[s] {
			res = append(res, s)
		}
	}
	return res
}
