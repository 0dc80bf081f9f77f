package ledger

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Clause is one reason to wait: the name of a rule and the time before which it allows no request.
type Clause struct {
	Name  string    `json:"clause"`          // one of the Clause names below
	Until time.Time `json:"until,omitzero"`  // no request before this time
	Delay Duration  `json:"delay,omitempty"` // the delay that caused the wait, if any
	By    string    `json:"by,omitempty"`    // with ClauseShared and ClauseRate: name of the crawl that was waited for, if it has a name
}

// Names of clauses, stable across versions.
const (
	ClauseDelay       = "delay"         // the operator's delay per host
	ClauseCrawlDelay  = "crawl_delay"   // Crawl-delay of robots.txt
	ClauseRequestRate = "request_rate"  // Request-rate of robots.txt
	ClauseLatency     = "latency"       // response time × factor
	ClauseBackoff     = "backoff"       // after 429, 5xx and network errors
	ClauseRetryAfter  = "retry_after"   // Retry-After of the host
	ClauseRobots      = "robots_retry"  // robots.txt unreachable, to be tried again
	ClauseBusy        = "busy"          // a request to the host or its address is in flight
	ClauseAddress     = "address"       // the clock of the server's address
	ClauseDomain      = "domain"        // the clock of the registrable domain
	ClauseRate        = "rate"          // the limit of requests per second to all hosts, of this crawl or of all crawls that have such a limit
	ClauseStale       = "next_changed"  // the URL that must be requested first has changed meanwhile
	ClauseQuiet       = "quiet_hours"   // outside the hours agreed for the host
	ClauseRestart     = "restart"       // the process before this one may have connected to any host
	ClauseHostDelay   = "host_delay"    // the operator's delay for this host
	ClauseRedirect    = "redirect_wait" // Retry-After of a redirect that leads to the host
	ClauseRateLimit   = "rate_limit"    // RateLimit of the host: its quota is exhausted
	ClauseShared      = "shared"        // another crawl that shares the host, its address or its domain
	ClauseEngine      = "engine"        // the engine that keeps the clocks did not respond, or had lost them
)

// ClauseID identifies a clause by one byte. The zero value identifies none.
type ClauseID uint8

var clauseNames = [...]string{
	"", ClauseDelay, ClauseCrawlDelay, ClauseRequestRate, ClauseLatency, ClauseBackoff, ClauseRetryAfter, ClauseRobots, ClauseBusy,
	ClauseAddress, ClauseDomain, ClauseRate, ClauseStale, ClauseQuiet, ClauseRestart, ClauseHostDelay,
	ClauseRedirect, ClauseRateLimit, ClauseShared, ClauseEngine,
}

// ClauseIDOf returns the ClauseID of a name, or 0 if the name is not one of the Clause names.
func ClauseIDOf(name string) ClauseID {
	for i, n := range clauseNames {
		if n == name {
			return ClauseID(i)
		}
	}
	return 0
}

// String returns the name of the clause.
func (c ClauseID) String() string { return clauseNames[c] }

// Duration is a time.Duration that is encoded in JSON as a number of seconds.
type Duration time.Duration

// MarshalJSON encodes the duration as a decimal number of seconds.
func (d Duration) MarshalJSON() ([]byte, error) {
	return d.append(nil), nil
}

func (d Duration) append(b []byte) []byte {
	return strconv.AppendFloat(b, time.Duration(d).Seconds(), 'g', -1, 64)
}

// UnmarshalJSON decodes a number of seconds.
func (d *Duration) UnmarshalJSON(b []byte) (err error) {
	*d, err = seconds(b)
	return err
}

// seconds reads a number of seconds, to the nanosecond.
func seconds(b []byte) (Duration, error) {
	if d, ok := short(b); ok {
		return d, nil
	}
	return float(string(b))
}

// short parses a number of at most 15 digits, nine of them after the point, exactly: the result is that of float, at a
// fraction of the cost.
func short(b []byte) (d Duration, ok bool) {
	whole, n := len(b), int64(0)
	for i, c := range b {
		switch {
		case c-'0' <= 9:
			n = 10*n + int64(c-'0')
		case c == '.' && whole == len(b) && i > 0:
			whole = i
		default:
			return 0, false
		}
	}
	if len(b) == 0 || len(b) > 15 || whole < len(b) && len(b)-whole > 10 || whole == len(b) && whole > 6 || whole > 6 {
		return 0, false
	}
	for range 9 - max(0, len(b)-whole-1) {
		n *= 10
	}
	return Duration(n), true
}

func float(text string) (Duration, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("ledger: duration %q: %w", text, err)
	}
	switch ns := math.Round(v * 1e9); {
	case ns >= math.MaxInt64:
		return math.MaxInt64, nil
	case ns <= math.MinInt64:
		return math.MinInt64, nil
	case ns != ns:
		return 0, fmt.Errorf("ledger: duration %q is not a number", text)
	default:
		return Duration(ns), nil
	}
}
