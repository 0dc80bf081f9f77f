package politeness

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// Errors of a Permit that cannot be used.
var (
	ErrNoPermit = errors.New("politeness: no permit")      // the zero Permit, or one not made by a Gate
	ErrUsed     = errors.New("politeness: permit used")    // the Permit was redeemed, begun or reported before
	ErrExpired  = errors.New("politeness: permit expired") // too late to send; call Admit again
)

// errRequest is the error for a [Request] without URL or address, for which no clock can be held. It is also the
// error for a Resource without For, and for For with another Purpose, because the ledger could not show the purpose
// of the request.
var errRequest = errors.New("politeness: request without URL or address")

// Purpose says why a request is made. It is written to the ledger.
type Purpose uint8

// The purposes.
const (
	Page     Purpose = iota // a page, or any URL of the crawl
	Robots                  // robots.txt or a hop of its redirects
	Sitemap                 // a sitemap
	Login                   // a form that the operator's program submits to log in: the only purpose with another method than GET
	Resource                // something that a page needs to be rendered, such as a script or data; treated like a page
	Terms                   // a document about the uses that a site allows: an RSL document, tdmrep.json
)

// String returns the name of p in the ledger.
func (p Purpose) String() string {
	switch p {
	case Robots:
		return "robots"
	case Sitemap:
		return "sitemap"
	case Login:
		return "login"
	case Resource:
		return "resource"
	case Terms:
		return "terms"
	}
	return "page"
}

// The states of a permit. It only ever moves forward.
const (
	minted int32 = iota
	redeemed
	begun
	lapsed // expired before use, and taken back by the Gate
	reported
)

// permit is the record shared by a Permit and its Grant.
type permit struct {
	gate       *Gate
	id         uint64
	url        weburl.URL // the URL to request
	wanted     weburl.URL // the URL that the caller wants, usually url; if url is a robots.txt, the page that needs the file
	wantedHost *host
	page       weburl.URL // for a Resource: the page that needs it
	addr       netip.Addr
	purpose    Purpose
	attempt    int
	queued     time.Time
	allowed    time.Time
	life       time.Duration // time after allowed during which the Permit can be used
	clocks     clocks
	slot       int              // the slot number at an own host
	turn       Turn             // turn at the clocks shared with other crawls; zero if the Permit was not made by a Gate
	rate       *Turn            // turn at the total rate of crawls that have one; nil without Config.Rate
	passed     [2]ledger.Clause // room for the usual number of clauses
	clauses    []ledger.Clause  // the waits that have passed, the longest first
	state      atomic.Int32
	started    atomic.Bool // Begin has succeeded
	began      time.Time   // time of Begin; written before started, read after it
	dropped    time.Time   // for a robots.txt: Sharing may have dropped it, if it was received up to this time
	keyID      string      // key that signed the request; set before Begin
	unrecorded error       // why the end of the request is missing from the ledger
}

// expired reports whether p's life is over by either of the two clocks. The monotonic clock sees a wall clock that is set
// back; the wall clock sees the time for which the machine was suspended.
func (p *permit) expired(now time.Time) bool {
	return now.Sub(p.allowed) > p.life || at(p.allowed).since(now) > p.life
}

// abandoned reports whether p has expired without a Report and the longest time for a connection has passed: even if a Permit
// expires sooner, its connection may be under way until then.
func (p *permit) abandoned(now time.Time) bool {
	return p.expired(now) && now.Sub(p.allowed) > p.gate.cfg.PermitTTL
}

// asked returns the time at which p's request was sent, or could have been, as recorded in the ledger.
func (p *permit) asked() time.Time {
	if p.started.Load() {
		return p.began
	}
	return ledger.Ceil(p.allowed)
}

// pause returns the pause due after p's request, and its clause.
func (p *permit) pause() (time.Duration, string) {
	c, h := &p.gate.cfg, p.clocks.host
	return c.delayFor(h.stateBy(c, h.entryAt(c, p.addr), p.addr.IsLoopback()))
}

// Permit allows one request. Only a [Gate] makes one. The zero Permit allows nothing. A copy is the same Permit: if one is
// used, the other is used, too. Its methods are safe for concurrent use.
//
// A Permit that is never reported holds its host, and the host's address, for Config.PermitTTL; the Gate then takes it back,
// as if it had been reported as aborted. Once its request has begun, the host is held until Report: only the caller knows
// when that request is over.
type Permit struct{ p *permit }

// IsZero reports whether p allows nothing because no Gate made it.
func (p Permit) IsZero() bool { return p.p == nil }

// record returns the permit behind p; for the zero Permit, an empty one.
func (p Permit) record() *permit {
	if p.p == nil {
		return &permit{}
	}
	return p.p
}

// ID returns the number of the Permit: those of one Gate are numbered from 1, in order. The ledger's lines contain
// it. It is 0 for the zero Permit.
func (p Permit) ID() uint64 { return p.record().id }

// URL returns the one URL that may be requested.
func (p Permit) URL() weburl.URL { return p.record().url }

// Purpose returns the reason for the request.
func (p Permit) Purpose() Purpose { return p.record().purpose }

// Clauses returns the waits that set the request's not-before time, the deciding wait first.
func (p Permit) Clauses() []ledger.Clause { return slices.Clone(p.record().clauses) }

// Expires returns the last instant at which the Permit can be used, by the wall clock or by the monotonic clock, whichever
// reaches it first. It is the zero Time for the zero Permit.
func (p Permit) Expires() time.Time {
	if p.p == nil {
		return time.Time{}
	}
	return p.p.allowed.Add(p.p.life)
}

// Held returns a context that ends if the Permit's turn among other crawls is lost ([Turn].Held). Another crawl may request the
// host then, so the request must be aborted. It is nil if the turn cannot be lost.
func (p Permit) Held() context.Context { return p.record().turn.Held }

// Unrecorded returns the error because of which the ledger lacks the outcome given to [Gate.Report], or nil if the ledger
// has it. A response without it could not be checked, so the request must be repeated. Unrecorded must not be called
// concurrently with Report.
func (p Permit) Unrecorded() error { return p.record().unrecorded }

// Redeem turns the Permit into the Grant that a fetcher needs. It succeeds once, before expiry.
// The error is ErrNoPermit, ErrUsed or ErrExpired; for a Permit of a
// Gate with Config.Offline it is ErrOffline.
func (p Permit) Redeem() (Grant, error) {
	switch {
	case p.p == nil:
		return Grant{}, ErrNoPermit
	case p.p.gate.cfg.Offline:
		return Grant{}, ErrOffline
	}
	if err := p.p.advance(time.Now(), minted, redeemed); err != nil {
		return Grant{}, err
	}
	return Grant{p.p}, nil
}

// advance moves the permit from one state to the next, once and before it expires.
func (p *permit) advance(now time.Time, from, to int32) error {
	switch {
	case p.expired(now):
		return ErrExpired
	case p.state.CompareAndSwap(from, to):
		return nil
	case p.expired(time.Now()): // the permit expired after the time now was read, and was taken back
		return ErrExpired
	}
	return ErrUsed
}

// Grant is a redeemed Permit: it holds the request that may be sent, and the address. The zero Grant allows nothing.
type Grant struct{ redeemed *permit } // not named permit as in Permit, so that neither type can be converted to the other

// URL returns the URL to request.
func (g Grant) URL() weburl.URL { return Permit{g.redeemed}.record().url }

// Addr returns the address to connect to; no other may be used.
func (g Grant) Addr() netip.Addr { return Permit{g.redeemed}.record().addr }

// UserAgent returns the User-Agent header to send.
func (g Grant) UserAgent() string {
	if g.redeemed == nil {
		return ""
	}
	return g.redeemed.gate.UserAgent()
}

// Purpose returns the reason for the request.
func (g Grant) Purpose() Purpose { return Permit{g.redeemed}.record().purpose }

// Begun reports whether Begin has succeeded.
func (g Grant) Begun() bool { return g.redeemed != nil && g.redeemed.started.Load() }

// Sign records that the request is signed with the key of this ID, for the request's line in the ledger. It must be
// called before Begin.
func (g Grant) Sign(keyID string) {
	if g.redeemed != nil && g.redeemed.state.Load() == redeemed {
		g.redeemed.keyID = keyID
	}
}

// Begin marks the moment at which the request is sent. The transport calls it immediately before it writes the request's
// first byte, and writes nothing if Begin fails. The error is ErrExpired if the Permit has expired meanwhile (the process
// was paused, or the connection took too long) or the host has requested a pause (an own host, in response to another
// request); ErrUsed on a second call; the error of Config.Fence; or the ledger's write error. If Begin returns nil, the
// ledger has the request's line.
func (g Grant) Begin() error {
	if g.redeemed == nil {
		return ErrNoPermit
	}
	return g.redeemed.gate.begin(time.Now(), g.redeemed)
}
