// Package frontier implements the queue of a crawl. It decides which URLs are known, which host is served next, and which URL of that
// host comes first.
//
// [Frontier] is the contract. The suite in frontier/frontiertest, which every store passes, tests its numbered clauses one by one.
// There are two stores:
//
//   - [Memory] is for bounded crawls of up to a few million URLs that may begin again if the process
//     dies. It needs no directory and never waits for a disk.
//   - Package frontier/disk is for crawls that must survive, or that know more URLs than fit in memory.
//     It also implements [Durable], so that a crawl's outputs and its frontier agree after a crash.
//
// A wrapper embeds the Frontier or the [Durable] that it wraps, and so has all methods that it does not replace.
package frontier

import (
	"context"
	"errors"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// Errors of every Frontier.
var (
	// ErrDrained is returned if nothing is queued, claimed or waiting. The crawl is complete.
	ErrDrained = errors.New("frontier: drained")
	// ErrClosed is returned after the Frontier was closed.
	ErrClosed = errors.New("frontier: closed")
	// ErrLost is returned if the claim has expired or was settled before. The Settle had no effect.
	ErrLost = errors.New("frontier: claim lost")
	// ErrRequest is returned if a Request has no URL, a negative depth or a Beyond that is too large. The call had no effect.
	ErrRequest = errors.New("frontier: request without URL, or with a depth or Beyond out of range")
)

// Frontier is the queue of a crawl. It lets workers claim URLs, one URL of a host at a time, and forgets no URL.
//
// All methods are safe for concurrent use. The clauses:
//
//	F1  Add is idempotent by weburl.Key: of N concurrent Adds of one URL, exactly one counts it as added.
//	F2  A URL has at most one holder.
//	F3  A host (weburl.URL.Host) has at most one holder, or the number configured for it.
//	F4  No URL is claimed before its host's ReadyAt, nor before its own NotBefore.
//	F5  Within a host the highest Priority comes first, then the highest Score, then the earliest arrival. A URL settled
//	    with Again keeps its arrival. A URL that is retried arrives anew, before the links of that Settlement,
//	    so that URLs that fail do not delay those that have not been tried.
//	F6  No ready host starves, and new hosts do not delay the others: while there are both, new hosts
//	    and other hosts take turns. Of each kind, the host that was due first is served first; of hosts
//	    due at the same time, the one with most queued URLs. A host is due from its ReadyAt on, or later,
//	    from the time at which it had both a URL to claim and room for another holder.
//	    A host is new until a ReadyAt is given for it. It is new again if it gets a URL after it had
//	    none and its ReadyAt has come. After Open, a host that is not new has the first turn.
//	F7  Settle is atomic: the URL's end, its links and the host's ReadyAt take effect together or
//	    not at all.
//	    Of several times given for a host, the latest ReadyAt applies.
//	F8  Again puts the URL back without making it new: it stays known and keeps its depth. A retry
//	    counts as an attempt, a postponement does not.
//	F9  Claim returns ErrDrained if and only if nothing is queued, claimed or waiting. When this
//	    becomes true, every blocked Claim wakes.
//	F10 A blocked Claim wakes on Add, Settle, a time that has come, the end of its context, and Close.
//	F11 A request for a claim may begin no later than its Deadline. Until then the claim is not lost.
//	    When it has been lost after that, Settle returns ErrLost without effect, and the URL can be claimed
//	    again. A store in which claims expire loses each claim at its Deadline. In other stores, a claim
//	    whose request began in time can be settled at any later time.
//	F12 Durable stores: after a crash at any byte no acknowledged URL is lost, no settled URL is
//	    revived, and no host is ready earlier than without the crash.
//	F13 Close unblocks everything; every later call returns ErrClosed.
//	F14 Adding a queued or waiting URL again with a smaller depth gives it that depth.
//	F20 Adding a queued URL again with a higher Priority, or with the same Priority and a higher Score, raises it: the later
//	    Request replaces the earlier one, with the smaller depth of the two, and arrives anew. This applies to Requests
//	    with no more information than a link (Request.Plain). Otherwise, and if the URL was put back, the earlier
//	    Request may stay as it is. A raised URL counts as one URL at all times, and is claimed once.
//	F22 With BestFirst, a store serves, of the hosts that are due, the host whose first URL has the highest Priority and
//	    Score, among equals about the one that was due first, instead of F6. With Patience, Claim waits for a host
//	    that has a better URL but is not due yet, for a pause that is no longer than Patience. It also waits
//	    for a host of which a better URL is claimed, because that page may have links as good, if the claim
//	    began no longer than Patience ago. F4 applies unchanged.
//	F23 Rescore gives each URL that is queued when it is called the Score that its function returns, and calls the
//	    function once for each. URLs whose Score changes arrive anew, in the order they had. Everything else stays:
//	    the other fields of Requests, attempts, the times of URLs and hosts. A URL that is claimed or waiting, or that was
//	    put back, may keep its Score. Claims continue meanwhile. At any instant, even after a crash, each URL is in the
//	    queue once, with its earlier or its new Score.
type Frontier interface {
	// Add queues the requests that are not known yet and returns their number. In durable stores they are on disk when Add returns. Add
	// returns ErrRequest if one of rs cannot be queued, ErrClosed, or an error of the context or the store. After an error, either all of
	// rs were added or none.
	Add(ctx context.Context, rs ...Request) (added int, err error)
	// Claim blocks until a URL may be served and returns it. The claim holds the URL's host. It returns ErrDrained, ErrClosed or the
	// error of the context.
	Claim(ctx context.Context) (Claim, error)
	// Settle ends a claim. It must be called once for every Claim, with a context that outlives the crawl's cancellation; otherwise the
	// URL stays held until the claim's Deadline. Settle returns ErrLost, ErrClosed, ErrRequest, or an error of the context or the store.
	Settle(ctx context.Context, c Claim, s Settlement) error
	// Known sets known[i] to true if adding the URL with keys[i], at this depth and priority, would certainly change nothing, so that a
	// crawler need not make a Request for it. It is only a shortcut: a link that is not reported as known must be passed to Add, and a
	// store may set all to false. The keys must be those of the store's Key function. Scores are ignored. With the lowest priority, -128,
	// which cannot raise a URL, Known reports whether the URL is known at that depth or a smaller one. It allocates nothing.
	Known(keys []weburl.Key, depth int, priority int8, known []bool)
	// Rescore calls score with each queued Request and gives it the Score that score returns (F23). It returns the number of Scores that
	// changed, at the precision of Request.Score. It reads a part of the queue into memory at a time, and may be called while claims are
	// made. score is called by one goroutine at a time and must not call the Frontier. It returns ErrClosed, or an error of the context
	// or the store. After an error, a part of the queue has its new scores, and Rescore may be called again.
	Rescore(ctx context.Context, score func(Request) float64) (changed int, err error)
	// Stats returns the counts of all URLs, in constant time.
	Stats() Stats
	// HostPending returns the number of URLs of a host (weburl.URL.Host) that are queued, waiting or claimed.
	HostPending(host string) int
	// Room returns the number of further URLs of a host (weburl.URL.Host) that may be queued now, and the bytes that their texts may
	// have. URLs beyond this are rejected. A store without limits returns math.MaxInt and math.MaxInt64.
	Room(host string) (urls int, bytes int64)
	// Close closes the store. Claims that were not settled are then in the same state as after a crash.
	Close() error
}

// Request is a URL to be requested, with its properties.
type Request struct {
	URL      weburl.URL
	Depth    int        // number of links from a seed; redirects do not count
	Priority int8       // higher comes earlier within the host; see F20
	Score    float64    // higher comes earlier within a Priority; only about 5 digits count, and NaN is 0
	Via      weburl.URL // the page or redirect that led to the URL; zero for a seed
	Hops     []string   // the redirects that led to the URL, oldest first; empty without redirects
	Kind     Kind       // where the URL was found; a URL of KindSitemap is read as a sitemap
	Beyond   uint8      // number of links since the last URL in the crawl's scope; at most MaxBeyond
	Queued   time.Time  // when the URL was added; set by the Frontier if zero
	Meta     []byte     // stored and returned unchanged
}

// MaxBeyond is the largest Beyond of a Request.
const MaxBeyond = 7

// Validate returns ErrRequest if r cannot be queued.
func (r *Request) Validate() error {
	if r.URL.IsZero() || r.Depth < 0 || r.Beyond > MaxBeyond {
		return ErrRequest
	}
	return nil
}

// Plain reports whether r has no more information than a link: it is not a seed, redirect target or sitemap, and has no Meta, Hops or
// Beyond.
func (r *Request) Plain() bool {
	switch r.Kind {
	case KindSeed, KindRedirect, KindSitemap:
		return false
	}
	return len(r.Meta) == 0 && len(r.Hops) == 0 && r.Beyond == 0
}

// Claim is a Request that a worker has claimed.
type Claim struct {
	Request
	Attempt  int       // number of retries before this attempt
	Deadline time.Time // latest start of a request for the URL, because the claim may be lost later; zero: no deadline
	ID       uint64    // identifies the claim in its store
}

// Settlement describes the end of a claim.
type Settlement struct {
	ReadyAt time.Time // time from which the host may be claimed again; zero: at once
	Again   *Again    // nil: the URL is done for good
	Links   []Request // links found on the page, which are added in the same step
	Page    bool      // the visit counts as one of the crawl's pages. For wrappers that enforce page limits: stores ignore this field
}

// Again puts a claimed URL back.
type Again struct {
	NotBefore time.Time // time until which this URL waits, but not the other URLs of its host; zero: only the host's ReadyAt applies
	Retry     bool      // the URL failed: an attempt is counted, and the URL goes to the end of its queue (F5)
}

// Stats counts URLs by state.
type Stats struct {
	Queued   int // URLs that may be claimed once their host is ready
	Waiting  int // put back with a NotBefore in the future
	Claimed  int
	Done     int // settled for good
	Rejected int // rejected because of a quota
	Hosts    int // hosts with URLs that are queued, waiting or claimed
}
