package politeness

import (
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// Errors of a Permit that cannot be used.
var (
	ErrNoPermit = errors.New("politeness: no permit")      // the zero Permit, or not from a Gate
	ErrUsed     = errors.New("politeness: permit used")    // redeemed, begun or reported before
	ErrExpired  = errors.New("politeness: permit expired") // too late to send; ask again
)

// Purpose is why a request is made. It is written to the ledger.
type Purpose uint8

// The purposes.
const (
	Page    Purpose = iota // a page, or any URL of the crawl
	Robots                 // robots.txt or a hop of its redirects
	Sitemap                // a sitemap
)

// String is the ledger's word for p.
func (p Purpose) String() string {
	switch p {
	case Robots:
		return "robots"
	case Sitemap:
		return "sitemap"
	}
	return "page"
}

// The life of a permit. It only ever moves forward.
const (
	minted int32 = iota
	redeemed
	begun
	reported
)

// permit is the one record behind a Permit and its Grant.
type permit struct {
	gate    *Gate
	id      uint64
	url     weburl.URL // what is requested
	wanted  weburl.URL // what the caller asked for: the same, or a page whose robots.txt this is
	addr    netip.Addr
	purpose Purpose
	attempt int
	hop     int // of a robots.txt redirect chain
	queued  time.Time
	allowed time.Time
	expires time.Time
	clauses []Clause
	clocks  clocks
	state   atomic.Int32
	started atomic.Int64 // unix nanoseconds of Begin, 0 before
}

// Permit allows one request. Only a [Gate] makes one. The zero Permit allows nothing.
type Permit struct{ p *permit }

// IsZero reports whether p allows nothing because no Gate made it.
func (p Permit) IsZero() bool { return p.p == nil }

// ID numbers the permits of one Gate from 1, in order. The ledger's lines carry it.
func (p Permit) ID() uint64 { return p.p.id }

// URL is the one URL that may be requested.
func (p Permit) URL() weburl.URL { return p.p.url }

// Purpose is why.
func (p Permit) Purpose() Purpose { return p.p.purpose }

// Clauses are the waits that set the request's not-before time, the deciding one first.
func (p Permit) Clauses() []Clause { return p.p.clauses }

// Expires is when the Permit can no longer be used.
func (p Permit) Expires() time.Time { return p.p.expires }

// Redeem turns the Permit into the Grant that a fetcher works by. It succeeds once, before expiry.
// The error is ErrNoPermit, ErrUsed or ErrExpired.
func (p Permit) Redeem() (Grant, error) {
	if p.p == nil {
		return Grant{}, ErrNoPermit
	}
	if time.Now().After(p.p.expires) {
		return Grant{}, ErrExpired
	}
	if !p.p.state.CompareAndSwap(minted, redeemed) {
		return Grant{}, ErrUsed
	}
	return Grant{p.p}, nil
}

// Grant is a redeemed Permit: what exactly may be sent, and to where.
type Grant struct{ p *permit }

// URL is the URL to request.
func (g Grant) URL() weburl.URL { return g.p.url }

// Addr is the address to connect to; no other may be used.
func (g Grant) Addr() netip.Addr { return g.p.addr }

// UserAgent is the User-Agent header to send.
func (g Grant) UserAgent() string { return g.p.gate.userAgent }

// Purpose is why the request is made.
func (g Grant) Purpose() Purpose { return g.p.purpose }

// Begun reports whether Begin has succeeded.
func (g Grant) Begun() bool { return g.p.started.Load() != 0 }

// Begin marks the moment the request goes on the wire. The transport calls it immediately before it
// writes the request's first byte and writes nothing when it fails: with ErrExpired when the Permit
// has run out meanwhile (the process was paused, the connection took too long), with ErrUsed on a
// second call, or with the ledger's write error. The ledger has the request's line when Begin
// returns nil.
func (g Grant) Begin() error {
	if g.p == nil {
		return ErrNoPermit
	}
	now := time.Now()
	if now.After(g.p.expires) {
		return ErrExpired
	}
	if !g.p.state.CompareAndSwap(redeemed, begun) {
		return ErrUsed
	}
	if err := g.p.gate.begin(g.p, now); err != nil {
		return err
	}
	g.p.started.Store(now.UnixNano())
	return nil
}
