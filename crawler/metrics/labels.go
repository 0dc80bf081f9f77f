package metrics

import (
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// other is the value of a label for all values that are not listed.
const other = "other"

// Values of labels. Any other value is counted as "other".
var (
	purposes = []string{politeness.Page.String(), politeness.Robots.String(), politeness.Sitemap.String(), politeness.Resource.String(), politeness.Terms.String(), other}
	classes  = []string{"1xx", "2xx", "3xx", "4xx", "5xx", "error", "aborted"}
	outcomes = []string{
		string(crawler.Fetched), string(crawler.Redirected), string(crawler.Refused), string(crawler.OutOfScope), string(crawler.Deferred),
		string(crawler.Failed), string(crawler.Trapped), string(crawler.Duplicate), string(crawler.NotModified),
	}
	clauses = []string{
		ledger.ClauseDelay, ledger.ClauseCrawlDelay, ledger.ClauseRequestRate, ledger.ClauseLatency, ledger.ClauseBackoff,
		ledger.ClauseRetryAfter, ledger.ClauseRobots, ledger.ClauseAddress, ledger.ClauseDomain, ledger.ClauseRate,
		ledger.ClauseQuiet, ledger.ClauseRestart, ledger.ClauseHostDelay,
		ledger.ClauseRedirect, ledger.ClauseRateLimit, ledger.ClauseShared, ledger.ClauseEngine,
	}
)

// reasons lists the reason codes that have separate counts: those that occur in crawls of the web.
var reasons = []string{
	"", "http_4xx", "http_5xx",
	"address_refused", "canceled", "challenge", "connect_failed", "connect_refused", "connect_timeout", "crawl_delay_long", "cut_short",
	"dns_failure", "dns_not_found", "dns_timeout", "encoding", "extractor_error", "fetch_timeout", "handler_error", "header_timeout",
	"header_too_large", "host_budget", "host_failed", "idle_timeout", "length", "malformed_answer", "no_answer", "opt_out", "panic",
	"port_refused", "ratio", "redirect_bad", "redirect_limit", "redirect_loop", "reset", "retry_after_long", "retry_budget",
	"robots_budget", "robots_disallow", "robots_unreachable", "same_body", "scope", "sitemap_budget", "slow", "soft_404", "tls_failed", "trap", "type", "unreachable",
	"unwanted", "url", "usage_signal",
}

// reason returns the label for a reason code. Codes of one family share a label.
func reason(code string) string {
	switch {
	case strings.HasPrefix(code, "http_") && len(code) == len("http_000"):
		code = code[:len("http_0")] + "xx"
	case strings.HasPrefix(code, "trap_"):
		code = "trap"
	case strings.HasPrefix(code, "tls_"):
		code = "tls_failed"
	case strings.HasPrefix(code, "url_"):
		code = "url"
	}
	return known(reasons, code)
}

// known returns value if it is in the list, otherwise other.
func known(list []string, value string) string {
	if slices.Contains(list, value) {
		return value
	}
	return other
}

// class returns the class of a response's status, such as "2xx".
func class(a *fetcher.Answer) string {
	switch {
	case a.Aborted:
		return "aborted"
	case a.Page == nil || a.Page.Status < 100 || a.Page.Status > 599:
		return "error"
	}
	return classes[a.Page.Status/100-1]
}
