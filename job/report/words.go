package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
)

func num(n int) string { return cli.Num(n) }

func plural(n int, what string) string { return cli.Nums(n, what) }

// span formats a duration with at most two units.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + span(-d)
	case d == 0:
		return "0 s"
	case d < time.Millisecond:
		return "under 1 ms"
	case d < 10*time.Second:
		return trimmed(d.Seconds(), d < time.Second)
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()+0.5))
	}
	d = d.Round(time.Second)
	for _, u := range [...]struct {
		big, small   time.Duration
		name1, name2 string
	}{{24 * time.Hour, time.Hour, "d", "h"}, {time.Hour, time.Minute, "h", "min"}, {time.Minute, time.Second, "min", "s"}} {
		if d < u.big {
			continue
		}
		text := fmt.Sprintf("%d %s", d/u.big, u.name1)
		if rest := d % u.big / u.small; rest > 0 {
			text += fmt.Sprintf(" %d %s", rest, u.name2)
		}
		return text
	}
	return "1 min"
}

func trimmed(seconds float64, millis bool) string {
	if millis {
		return fmt.Sprintf("%d ms", int(seconds*1000+0.5))
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", seconds), "0"), ".") + " s"
}

// percent formats a share. Only none is 0 %, and only all is 100 %.
func percent(n, all int) string {
	if all == 0 || n == 0 {
		return "0 %"
	}
	p := 100 * float64(n) / float64(all)
	switch {
	case n == all:
		return "100 %"
	case p < 0.1:
		return "under 0.1 %"
	case p > 99.9:
		return "over 99.9 %"
	case p < 10:
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%d %%", min(99, int(p+0.5)))
}

// times formats a ratio of observed to required time. A ratio below 1 only because of rounding is 1.
func times(ratio float64) string {
	switch {
	case ratio == 0:
		return ""
	case ratio < 1 && ratio > 0.9995:
		return "1.000"
	case ratio < 10:
		return fmt.Sprintf("%.3f", ratio)
	}
	return num(int(ratio))
}

// site returns a host without the default port of its scheme.
func site(host string) string {
	return strings.TrimSuffix(strings.TrimSuffix(host, ":80"), ":443")
}

// when formats a period.
func when(from, to time.Time) string {
	from, to = from.UTC(), to.UTC()
	if from.Format(time.DateOnly) == to.Format(time.DateOnly) {
		return from.Format("2 January 2006, 15:04:05") + " to " + to.Format("15:04:05") + " UTC"
	}
	return from.Format("2 January 2006, 15:04") + " to " + to.Format("2 January 2006, 15:04") + " UTC"
}

// stamp formats a time; the zero time is "".
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// and returns items as "a, b and c".
func and(items ...string) string {
	switch n := len(items); n {
	case 0:
		return ""
	case 1:
		return items[0]
	default:
		return strings.Join(items[:n-1], ", ") + " and " + items[n-1]
	}
}

// some joins the first few of many names, and counts the others.
func some(names []string, most int) string {
	if len(names) <= most {
		return and(names...)
	}
	return strings.Join(names[:most], ", ") + " and " + num(len(names)-most) + " more"
}

func bytesText(n int64) string { return cli.Bytes(n) }

// spellOut explains reasons, outcomes and clauses for readers.
var spellOut = map[string]string{
	"robots_disallow": "refused by robots.txt", "robots_unreachable": "robots.txt could not be fetched",
	"host_budget": "over the budget of its site", "robots_budget": "robots.txt not requested, over the budget", "sitemap_budget": "more sitemaps than are read of a site", "retry_budget": "no retry left for its site", "retry_after_long": "the site wanted a longer pause than the crawl waits",
	"crawl_delay_long": "the site wants longer pauses than the crawl makes", "host_failed": "its site failed too often",
	"opt_out": "its site is on the opt-out list", "usage_signal": "the site disallows the use", "challenge": "a bot wall answers for the site", "no_contact": "the crawl has no contact",
	"scope": "out of scope", "redirect_limit": "too many redirects", "redirect_loop": "redirects in a circle", "redirect_bad": "a redirect to nowhere",
	"same_body": "the same page as too many others", "type": "not a wanted type", "unwanted": "not a wanted type",
	"dns_not_found": "no such name", "dns_timeout": "no answer from the name server", "dns_failure": "the name server failed",
	"connect_refused": "nothing listens there", "connect_timeout": "no connection in time", "unreachable": "no route to the host",
	"connect_failed": "no connection", "header_timeout": "no answer in time", "fetch_timeout": "not finished in time", "idle_timeout": "the answer stopped",
	"cut_short": "the answer broke off", "reset": "the connection was reset", "no_answer": "the connection was closed without an answer",
	"malformed_answer": "the answer is not HTTP", "header_too_large": "the header is too large", "encoding": "the body cannot be decoded",
	"tls_unknown_issuer": "certificate of an unknown issuer", "tls_expired": "certificate expired", "tls_hostname": "certificate for other names",
	"tls_certificate": "certificate not valid", "tls_failed": "TLS failed", "tls_timeout": "TLS took too long", "canceled": "the crawl was ended",
	"address_refused": "a private address", "port_refused": "not a port for the web", "trap_path": "an endless path", "trap_calendar": "an endless calendar",
	"trap_query": "endless queries", "trap_directory": "an endless directory", "trap_session": "endless sessions",
}

// ReasonText returns a reason code in words, or the code without underscores if it has none.
func ReasonText(reason string) string {
	if text := spellOut[reason]; text != "" {
		return text
	}
	return strings.ReplaceAll(reason, "_", " ")
}

// finishWords describes how a crawl ended; it is "" if other words are needed.
func finishWords(f crawler.Finish) string {
	switch f {
	case crawler.FinishDone:
		return "done, nothing left"
	case crawler.FinishDrained:
		return "stopped in good order"
	case crawler.FinishCanceled:
		return "interrupted"
	case crawler.FinishError:
		return "ended by an error"
	case crawler.FinishUnreachable:
		return "no host answered"
	case crawler.FinishErrors:
		return "too many URLs failed"
	}
	return ""
}
