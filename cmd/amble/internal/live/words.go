package live

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// span formats a duration with at most two units.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// delayText writes a delay, to the millisecond.
func delayText(d time.Duration) string {
	d = d.Round(time.Millisecond)
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}

func num(n int) string { return cli.Num(n) }

func plural(n int, what string) string { return cli.Nums(n, what) }

// setBy describes what has set a pause, by the name of its clause.
func setBy(clause string) string {
	switch clause {
	case ledger.ClauseDelay, ledger.ClauseAddress, ledger.ClauseDomain:
		return "our setting"
	case ledger.ClauseHostDelay:
		return "our setting for it"
	case ledger.ClauseCrawlDelay:
		return "Crawl-delay in robots.txt"
	case ledger.ClauseRequestRate:
		return "Request-rate in robots.txt"
	case ledger.ClauseLatency:
		return "slow answers"
	case ledger.ClauseBackoff:
		return "back-off after errors"
	case ledger.ClauseRetryAfter:
		return "Retry-After of the site"
	case ledger.ClauseRedirect:
		return "Retry-After of a redirect to it"
	case ledger.ClauseRateLimit:
		return "RateLimit of the site"
	case ledger.ClauseRobots:
		return "robots.txt could not be fetched"
	case ledger.ClauseShared:
		return "another of your crawls"
	case ledger.ClauseEngine:
		return "the engine gives no answer"
	case ledger.ClauseQuiet:
		return "outside its hours"
	}
	return strings.ReplaceAll(clause, "_", " ")
}
