// Package frontier implements the queue of a crawl. It decides which URLs are known, which host may be served next, and which URL
// of that host comes first.
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
	// ErrDrained: nothing is queued, claimed or waiting. The crawl is complete.
	ErrDrained = errors.New("frontier: drained")
	// ErrClosed: the Frontier was closed.
	ErrClosed = errors.New("frontier: closed")
	// ErrLost: the claim expired or was settled before; the Settle had no effect.
	ErrLost = errors.New("frontier: claim lost")
	// ErrRequest: a Request has no URL, a negative depth or a Beyond that is too large; the call had no effect.
	ErrRequest = errors.New("frontier: request without URL, or with a depth or Beyond out of range")
)

// Frontier hands out URLs, each host to one holder at a time, and forgets no URL.
//
// All methods are safe for concurrent use. The clauses:
//
//	F1  Add is idempotent by weburl.Key: of N concurrent Adds of one URL exactly one counts it as added.
//	F2  A URL has at most one holder.
//	F3  A host (weburl.URL.Host) has at most one holder, or the number configured for it.
//	F4  No URL is claimed before its host's ReadyAt, nor before its own NotBefore.
//	F5  Within a host the highest Priority comes first, then the highest Score, then the earliest arrival. A URL settled
//	    with Again keeps its arrival; for a retry it arrives anew, before the links of that Settlement,
//	    so that URLs that fail do not hold up those that have not been tried.
//	F6  No ready host starves, and new hosts do not hold up the others: while there are both, hosts
//	    that are new and hosts that are not take turns. Of each, the host due earliest goes first; of
//	    hosts due at the same time, the one with most queued. A host is due from its ReadyAt, or
//	    from when it came to have both a URL to claim and a free holder's place if that is later.
//	    A host is new until a ReadyAt is given for it. It is new again when it gets a URL after it had
//	    none and its ReadyAt has come. After Open, one that is not new has the first turn.
//	F7  Settle is atomic: the URL's end, its links and the host's ReadyAt take effect together or
//	    not at all.
//	    The latest ReadyAt given for a host holds.
//	F8  Again puts the URL back without making it new: it stays seen and keeps its depth, and a
//	    retry counts an attempt where a postponement does not.
//	F9  Claim returns ErrDrained if and only if nothing is queued, claimed or waiting; becoming so
//	    wakes every blocked Claim.
//	F10 A blocked Claim wakes on Add, Settle, a time that has come, the end of its context, and Close.
//	F11 A request for a claim may begin no later than its Deadline. Until then the claim is not lost.
//	    When it is lost after that, Settle is ErrLost without effect, and the URL can be claimed again.
//	    A store in which claims expire loses each at its Deadline; in others a claim whose request
//	    began in time can be settled at any later time.
//	F12 Durable stores: after a crash at any byte no acknowledged URL is lost, no settled one is
//	    revived, and no host is ready earlier than it would have been.
//	F13 Close unblocks everything; every later call returns ErrClosed.
//	F14 Adding a queued or waiting URL again with a smaller depth gives it that depth.
//	F20 Adding a queued URL again with a higher Priority, or the same and a higher Score, raises it: the later Request takes the place of
//	    the earlier, with the smaller depth of the two, and arrives anew. This holds between Requests that
//	    say no more than a link does (Request.Plain); between others, and for one that was put back, the
//	    earlier may stay as it is. It counts as one URL all the while, and is claimed once.
//	F22 A store that serves the best first (BestFirst) serves, of the hosts that are due, the one whose first URL has the
//	    highest Priority and Score, of equals about the one due earliest, instead of F6. With Patience, Claim waits for a
//	    host that is not due and has a better one, or of which a better one is claimed, since that may link to others as good:
//	    for a pause that is no longer than Patience, and for a claim that began no longer ago. F4 holds all the same.
//	F23 Rescore gives each URL that is queued when it is called the Score that its function returns, up or down, and asks for
//	    each once. A URL whose Score changes arrives anew, in the order the URLs had. All else stays: the rest of its
//	    Request, its attempts, the times of URLs and hosts. A URL that is claimed or waiting, or that was put
//	    back, may keep its Score. Claims go on meanwhile, and at any instant, after a crash too, each URL is in the queue once,
//	    with its earlier Score or the new one.
type Frontier interface {
	// Add queues the requests that are not known yet and returns their number. In durable stores they are on disk when Add returns.
	// The error is ErrRequest if one of rs cannot be queued, ErrClosed, the context's, or the store's own; then all or none were
	// added.
	Add(ctx context.Context, rs ...Request) (added int, err error)
	// Claim blocks until a URL may be served and returns it. The claim holds the URL's host. The error is ErrDrained, ErrClosed or
	// the context's.
	Claim(ctx context.Context) (Claim, error)
	// Settle ends a claim. It must be called once for every Claim, with a context that outlives the crawl's cancellation; otherwise
	// the URL stays held until the claim's Deadline. The error is ErrLost, ErrClosed, ErrRequest, the context's or the store's own.
	Settle(ctx context.Context, c Claim, s Settlement) error
	// Known sets known[i] to whether it is certain that adding the URL with keys[i] at depth and with priority would change nothing,
	// so that a crawler need not make a Request for a link. It is only a shortcut: a link that is not reported as known must be passed
	// to Add, and a store may set all to false. The keys must be those of the store's Key function. Scores are ignored. With the
	// lowest priority, -128, which cannot raise a URL, it reports whether the URL is known at that depth. It allocates nothing.
	Known(keys []weburl.Key, depth int, priority int8, known []bool)
	// Rescore calls score with each queued Request and gives it the Score that score returns (F23). It returns the number of changed
	// Scores: scores beyond the precision of Request.Score are equal. It needs memory for a part of the queue at a time, and may be called
	// while claims are made. score is called by one goroutine at a time and must not call the Frontier. The error is ErrClosed, the
	// context's or the store's own; then a part of the queue has its new scores, and Rescore may be called again.
	Rescore(ctx context.Context, score func(Request) float64) (changed int, err error)
	// Stats returns the counts of all URLs, in constant time.
	Stats() Stats
	// HostPending returns the number of URLs of a host (weburl.URL.Host) that are queued, waiting or claimed.
	HostPending(host string) int
	// Room returns the number of further URLs of a host (weburl.URL.Host) that may be queued now, and the bytes that their texts
	// may have. URLs beyond that are rejected. A store without limits returns math.MaxInt and math.MaxInt64.
	Room(host string) (urls int, bytes int64)
	// Close releases the store. Claims that were not settled are in the same state as after a crash.
	Close() error
}

// Request is a URL to be served, with its properties.
type Request struct {
	URL      weburl.URL
	Depth    int        // links followed from a seed; redirects do not count
	Priority int8       // higher is earlier within its host; see F20
	Score    float64    // higher is earlier among those of one Priority; only about 5 digits count, and NaN is 0
	Via      weburl.URL // the page or redirect that named it; zero for a seed
	Hops     []string   // the redirect chain that led here, oldest first; empty without redirects
	Kind     Kind       // the kind of place where it was found; KindSitemap is read as a sitemap
	Beyond   uint8      // links followed since the last URL in the crawl's scope; at most MaxBeyond
	Queued   time.Time  // when it was added; set by the Frontier when zero
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

// Plain reports whether r has no more information than a link: it is not a seed, redirect target or sitemap, and has no Meta, Hops
// or Beyond that another Request for its URL would lack.
func (r *Request) Plain() bool {
	switch r.Kind {
	case KindSeed, KindRedirect, KindSitemap:
		return false
	}
	return len(r.Meta) == 0 && len(r.Hops) == 0 && r.Beyond == 0
}

// Claim is a Request that was given to one holder.
type Claim struct {
	Request
	Attempt  int       // 0 at first, increased by each retry
	Deadline time.Time // requests for it must begin before, because the claim may be lost then; zero: no deadline
	ID       uint64    // identifies the claim in its store
}

// Settlement describes the end of a claim.
type Settlement struct {
	ReadyAt time.Time // when the claimed host is ready again; zero: at once
	Again   *Again    // nil: the URL is done for good
	Links   []Request // found on the page; added in the same step
	Page    bool      // the visit counts as one of the crawl's pages. Stores ignore it; it is for wrappers that enforce page limits
}

// Again puts a claimed URL back.
type Again struct {
	NotBefore time.Time // this URL waits until then, without delaying others of its host; zero: only the host's ReadyAt applies
	Retry     bool      // the URL failed: an attempt is counted, and it goes to the end of its queue (F5)
}

// Stats counts URLs by state.
type Stats struct {
	Queued   int // may be claimed once their host is ready
	Waiting  int // put back with a NotBefore in the future
	Claimed  int
	Done     int // settled for good
	Rejected int // rejected because of a quota
	Hosts    int // with URLs queued, waiting or claimed
}
