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

// Get fetches an https URL with GET. It does not follow redirects, and returns responses with any status. The body is decoded, and may be
// truncated to 1 MiB. The implementation decides to which addresses it connects, and when.
type Get func(ctx context.Context, url string) (*Response, error)

// Response is the answer to a [Get].
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Resolver looks up names and addresses, like *net.Resolver.
type Resolver interface {
	LookupAddr(ctx context.Context, addr string) (names []string, err error)
	LookupHost(ctx context.Context, host string) (addrs []string, err error)
}

// Defect is a fault of a published identity.
type Defect struct {
	Must  bool   `json:"must"`  // a verifier may reject the whole identity because of this finding; false: advice
	Where string `json:"where"` // URL or other place of the defect
	What  string `json:"what"`
	Fix   string `json:"fix,omitempty"`
	Rule  string `json:"rule,omitempty"` // section of a standard that contains the rule
}

// String returns the defect in one line.
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
	Checked []string `json:"checked"` // URLs that were checked
	Keys    []string `json:"keys"`    // IDs of keys with which signatures can be verified now
	Defects []Defect `json:"defects"`
	Notes   []string `json:"notes,omitempty"` // checks that were skipped, with the reason
}

// OK reports whether the report has no defect with Must.
func (r *Report) OK() bool {
	for _, d := range r.Defects {
		if d.Must {
			return false
		}
	}
	return true
}

// maxDefects limits a Report, because its input is untrusted.
const maxDefects = 100

// CheckConfig configures [Check].
type CheckConfig struct {
	Get     Get       // required
	Resolve Resolver  // looks up names of the source addresses; nil: the names are not checked
	Now     time.Time // required

	// Profile and KeyID are the expected values, if known. They are compared with what is published.
	Profile *Profile
	KeyID   string // ID of the key that signs requests now
}

// Check checks a published identity as a site would: the contact page, then the files that it names: the address ranges, the Signature
// Agent Card and the key directory. It reports each defect. The error means that nothing could be checked, because the page is not an https
// URL or ctx has ended.
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

// checking is the state of a running Check.
type checking struct {
	CheckConfig
	get    func(url string) (*Response, error)
	report *Report
}

// found holds the URLs of files that other files name.
type found struct {
	origin     string
	contact    string // URL of the page, after a redirect
	pageRead   bool
	cardURL    string
	rangesURL  string
	rangesFrom string // file that names rangesURL
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

// maxURL limits the bytes of a URL that is fetched.
const maxURL = 2 << 10

// fetch gets a file that must be served with status 200 and without a redirect. Otherwise it reports a defect and returns nil.
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

// read gets a response with any status. Without a response it reports a defect and returns nil.
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

// clock compares the server's clock with this machine's: signatures depend on both.
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

// mediaType returns the declared type of a response, without parameters.
func mediaType(r *Response) string {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	return t
}

// resolve returns the absolute URL of a reference.
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
