package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// maxForm is the size in bytes of a form that is submitted.
const maxForm = 64 << 10

var (
	errMethod = errors.New("a form is submitted with a Permit for a login, and nothing else is requested with one")
	errNoPost = errors.New("fetcher: the Fetcher has no method Post, which a login needs")
)

// Login submits a form, once, as a person does who logs in: a POST of its fields to u, which is the address that the
// operator knows the form to be sent to. Like any request it needs a Permit, follows u's robots.txt and obeys its rules,
// waits until it may be made, and has a line in the ledger, with the purpose "login". The ledger does not contain the
// form. The Page is the answer, whatever its status; a redirect is not followed, and nothing is repeated. What the answer
// sets as cookies is kept for later requests of the Fetcher, and of others with its Jar. The error is that of [Client.Get].
func (c *Client) Login(ctx context.Context, u weburl.URL, form url.Values) (*Page, error) {
	post, ok := c.Fetcher.(Poster)
	if !ok {
		post = c.Poster
	}
	if post == nil {
		return nil, errNoPost
	}
	with := *c
	with.Fetcher = submitter{c.Fetcher, post, form}
	return with.Get(ctx, u, politeness.Login)
}

// Poster is a Fetcher that can submit forms: see [Fetcher.Post].
type Poster interface {
	Post(ctx context.Context, p politeness.Permit, form url.Values) (*Page, error)
}

// getter is the Fetcher of a Client.
type getter interface {
	Resolve(ctx context.Context, u weburl.URL) (netip.Addr, error)
	Fetch(ctx context.Context, p politeness.Permit) (*Page, error)
}

// submitter is a Fetcher that submits a form for a Permit for a login.
type submitter struct {
	getter
	post Poster
	form url.Values
}

// Fetch requests what the Permit is for.
func (s submitter) Fetch(ctx context.Context, p politeness.Permit) (*Page, error) {
	if p.Purpose() == politeness.Login {
		return s.post.Post(ctx, p, s.form)
	}
	return s.getter.Fetch(ctx, p)
}

// Post redeems p, whose Purpose must be [politeness.Login], and submits a form of at most 64 KiB with its one request. It
// is like [Fetcher.Fetch] otherwise. Programs call [Client.Login].
func (f *Fetcher) Post(ctx context.Context, p politeness.Permit, form url.Values) (*Page, error) {
	body := []byte(form.Encode())
	if len(body) > maxForm {
		return nil, &Error{Phase: PhaseRequest, Reason: ReasonHeader, Err: fmt.Errorf("the form has %d bytes; at most %d are sent", len(body), maxForm)}
	}
	return f.exchange(ctx, p, Validators{}, body)
}
