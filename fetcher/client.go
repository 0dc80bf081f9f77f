package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/challenge"
	"github.com/amble-crawler/amble/weburl"
)

// Client makes the requests that a Gate permits. Only the Client implements the order of calls on which politeness depends: Next returns
// the URL to request, Resolve finds its address, Admit decides, Fetch makes the request, and Report ends every Permit, whatever the
// outcome. A Client is safe for concurrent use as long as its fields are not changed.
type Client struct {
	Gate    *politeness.Gate
	Fetcher interface { // a *Fetcher, or any crawler.Fetcher
		Resolve(ctx context.Context, u weburl.URL) (netip.Addr, error)
		Fetch(ctx context.Context, p politeness.Permit) (*Page, error)
	}
	// Poster submits the forms of Login if Fetcher has no method Post, for example because it wraps another Fetcher. nil: such a Fetcher
	// cannot submit forms.
	Poster Poster
	// KeepRobots is called with every response to a request for a robots.txt, or for a document with the Purpose Terms, to store its
	// body. It is called before the Gate and the ledger get the response, so that a restarted process has the body for every ledger
	// entry. After an error, which Try returns, the request counts as aborted and its response is not used. If several goroutines call
	// Try, KeepRobots is called concurrently. nil: nothing is stored.
	KeepRobots func(p *Page) error
	// Admitted is called between Admit and Fetch, with the URL of the Request and the Permit for that URL or for the
	// robots.txt that it needs. nil: nothing is called.
	Admitted func(ctx context.Context, u weburl.URL, p politeness.Permit)
	// Answered is called after Report, with the Answer that is about to be returned. nil: nothing is called.
	Answered func(ctx context.Context, a *Answer)
}

// Answer is the outcome of one request.
type Answer struct {
	Permit politeness.Permit // Permit of the request, with URL and Purpose
	Addr   netip.Addr        // address of the requested host
	Page   *Page             // nil if Err is set
	Err    error             // the error of Fetch; or an error with ReasonLedger, if the outcome could not be recorded
	// Aborted is set if the crawler caused Err: the context ended, or nothing was sent. Such an error says nothing about the host.
	Aborted bool
	// TurnLost is set if the crawl lost its turn among crawls that share the host (politeness.Turn.Held) during the request. The response
	// may be incomplete for that reason, and the request must be repeated.
	TurnLost bool
	Ready    time.Time // time from which the host of the Request's URL may be requested again
}

// drop discards the response to a request whose outcome could not be recorded in the ledger.
func (a *Answer) drop(lost error) {
	e := &Error{Phase: PhaseBody, Reason: ReasonLedger, Err: lost, Ended: time.Now()}
	if a.Page != nil {
		e.Ended = a.Page.Ended
		a.Page.Release()
	}
	a.Page, a.Err, a.Aborted = nil, e, true
}

func (a *Answer) status() int {
	if a.Page == nil {
		return 0
	}
	return a.Page.Status
}

// LookupError reports that no address was found for a host.
type LookupError struct {
	URL weburl.URL // URL that the Gate wanted to be requested
	// Ready is the time from which another attempt may succeed. It is zero if no attempt will succeed, or if no look-up was made.
	Ready time.Time
	Err   error // error of Resolve
}

func (e *LookupError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *LookupError) Unwrap() error { return e.Err }

// ErrKeepRobots is wrapped, together with the cause, by the error of a request whose response KeepRobots failed to store.
var ErrKeepRobots = errors.New("robots.txt is not kept")

// Try makes at most one request for r.URL: for the URL itself, or for the robots.txt that it needs first: see Answer.Permit. It sets
// r.Addr, and r.Next if it is zero. It returns an error if it made no request: *[politeness.NotYet] with the time to try again,
// *[politeness.Denied], which is final for the URL, or *[LookupError]. After an error that wraps [ErrKeepRobots] the crawl cannot
// continue.
func (c *Client) Try(ctx context.Context, r politeness.Request) (*Answer, error) {
	if r.Next.IsZero() {
		r.Next = c.Gate.Next(r.URL)
	}
	return c.step(ctx, r)
}

// step makes the request for r.Next.
func (c *Client) step(ctx context.Context, r politeness.Request) (_ *Answer, err error) {
	if r.Addr, err = c.Fetcher.Resolve(ctx, r.Next); err != nil {
		return nil, c.unresolved(ctx, r, err)
	}
	a := &Answer{Addr: r.Addr}
	if a.Permit, err = c.Gate.Admit(r); err != nil {
		return nil, err
	}
	if c.Admitted != nil {
		c.Admitted(ctx, r.URL, a.Permit)
	}
	held, release := whileHeld(ctx, a.Permit.Held())
	defer release()
	a.Page, a.Err = c.Fetcher.Fetch(held, a.Permit)
	a.TurnLost = held.Err() != nil && ctx.Err() == nil
	if p := a.Page; p != nil && !p.Challenged { // set here and not by Fetch, so that Wall works with any Fetcher
		p.Wall = challenge.Of(p.Status, p.Header, p.Body)
	}
	reply := replyOf(a)
	if err = c.keep(a); err != nil {
		reply = politeness.Reply{Aborted: true}
	}
	a.Aborted, a.Ready = reply.Aborted, c.Gate.Report(a.Permit, reply)
	if err != nil {
		return nil, err
	}
	if lost := a.Permit.Unrecorded(); lost != nil {
		a.drop(lost)
	}
	if c.Answered != nil {
		c.Answered(ctx, a)
	}
	return a, nil
}

// whileHeld returns a context that ends with ctx or with turn, or when release is called.
func whileHeld(ctx, turn context.Context) (held context.Context, release func()) {
	if turn == nil {
		return ctx, func() {}
	}
	held, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(turn, func() { cancel(context.Cause(turn)) }) //nolint:contextcheck // whichever ends first
	return held, func() {
		stop()
		cancel(nil)
	}
}

// Locate returns the address of r.URL's host. For a host without an address it returns the error of Try.
func (c *Client) Locate(ctx context.Context, r politeness.Request) (netip.Addr, error) {
	addr, err := c.Fetcher.Resolve(ctx, r.URL)
	if err == nil {
		return addr, nil
	}
	if r.Next = c.Gate.Next(r.URL); r.Next.Host() != r.URL.Host() {
		r.Next = r.URL
	}
	return addr, c.unresolved(ctx, r, err)
}

// unresolved returns the error for a failed look-up. It reports the look-up to the Gate if another one may succeed, but not if it was
// aborted or refused, or if this machine lacked resources for it, because that says nothing about the host.
func (c *Client) unresolved(ctx context.Context, r politeness.Request, err error) error {
	failed := &LookupError{URL: r.Next, Err: err}
	if ctx.Err() == nil && temporary(err) && ReasonOf(err) != ReasonNoResources {
		failed.Ready = c.Gate.Failed(r.URL, r.Next, err)
	}
	return failed
}

// temporary reports whether another attempt may succeed. Errors of custom Fetchers have a Temporary method for this, like those of
// package net.
func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

func (c *Client) keep(a *Answer) error {
	if c.KeepRobots == nil || a.Page == nil || a.Permit.Purpose() != politeness.Robots && a.Permit.Purpose() != politeness.Terms {
		return nil
	}
	if err := c.KeepRobots(a.Page); err != nil {
		return fmt.Errorf("fetcher: %w: %s: %w", ErrKeepRobots, a.Permit.URL(), err)
	}
	return nil
}

func replyOf(a *Answer) politeness.Reply {
	if a.Err != nil {
		return ReplyForError(a.Err)
	}
	return a.Page.Reply()
}

// Get requests a URL, after its robots.txt. It waits until each request is allowed. The Page is the response, whatever its status;
// redirects are not followed. Get returns the error of [Client.Try] or of the Fetcher, or the cause of the context.
func (c *Client) Get(ctx context.Context, u weburl.URL, why politeness.Purpose) (*Page, error) {
	for {
		a, err := c.await(ctx, politeness.Request{URL: u, Next: c.Gate.Next(u), Purpose: why})
		switch {
		case err != nil:
			return nil, err
		case a != nil && (a.Permit.Purpose() == why || ReasonOf(a.Err) == ReasonHeader):
			return a.Page, a.Err
		}
	}
}

// Robots requests the robots.txt of u's origin and follows its redirects, unless the Gate already knows the rules. It waits until each
// request is allowed. It stops at the first request that yields no rules: it then returns the Fetcher's error or, if there was a
// response, the response's status in Source.Status of the returned state.
func (c *Client) Robots(ctx context.Context, u weburl.URL) (politeness.OriginInfo, error) {
	for {
		next, known := c.Gate.Next(u), c.Gate.Origin(u)
		if next == u || known.Unreachable {
			return known, nil
		}
		a, err := c.await(ctx, politeness.Request{URL: u, Next: next})
		known = c.Gate.Origin(u)
		switch {
		case err != nil:
			return known, err
		case a != nil && (a.Err != nil || known.Unreachable):
			known.Source.Status, known.Source.FetchedAt = a.status(), time.Now()
			if a.Page != nil {
				known.Source.Wall = a.Page.Wall
			}
			return known, a.Err
		}
	}
}

// await makes the request for r.Next. If the request must wait, await waits for that time and returns nil.
func (c *Client) await(ctx context.Context, r politeness.Request) (*Answer, error) {
	a, err := c.step(ctx, r)
	var wait *politeness.NotYet
	if !errors.As(err, &wait) {
		return a, err
	}
	t := time.NewTimer(time.Until(wait.Until))
	defer t.Stop()
	select {
	case <-t.C:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
