package identity

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Get fetches one URL by GET. It follows no redirect: an answer with another status is an answer. The body is
// decoded, and may be cut at 1 MiB. It is given https URLs only; whether an address may be connected to, and
// when, is its own affair.
type Get func(ctx context.Context, url string) (*Response, error)

// Response is the answer to a [Get].
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Resolver looks names and addresses up, as *net.Resolver does.
type Resolver interface {
	LookupAddr(ctx context.Context, addr string) (names []string, err error)
	LookupHost(ctx context.Context, host string) (addrs []string, err error)
}

// Defect is something that is wrong with a published identity.
type Defect struct {
	Must  bool   `json:"must"`  // a verifier may reject the whole for it; otherwise it is advice
	Where string `json:"where"` // URL, or what else is wrong
	What  string `json:"what"`
	Fix   string `json:"fix,omitempty"`
	Rule  string `json:"rule,omitempty"` // where that is written
}

// String is the defect in one line.
func (d Defect) String() string {
	s := d.Where + ": " + d.What
	if d.Fix != "" {
		s += ". " + d.Fix
	}
	if d.Rule != "" {
		s += " (" + d.Rule + ")"
	}
	return s
}

// Report holds the findings of [Check].
type Report struct {
	Page    string   `json:"page"`
	Checked []string `json:"checked"` // URLs that were read
	Keys    []string `json:"keys"`    // that signatures can be verified with now
	Defects []Defect `json:"defects"`
	Notes   []string `json:"notes,omitempty"` // what was not checked, and why
}

// OK reports whether no defect is a must.
func (r *Report) OK() bool {
	for _, d := range r.Defects {
		if d.Must {
			return false
		}
	}
	return true
}

// maxDefects bounds a Report: what is read is a stranger's.
const maxDefects = 100

// CheckConfig configures [Check].
type CheckConfig struct {
	Get     Get       // required
	Resolve Resolver  // for the source addresses; nil: they are not looked up
	Now     time.Time // required

	// Profile and KeyID are the expected ones, if known: the crawler must send what is
	// published.
	Profile *Profile
	KeyID   string // the key that signs now
}

// Check reads a published identity as a site would: the contact page, and from there the address ranges, the
// Signature Agent Card and the key directory. It names each defect. The error is for a Check that could not
// be made at all: a page that is not an https URL, or the end of ctx.
func Check(ctx context.Context, page string, c CheckConfig) (*Report, error) {
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("identity: %q is not an https URL: only what is served over https can be checked", printable(page))
	}
	if c.Get == nil {
		return nil, errors.New("identity: Check needs a Get")
	}
	k := &checking{CheckConfig: c, report: &Report{Page: page}}
	k.get = func(at string) (*Response, error) { return c.Get(ctx, at) }
	seen := k.page(u)
	k.card(&seen)
	k.directory(&seen)
	prefixes := k.ranges(&seen)
	k.names(ctx, prefixes)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("identity: check: %w", err)
	}
	return k.report, nil
}

// checking is one Check under way.
type checking struct {
	CheckConfig
	get    func(url string) (*Response, error)
	report *Report
}

// found holds the addresses of other files that one file names.
type found struct {
	origin     string
	contact    string // page, after its redirect
	pageRead   bool
	cardURL    string
	rangesURL  string
	rangesFrom string // who named it
	jwksURL    string
}

func (k *checking) must(where, rule, fix, format string, args ...any) {
	k.add(Defect{true, where, fmt.Sprintf(format, args...), fix, rule})
}

func (k *checking) should(where, rule, fix, format string, args ...any) {
	k.add(Defect{false, where, fmt.Sprintf(format, args...), fix, rule})
}

func (k *checking) add(d Defect) {
	d.Where = printable(d.Where)
	if len(k.report.Defects) < maxDefects {
		k.report.Defects = append(k.report.Defects, d)
	} else if len(k.report.Notes) == 0 || k.report.Notes[len(k.report.Notes)-1] != tooMany {
		k.note(tooMany)
	}
}

const tooMany = "there are more defects than are listed"

func (k *checking) note(format string, args ...any) {
	if len(k.report.Notes) < maxDefects {
		k.report.Notes = append(k.report.Notes, fmt.Sprintf(format, args...))
	}
}

// maxURL is the longest URL that is followed, in bytes.
const maxURL = 2 << 10

// fetch gets what has to be served with 200 and without a redirect, and nil if it is not.
func (k *checking) fetch(what, at, rule string) *Response {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(at) > maxURL {
		k.must(at, rule, "Publish it over https.", "%s is not at an https URL of sensible length", what)
		return nil
	}
	r := k.read(what, at)
	switch {
	case r == nil:
		return nil
	case r.Status/100 == 3:
		k.must(at, rule, "Serve it at this address itself: verifiers do not follow redirects.",
			"%s answers with a redirect (%d) to %q", what, r.Status, printable(r.Header.Get("Location")))
		return nil
	case r.Status != http.StatusOK:
		k.must(at, rule, "Upload the public folder.", "%s answers with status %d, not 200", what, r.Status)
		return nil
	}
	return r
}

// read gets an answer of whatever status, and nil if there is none.
func (k *checking) read(what, at string) *Response {
	r, err := k.get(at)
	if err != nil {
		k.must(at, "", "", "%s cannot be fetched: %s", what, printable(err.Error()))
		return nil
	}
	k.report.Checked = append(k.report.Checked, at)
	k.clock(at, r)
	return r
}

// clock compares the server's clock with ours: signatures depend on both.
func (k *checking) clock(at string, r *Response) {
	date, err := http.ParseTime(r.Header.Get("Date"))
	if err != nil {
		return
	}
	if d := date.Sub(k.Now).Round(time.Second); d >= skewWorthTelling || -d >= skewWorthTelling {
		k.should(at, "", "Set the wrong one of the two clocks: signatures are valid for minutes.",
			"the server's clock differs from this machine's by %v", d.Abs())
	}
}

// mediaType is the type that an answer declares, without parameters.
func mediaType(r *Response) string {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	return t
}

// resolve makes an absolute URL of a reference.
func resolve(base, ref string) string {
	b, err := url.Parse(base)
	if err != nil {
		return ""
	}
	u, err := b.Parse(strings.TrimSpace(ref))
	if err != nil {
		return ""
	}
	return u.String()
}
