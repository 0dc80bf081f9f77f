package docs_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
)

// values are the defaults that documents may quote, as a row "| `name` | value |" of a table.
var values = map[string]any{
	"politeness.DefaultDelay":         politeness.DefaultDelay,
	"politeness.MinDelay":             politeness.MinDelay,
	"politeness.DefaultDelayFactor":   politeness.DefaultDelayFactor,
	"politeness.DefaultMaxDelay":      politeness.DefaultMaxDelay,
	"politeness.DefaultMaxCrawlDelay": politeness.DefaultMaxCrawlDelay,
	"politeness.DefaultMaxRetryAfter": politeness.DefaultMaxRetryAfter,
	"politeness.DefaultMaxBackoff":    politeness.DefaultMaxBackoff,
	"politeness.DefaultMaxFailures":   politeness.DefaultMaxFailures,
	"politeness.DefaultMaxSilence":    politeness.DefaultMaxSilence,
	"politeness.DefaultRobotsGiveUp":  politeness.DefaultRobotsGiveUp,
	"politeness.DefaultPermitTTL":     politeness.DefaultPermitTTL,
	"politeness.DefaultMaxRulesBytes": politeness.DefaultMaxRulesBytes,
	"robots.MaxFreshness":             robots.MaxFreshness,
	"robots.MinFreshness":             robots.MinFreshness,
	"robots.MaxRedirects":             robots.MaxRedirects,
	"fetcher.DefaultMaxRobots":        fetcher.DefaultMaxRobots,
	"fetcher.DefaultMaxBody":          fetcher.DefaultMaxBody,
	"fetcher.DefaultFetchTimeout":     fetcher.DefaultFetchTimeout,
	"frontier.DefaultMaxBytes":        frontier.DefaultMaxBytes,
	"crawler.DefaultMaxInFlight":      crawler.DefaultMaxInFlight,
	"crawler.DefaultAgent":            crawler.DefaultAgent,
	"crawler.DefaultMaxDepth":         crawler.DefaultMaxDepth,
	"crawler.DefaultMaxPages":         crawler.DefaultMaxPages,
	"crawler.DefaultRetries":          crawler.DefaultRetries,
	"crawler.RetriesPerHost":          crawler.RetriesPerHost,
	"crawler.RetriesInAll":            crawler.RetriesInAll,
	"crawler.DefaultRedirects":        crawler.DefaultRedirects,
	"crawler.DefaultConcurrency":      crawler.DefaultConcurrency,
	"crawler.DefaultMaxQueries":       crawler.DefaultMaxQueries,
	"crawler.DefaultMaxPerDir":        crawler.DefaultMaxPerDir,
	"crawler.DefaultMaxSessions":      crawler.DefaultMaxSessions,
	"crawler.DefaultMaxSoft":          crawler.DefaultMaxSoft,
}

var tableRow = regexp.MustCompile("(?m)^\\| `(\\w+\\.\\w+)` \\| ([^|]+?) \\|")

// TestQuotedDefaults compares the numbers in the documents' tables with the code.
func TestQuotedDefaults(t *testing.T) {
	quoted := map[string]bool{}
	for _, d := range documents(t) {
		for _, m := range tableRow.FindAllStringSubmatch(d.text, -1) {
			v, known := values[m[1]]
			if !known {
				continue
			}
			quoted[m[1]] = true
			if m[2] != words(v) {
				t.Errorf("%s: %s is %s, not %s", d.path, m[1], words(v), m[2])
			}
		}
	}
	for name := range values {
		if !quoted[name] {
			t.Errorf("no document quotes %s", name)
		}
	}
}

// words formats a value as in the documents.
func words(v any) string {
	switch v := v.(type) {
	case time.Duration:
		return duration(v)
	case int:
		return thousands(v)
	}
	return fmt.Sprint(v)
}

func duration(d time.Duration) string {
	for _, unit := range []struct {
		d    time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if d >= unit.d && d%unit.d == 0 {
			return fmt.Sprintf("%d %s", d/unit.d, unit.name)
		}
	}
	return d.String()
}

func thousands(n int) string {
	if n%(1<<20) == 0 && n > 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
