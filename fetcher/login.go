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

// maxForm is the maximum size of a submitted form in bytes.
const maxForm = 64 << 10

var (
	errMethod = errors.New("a form is submitted with a Permit for a login, and nothing else is requested with one")
	errNoPost = errors.New("fetcher: the Fetcher has no method Post, which a login needs")
)

// Login submits a form once, like a person who logs in: it sends a POST of the fields to u, the address to which the site's form is sent.
// Like any request it needs a Permit, comes after u's robots.txt and obeys its rules, waits until it is allowed, and is recorded in the
// ledger, with the purpose "login". The ledger does not contain the form. The Page is the response, whatever its status; redirects are
// not followed, and nothing is repeated. The cookies of the response are kept for later requests of the Fetcher, and of other Fetchers
// with its Jar. The errors are those of [Client.Get].
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

// getter is the interface of Client.Fetcher.
type getter interface {
	Resolve(ctx context.Context, u weburl.URL) (netip.Addr, error)
	Fetch(ctx context.Context, p politeness.Permit) (*Page, error)
}

// submitter is a Fetcher that submits a form if the purpose of the Permit is Login.
type submitter struct {
	getter
	post Poster
	form url.Values
}

// Fetch makes the request of the Permit.
func (s submitter) Fetch(ctx context.Context, p politeness.Permit) (*Page, error) {
	if p.Purpose() == politeness.Login {
		return s.post.Post(ctx, p, s.form)
	}
	return s.getter.Fetch(ctx, p)
}

// Post redeems p, whose Purpose must be [politeness.Login], and submits a form of at most 64 KiB. Otherwise it is like
// [Fetcher.Fetch]. Programs call [Client.Login].
func (f *Fetcher) Post(ctx context.Context, p politeness.Permit, form url.Values) (*Page, error) {
	body := []byte(form.Encode())
	if len(body) > maxForm {
		return nil, &Error{Phase: PhaseRequest, Reason: ReasonHeader, Err: fmt.Errorf("the form has %d bytes; at most %d are sent", len(body), maxForm)}
	}
	return f.exchange(ctx, p, Validators{}, body)
}
