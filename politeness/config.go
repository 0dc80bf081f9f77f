package politeness

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
	"github.com/amble-crawler/amble/weburl/hostmatch"
)

// Defaults of Config. Where they come from: docs/politeness.md.
const (
	DefaultDelay         = time.Second
	DefaultDelayFactor   = 1.0
	DefaultMaxDelay      = time.Minute
	DefaultMaxCrawlDelay = 5 * time.Minute
	DefaultMaxRetryAfter = 5 * time.Minute
	DefaultMaxBackoff    = 5 * time.Minute
	DefaultMaxFailures   = 20
	DefaultMaxSilence    = 15 * time.Minute
	DefaultRobotsGiveUp  = 15 * time.Minute
	DefaultPermitTTL     = 30 * time.Second
	DefaultMaxRulesBytes = 256 << 20
)

// MinDelay applies where the operator sets no delay or a shorter one, unless the host is an own one or on loopback: a site
// that has not agreed to more never gets more than ten requests per second.
const MinDelay = 100 * time.Millisecond

// Config is a Gate's policy. The zero value of every field is the safe default; only Identity must
// be filled in. There is no field that turns robots.txt off.
type Config struct {
	Identity Identity
	// Contactless allows an empty Identity.Contact. The Gate then admits requests to loopback
	// addresses only.
	Contactless bool

	// Delay is the minimum time between the end of one request to a host and the start of the next. 0: DefaultDelay;
	// [NoDelay]: only the delays that sites request apply.
	Delay time.Duration
	// HostDelays are delays for some hosts. Only the first entry that matches a host applies to it. An entry can lengthen
	// Delay; it can shorten Delay only for an own host.
	HostDelays []HostDelay
	// DelayFactor times the last response time is the delay if that is longer than Delay, up to MaxDelay: a slow server gets
	// fewer requests. 0: DefaultDelayFactor; [NoFactor]: off.
	DelayFactor float64
	// MaxDelay limits the delay that DelayFactor computes, and no other delay. 0: DefaultMaxDelay; NoDelay; [Forever]: no limit.
	MaxDelay time.Duration
	// Rate is the maximum number of requests per second to all hosts together. Crawls that share clocks and have a Rate together
	// send no more than the lowest of these rates, as long as the crawl with the lowest has requests to make. 0 or less: no limit.
	Rate float64
	// PerDomain makes all hosts of one registrable domain share one clock, as hosts on one address
	// always do.
	PerDomain bool
	// OwnHosts gives the number of requests that may be in flight at once at a host (host:port) that the operator
	// owns; it returns 0 for any other host. An own host does not share its address's clock. nil: no host is owned.
	OwnHosts func(host string) int

	// Shared connects this crawl with others. They take turns at hosts, addresses and domains. Each crawl obeys
	// the pauses that any of them requires, and uses a fresh robots.txt that another crawl has requested. The
	// hosts of OwnHosts, and the clocks and robots.txt files of loopback addresses, are not shared; with Offline
	// nothing is. nil: nothing is shared; a crawler.Crawler then shares the Hosts of its process.
	Shared Sharing
	// Name identifies the crawl to crawls with which it shares clocks, and in their ledgers.
	Name string
	// Account identifies the header fields of requests to u's origin that not all crawls send. Crawls share a robots.txt only
	// if their Account returns the same name for its origin. The name is not written anywhere. Account must not block. nil,
	// or "": no such fields.
	Account func(u weburl.URL) string
	// CopyRobots is called with the robots.txt at u that another crawl has requested, to keep the body as evidence. It is called
	// before the ledger has the line and before the rules are obeyed. If it returns an error, Admit returns that error and the
	// file is not used. nil: nothing is kept.
	CopyRobots func(u weburl.URL, f RobotsFile) error

	// MaxCrawlDelay is the longest Crawl-delay or Request-rate pause obeyed; a host that requests a longer one is given up with
	// ReasonCrawlDelay, so that it never gets more requests than it allows. 0: DefaultMaxCrawlDelay; NoDelay: none; Forever:
	// no maximum.
	MaxCrawlDelay time.Duration
	// MaxRetryAfter is the longest Retry-After obeyed; a host that requests a longer one is given up with ReasonRetryAfter.
	// 0: DefaultMaxRetryAfter; NoDelay: none; Forever: no maximum.
	MaxRetryAfter time.Duration
	// MaxBackoff is the longest pause after failures. 0: DefaultMaxBackoff.
	MaxBackoff time.Duration
	// MaxFailures limits the failures of a host without a good response in between, and MaxSilence the time of at least five
	// such failures. Beyond a limit the host is given up with ReasonHostFailed. A host fails if its name has no address, if it
	// cannot be connected to, does not respond in time, or responds with 429. A page that fails in another way, such as with
	// 5xx, counts half, only at the first attempt at its URL, and not for MaxSilence; further attempts only lengthen the pause
	// (MaxBackoff). 0: DefaultMaxFailures and DefaultMaxSilence; [Unlimited], Forever: never.
	MaxFailures Limit
	MaxSilence  time.Duration
	// RobotsGiveUp limits the time that an unreachable robots.txt is retried before its origin is given up with
	// ReasonRobotsUnreachable. Time during which a due attempt waits for requests to other hosts does not count. 0:
	// DefaultRobotsGiveUp; NoDelay: it is retried once; Forever: no limit.
	RobotsGiveUp time.Duration
	// ForbiddenDenies treats the statuses 401 and 403 of a robots.txt as "nothing allowed", not as "no rules" as RFC 9309
	// section 2.3.1.3 says.
	ForbiddenDenies bool

	// Dialect is the standard by which robots.txt files are read. The default is RFC 9309.
	Dialect robots.Dialect
	// Overrides replace the robots.txt of individual origins.
	Overrides []Override
	// Purposes are the uses that the crawl collects pages for. A URL for which the site's robots.txt forbids one of them is denied with
	// ReasonUsage. This is in addition to the rules and never replaces them. nil: research.
	Purposes []consent.Purpose
	// RefuseUsage names uses (robots.UseTrainAI, …): a URL for which the site's robots.txt disallows
	// one of them is denied with ReasonUsage. This is in addition to the rules and never replaces them.
	RefuseUsage []string
	// Hours are the hours in which requests may be made, by the clocks of a time zone. While a request to a host waits for them,
	// they also apply to the other crawls with which Shared shares the host. The zero Hours: at any time.
	Hours Hours
	// VisitTime has the crawl also obey the hours that robots.txt names (Visit-time of the 1996 proposals).
	VisitTime bool
	// OptOut reports whether a host name must not be requested at all. It is called for every Admit, so the list that it uses
	// may change while the crawl runs. nil: no host has opted out.
	OptOut func(hostname string) bool

	// Offline is for a crawl that sends nothing because its responses were recorded earlier. Rules are obeyed as always, but
	// nothing waits, no host is given up for its failures, and the first failure of a robots.txt is final. The Gate's
	// Permits cannot be redeemed ([ErrOffline]), so nothing can be requested by them; [Permit.Replay] uses them up. There
	// must be no Ledger, which is the record of requests.
	Offline bool

	// PermitTTL is the lifetime of a Permit. 0: DefaultPermitTTL.
	PermitTTL time.Duration
	// Fence is called immediately before each request is sent. If it returns an error, the request is not sent, and
	// [Grant.Begin] returns that error. It is for crawls that may lose their hosts to another process at any time. It must not
	// block. nil: none.
	Fence func() error
	// MaxRulesBytes limits the estimated memory of robots.txt files. Beyond the limit the Gate keeps only their text, and parses
	// it again if needed. If that is too much as well, it drops files that have decided about a page, the least recently used
	// first; they are fetched again before the next page of their site. Files that were just fetched are kept even above the
	// limit. 0: DefaultMaxRulesBytes; Unlimited.
	MaxRulesBytes Limit
	// Snapshot is the result of [Gate.Snapshot] in an earlier process: the Gate continues from there.
	Snapshot []byte
	// Ledger receives one JSON line when a request starts and one when it ends. If a Write stores only a part of its line,
	// or fails to store the end of a request, the Gate makes no more requests, unless the writer removes the part as
	// [ledger.File] does. A [ledger.Recorder] gets the entries instead. nil: none is kept.
	Ledger io.Writer
	// LedgerSize is the size of the ledger that earlier processes wrote, in bytes. See [Gate.Replay].
	LedgerSize int64
	// SignHead signs the state of the ledger's hash chain (package ledger): its sum, its number of lines, and the time. The
	// token, if it is not "", becomes a line of the ledger, every five minutes of a crawl that makes requests, and in
	// [Gate.SignHead]. It is called by one goroutine at a time, which keeps all others from beginning a request meanwhile.
	// nil: nothing is signed.
	SignHead func(sum [sha256.Size]byte, lines int64, at time.Time) (token string, err error)

	hosts *hostmatch.Table // compiled HostDelays
}

// minRate is one request in 30 years: longer gaps overflow a time.Duration.
const minRate = 1e-9

// withDefaults returns c with the defaults filled in.
func (c Config) withDefaults() Config {
	c.Delay = or(c.Delay, DefaultDelay)
	c.DelayFactor = max(0, or(c.DelayFactor, DefaultDelayFactor))
	c.MaxDelay = longest(c.MaxDelay, DefaultMaxDelay)
	c.MaxCrawlDelay = longest(c.MaxCrawlDelay, DefaultMaxCrawlDelay)
	c.MaxRetryAfter = longest(c.MaxRetryAfter, DefaultMaxRetryAfter)
	c.MaxBackoff = or(c.MaxBackoff, DefaultMaxBackoff)
	c.MaxFailures = Limit(or(c.MaxFailures, DefaultMaxFailures).Value())
	c.MaxSilence = longest(c.MaxSilence, DefaultMaxSilence)
	c.RobotsGiveUp = longest(c.RobotsGiveUp, DefaultRobotsGiveUp)
	c.MaxRulesBytes = Limit(or(c.MaxRulesBytes, DefaultMaxRulesBytes).Value())
	c.PermitTTL = or(c.PermitTTL, DefaultPermitTTL)
	c.Delay = max(0, c.Delay)
	if c.Offline {
		c.goOffline()
	}
	if c.OwnHosts == nil {
		c.OwnHosts = func(string) int { return 0 }
	}
	c.hosts, _ = c.hostTable() // Validate reports the error of hostTable
	return c
}

func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// longest returns the maximum that a field sets. NoDelay becomes 1 ns, the shortest positive
// duration, so that a wait that has just begun does not exceed it.
func longest(v, def time.Duration) time.Duration { return max(1, or(v, def)) }

// Validate reports all errors in c, joined, each with the field's name.
func (c Config) Validate() error {
	errs := []error{c.Identity.Validate(c.Contactless)}
	for _, f := range []struct {
		name string
		v    time.Duration
		zero bool // NoDelay is allowed
	}{
		{"Delay", c.Delay, true},
		{"MaxDelay", c.MaxDelay, true},
		{"MaxCrawlDelay", c.MaxCrawlDelay, true},
		{"MaxRetryAfter", c.MaxRetryAfter, true},
		{"MaxBackoff", c.MaxBackoff, false},
		{"MaxSilence", c.MaxSilence, true},
		{"RobotsGiveUp", c.RobotsGiveUp, true},
		{"PermitTTL", c.PermitTTL, false},
	} {
		if f.v < 0 && !(f.zero && f.v == NoDelay) {
			errs = append(errs, fmt.Errorf("politeness: %s is %v: must not be negative", f.name, f.v))
		}
	}
	if c.DelayFactor < 0 && c.DelayFactor != NoFactor || math.IsNaN(c.DelayFactor) || math.IsInf(c.DelayFactor, 0) {
		errs = append(errs, fmt.Errorf("politeness: DelayFactor is %v: must be 0 or more, or NoFactor", c.DelayFactor))
	}
	if math.IsNaN(c.Rate) || math.IsInf(c.Rate, 0) || c.Rate > 0 && c.Rate < minRate {
		errs = append(errs, fmt.Errorf("politeness: Rate is %v: must be a number of requests per second, at least %v, or 0", c.Rate, minRate))
	}
	if c.Offline && c.Ledger != nil {
		errs = append(errs, errors.New("politeness: Offline and Ledger are set: a Gate that admits no requests has none to record"))
	}
	if c.LedgerSize < 0 {
		errs = append(errs, fmt.Errorf("politeness: LedgerSize is %d: must be 0 or more", c.LedgerSize))
	}
	if !c.MaxRulesBytes.Valid(Unlimited) {
		errs = append(errs, fmt.Errorf("politeness: MaxRulesBytes is %d: must be 1 or more, or Unlimited", c.MaxRulesBytes))
	}
	if !c.MaxFailures.Valid(Unlimited) {
		errs = append(errs, fmt.Errorf("politeness: MaxFailures is %d: must be 1 or more, or Unlimited", c.MaxFailures))
	}
	errs = append(errs, c.validateOverrides(), c.validateHostDelays())
	return errors.Join(errs...)
}

// Limit is a maximum number. The zero Limit stands for the default of its field. Fields that allow [Unlimited] or [Zero] say so.
type Limit int64

// Special values of a Limit, needed because 0 stands for the default of a field.
const (
	Unlimited Limit = -1 // no limit
	Zero      Limit = -2 // a limit of 0: none at all
)

// Special values of durations and of a factor, needed because 0 stands for the default of a field.
const (
	NoDelay  time.Duration = -1            // no pause at all
	Forever  time.Duration = math.MaxInt64 // a maximum that is never reached
	NoFactor float64       = -1            // Config.DelayFactor: response times lengthen no pause
)

// Value returns l as a number to compare with: math.MaxInt64 for Unlimited, 0 for Zero.
func (l Limit) Value() int64 {
	switch l {
	case Unlimited:
		return math.MaxInt64
	case Zero:
		return 0
	}
	return int64(l)
}

// Reached reports whether n is l or more. Unlimited is never reached, Zero always.
func (l Limit) Reached(n int) bool { return int64(n) >= l.Value() && l != Unlimited }

// String returns the number, or "unlimited".
func (l Limit) String() string {
	if l == Unlimited {
		return "unlimited"
	}
	return strconv.FormatInt(l.Value(), 10)
}

// Valid reports whether l is a number or one of the other Limits that a field allows.
func (l Limit) Valid(allowed ...Limit) bool { return l >= 0 || slices.Contains(allowed, l) }
