package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"
)

// Profile states who crawls, why, how and from where. All published files are made from the Profile.
type Profile struct {
	Product   string `json:"product"`    // crawler's name in User-Agent and robots.txt, without version
	UserAgent string `json:"user_agent"` // User-Agent header as sent

	// Page is the https URL of the contact page, which the User-Agent names. The other files are published beside this page, the key directory
	// at a fixed path of its origin.
	Page     string   `json:"page"`
	Operator string   `json:"operator"` // responsible person or organisation
	Contacts []string `json:"contacts"` // mail addresses and https URLs for contacting a person

	Purpose string `json:"purpose"` // one or two words: "research", "search"
	Why     string `json:"why"`     // what the crawl is for, in sentences
	Kept    string `json:"kept"`    // which parts of pages are kept, for how long, and who gets them, in sentences

	Delay         time.Duration `json:"-"` // minimum pause between two requests to a host
	MaxCrawlDelay time.Duration `json:"-"` // maximum Crawl-delay that is obeyed; 0: unknown
	PagesPerHost  int           `json:"pages_per_host,omitempty"`
	Hours         string        `json:"hours,omitempty"`    // hours in which requests are made, "": all day
	Rendered      bool          `json:"rendered,omitempty"` // whether scripts of pages are executed
	Exceptions    string        `json:"exceptions,omitempty"`

	Addresses []netip.Prefix `json:"addresses"` // source addresses of requests; empty: not published

	Sign Mode `json:"sign"` // which requests are signed

	// SignatureAgent is the URL that signed requests name; "": the URL of the key directory. Verifiers of drafts before httpsig-protocol-01
	// expect only the origin, "https://host".
	SignatureAgent string `json:"signature_agent,omitempty"`
}

// profileJSON is a Profile with durations as text.
type profileJSON struct {
	profileFields
	Delay         string `json:"delay"`
	MaxCrawlDelay string `json:"max_crawl_delay,omitempty"`
}

type profileFields Profile

// MarshalJSON implements json.Marshaler.
func (p Profile) MarshalJSON() ([]byte, error) {
	j := profileJSON{profileFields: profileFields(p), Delay: p.Delay.String()}
	if p.MaxCrawlDelay != 0 {
		j.MaxCrawlDelay = p.MaxCrawlDelay.String()
	}
	return json.Marshal(j)
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Profile) UnmarshalJSON(b []byte) error {
	var j profileJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	var err error
	if j.profileFields.Delay, err = time.ParseDuration(j.Delay); err != nil {
		return fmt.Errorf("delay: %w", err)
	}
	if j.MaxCrawlDelay != "" {
		if j.profileFields.MaxCrawlDelay, err = time.ParseDuration(j.MaxCrawlDelay); err != nil {
			return fmt.Errorf("max_crawl_delay: %w", err)
		}
	}
	*p = Profile(j.profileFields)
	return nil
}

// maxText limits the bytes of a text in a Profile.
const maxText = 4 << 10

// product matches the names of RFC 9309 section 2.2.1, and allows digits, too.
var product = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// pageHost matches a host name or an address, with or without a port.
var pageHost = regexp.MustCompile(`^([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:[0-9]+)?$`)

// pagePath matches paths that every static host serves from a file of the same name.
var pagePath = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?$`)

// Validate returns an error that has a line for each invalid or missing field.
func (p *Profile) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("identity: "+format, args...)) }
	if !product.MatchString(p.Product) {
		bad("product %q: give the crawler's name in letters, digits, - and _", printable(p.Product))
	}
	if !strings.Contains(strings.ToLower(p.UserAgent), strings.ToLower(p.Product)) || p.UserAgent == "" {
		bad("user agent %q does not hold the product %q", printable(p.UserAgent), printable(p.Product))
	}
	for _, f := range []struct{ name, text, want string }{
		{"operator", p.Operator, "the person or organisation that answers"},
		{"purpose", p.Purpose, "what the crawl is for, in a word or two"},
		{"why", p.Why, "what the crawl is for, in a sentence or more"},
		{"kept", p.Kept, "what is kept of the pages, how long, and who gets it"},
	} {
		if strings.TrimSpace(f.text) == "" {
			bad("%s is empty: say %s", f.name, f.want)
		}
	}
	for _, text := range []string{p.UserAgent, p.Operator, p.Purpose, p.Why, p.Kept, p.Hours, p.Exceptions} {
		if len(text) > maxText {
			bad("%q is longer than %d bytes", printable(text), maxText)
		}
	}
	if p.Delay < 0 || p.MaxCrawlDelay < 0 || p.PagesPerHost < 0 {
		bad("delay, longest Crawl-delay and pages per host must not be negative")
	}
	return errors.Join(errors.Join(errs...), p.validatePage(), p.validateContacts(), p.validateAddresses(), p.validateAgent())
}

func (p *Profile) validatePage() error {
	u, err := url.Parse(p.Page)
	switch {
	case p.Page == "":
		return errors.New("identity: page is empty: give the https URL at which the contact page will be")
	case err != nil || u.Host == "":
		return fmt.Errorf("identity: page %q is not an absolute URL", printable(p.Page))
	case u.Scheme != "https":
		return fmt.Errorf("identity: page %q: sites can only check what is served over https", printable(p.Page))
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(p.Page, "#"):
		return fmt.Errorf("identity: page %q: no user information, query or fragment", printable(p.Page))
	case !pageHost.MatchString(u.Host):
		return fmt.Errorf("identity: page %q: write the host in lower case, international names in punycode", printable(p.Page))
	case !pagePath.MatchString(u.Path) || u.RawPath != "":
		return fmt.Errorf("identity: page %q: in the path only letters, digits, and . _ ~ - (not first)", printable(p.Page))
	}
	return nil
}

func (p *Profile) validateContacts() error {
	if len(p.Contacts) == 0 {
		return errors.New("identity: contacts is empty: give a mail address, or an https URL, at which a person answers")
	}
	var errs []error
	for _, c := range p.Contacts {
		if _, err := contactURI(c); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// contactURI returns the URI of a contact.
func contactURI(c string) (string, error) {
	if len(c) > maxText || strings.ContainsFunc(c, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", fmt.Errorf("identity: contact %q: no blanks and control characters", printable(c))
	}
	if a, err := mail.ParseAddress(strings.TrimPrefix(c, "mailto:")); err == nil && a.Name == "" && !strings.ContainsAny(a.Address, "?&%") {
		return "mailto:" + a.Address, nil
	}
	u, err := url.Parse(c)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", fmt.Errorf("identity: contact %q is neither a mail address nor an https URL", printable(c))
	}
	return c, nil
}

// maxPrefixes limits the published address ranges.
const maxPrefixes = 1000

func (p *Profile) validateAddresses() error {
	if len(p.Addresses) > maxPrefixes {
		return fmt.Errorf("identity: %d address ranges; at most %d can be published", len(p.Addresses), maxPrefixes)
	}
	var errs []error
	for _, a := range p.Addresses {
		if !a.IsValid() || a != a.Masked() || a.Addr().Is4In6() {
			errs = append(errs, fmt.Errorf("identity: address range %v: bits behind the prefix must be 0, and IPv4 written as such", a))
		}
	}
	return errors.Join(errs...)
}

func (p *Profile) validateAgent() error {
	if p.SignatureAgent == "" {
		return nil
	}
	return checkAgent(p.SignatureAgent)
}

// Paths of published files. All except the directory are beside the page.
const (
	directoryPath = "/.well-known/http-message-signatures-directory"
	cardName      = "signature-agent-card.json"
	rangesName    = "ips.json"
	retiredName   = "retired-keys.json"
)

// Origin returns the scheme and host of the published files.
func (p *Profile) Origin() string {
	u, err := url.Parse(p.Page)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func (p *Profile) authority() string {
	return strings.TrimSuffix(strings.TrimPrefix(p.Origin(), "https://"), ":443")
}

// DirectoryURL returns the URL of the key directory.
func (p *Profile) DirectoryURL() string { return p.Origin() + directoryPath }

// AgentURL returns the URL in the Signature-Agent of signed requests.
func (p *Profile) AgentURL() string {
	if p.SignatureAgent != "" {
		return p.SignatureAgent
	}
	return p.DirectoryURL()
}

// CardURL returns the URL of the Signature Agent Card, which is also the client_id in the card.
func (p *Profile) CardURL() string { return p.Origin() + p.beside(cardName) }

// RangesURL returns the URL of the address ranges.
func (p *Profile) RangesURL() string { return p.Origin() + p.beside(rangesName) }

// RetiredURL returns the URL of the public halves of retired keys.
func (p *Profile) RetiredURL() string { return p.Origin() + p.beside(retiredName) }

// pagePath returns the path of the page's URL; "/" if it has none.
func (p *Profile) pagePath() string {
	u, err := url.Parse(p.Page)
	if err != nil || u.Path == "" {
		return "/"
	}
	return u.Path
}

// pageFile returns the file that a static host serves as the page: the path if it ends in .html, otherwise the index file of the folder.
func (p *Profile) pageFile() string {
	if at := p.pagePath(); path.Ext(at) == ".html" || path.Ext(at) == ".htm" {
		return at
	}
	return path.Join(p.pagePath(), "index.html")
}

// beside returns the path of a file that is beside the page.
func (p *Profile) beside(name string) string { return path.Join(path.Dir(p.pageFile()), name) }
