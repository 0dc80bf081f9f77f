package export

import (
	"bufio"
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/hidden"
	"github.com/amble-crawler/amble/sink"
)

// CrawlLog returns the kind crawl.log: a line for each visit in the format of Heritrix's crawl.log, for its tools: time, status,
// size, URL, path from the seed, referring page, type, worker, time and duration, digest, source and annotations.
func CrawlLog() Kind {
	return Kind{
		Name: "crawl.log", Doc: "a line for each visit in the form of Heritrix's crawl.log", Suffix: "-crawl.log",
		Write: func(x *Export) error {
			return x.WriteFile(x.Path, func(w *bufio.Writer) error {
				var b []byte
				for v, err := range x.Visits() {
					if err != nil {
						return err
					}
					b = appendLogLine(b[:0], v)
					if _, err := w.Write(b); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

// log17 is the format of times in Heritrix's log, logStart the format of the time at which a fetch began.
const (
	log17    = "2006-01-02T15:04:05.000Z"
	logStart = "20060102150405.000"
)

// appendLogLine appends the line of a visit. As in Heritrix, status and size are right-aligned.
func appendLogLine(b []byte, v *sink.Record) []byte {
	at := v.Ended
	if at.IsZero() {
		at = v.Queued
	}
	b = at.UTC().AppendFormat(b, log17)
	b = append(padded(append(b, ' '), strconv.Itoa(logStatus(v)), 5), ' ')
	size := "-"
	if v.Status != 0 {
		size = strconv.Itoa(v.Bytes)
	}
	b = padded(b, size, 10)
	path := strings.Repeat("L", max(0, min(v.Depth, maxPath))) + strings.Repeat("R", min(len(v.Hops), maxPath))
	digest := ""
	if v.SHA256 != "" {
		digest = "sha256:" + v.SHA256
	}
	for _, word := range [...]string{v.URL, path, v.Via, v.Type, "#000", logTimes(v), digest, "", annotations(v)} {
		b = append(append(b, ' '), logWord(word)...)
	}
	return append(b, '\n')
}

// maxPath limits the path from the seed, as in Heritrix.
const maxPath = 50

func padded(b []byte, s string, width int) []byte {
	for n := len(s); n < width; n++ {
		b = append(b, ' ')
	}
	return append(b, s...)
}

// logWord returns text without spaces, "-" if it is empty: a line has twelve words.
func logWord(s string) string {
	if s == "" {
		return "-"
	}
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	return cmp.Or(string(hidden.Escape([]byte(s))), "-")
}

// logTimes returns when the fetch began, and its duration in milliseconds.
func logTimes(v *sink.Record) string {
	if v.Started.IsZero() {
		return ""
	}
	took := max(0, v.Ended.Sub(v.Started))
	return strings.Replace(v.Started.UTC().Format(logStart), ".", "", 1) + "+" + strconv.FormatInt(int64(took/time.Millisecond), 10)
}

// annotations returns Heritrix's notes on truncated responses and retries, and the codes of this crawler.
func annotations(v *sink.Record) string {
	var list []string
	switch v.Truncated {
	case "":
	case "fetch_timeout", "idle_timeout", "slow":
		list = append(list, "timeTrunc")
	default:
		list = append(list, "lenTrunc")
	}
	if v.Attempt > 0 {
		list = append(list, strconv.Itoa(v.Attempt+1)+"t")
	}
	if v.SameAs != "" {
		list = append(list, "duplicate:digest")
	}
	if v.Outcome != "fetched" {
		list = append(list, "amble:"+v.Outcome)
	}
	if v.Reason != "" {
		list = append(list, "amble:"+v.Reason)
	}
	return strings.Join(list, ",")
}

// Status codes of Heritrix for URLs without a response.
const (
	logDNS       = -1
	logConnect   = -2
	logBroken    = -3
	logTimeout   = -4
	logRetries   = -8
	logRobots    = -61
	logTrap      = -4000
	logChanged   = -5000 // out of scope
	logQuota     = -5003
	logPolicy    = -5001 // blocked by a user or processor
	logDenied    = -9998
	logUntried   = 0
	logBadAnswer = -3
)

// logCodes are the status codes by reason; logStatus has the codes by outcome.
var logCodes = map[string]int{
	"dns_timeout": logDNS, "dns_failure": logDNS, "dns_not_found": logDNS,
	"connect_timeout": logConnect, "connect_refused": logConnect, "unreachable": logConnect, "connect_failed": logConnect, "no_resources": logConnect,
	"proxy_failed": logConnect, "proxy_unusable": logConnect, "address_refused": logPolicy, "port_refused": logPolicy, "pin_failed": logConnect,
	"tls_timeout": logConnect, "tls_unknown_issuer": logConnect, "tls_expired": logConnect, "tls_hostname": logConnect, "tls_certificate": logConnect, "tls_failed": logConnect,
	"reset": logBroken, "no_answer": logBroken, "cut_short": logBroken, "header_timeout": logTimeout, "idle_timeout": logTimeout, "fetch_timeout": logTimeout,
	"host_failed": logRetries, "retry_budget": logRetries, "host_budget": logQuota, "sitemap_budget": logQuota, "robots_budget": logQuota,
	"robots_unreachable": logRobots, "robots_disallow": logDenied, "usage_signal": logDenied, "opt_out": logPolicy, "challenge": logPolicy, "no_contact": logPolicy,
}

// logStatus returns the status of the answer, or Heritrix's code for its absence.
func logStatus(v *sink.Record) int {
	if v.Status != 0 {
		return v.Status
	}
	if code, known := logCodes[v.Reason]; known {
		return code
	}
	switch v.Outcome {
	case "out_of_scope":
		return logChanged
	case "trapped":
		return logTrap
	case "refused":
		return logPolicy
	case "failed":
		return logBadAnswer
	}
	return logUntried
}
