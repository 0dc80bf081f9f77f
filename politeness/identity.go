package politeness

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"strings"
)

// Identity tells site owners who the crawler is. The User-Agent header of every request is built from it, and its Product is
// the token that selects groups of robots.txt, so the two cannot differ.
type Identity struct {
	Product string // product token: letters, digits, "-" and "_" (RFC 9309 section 2.2.1)
	Version string // without spaces; may be empty
	Contact string // an http(s) URL or a mail address at which a person answers
	// Promises is an http(s) URL of at most 200 bytes: a page on which site owners read what the crawler promises, such as
	// PromisesPage. It may be empty, and is part of the User-Agent only together with a Contact.
	Promises string
}

// PromisesPage is this module's page for site owners: what the crawler promises them, and how to slow or stop a crawl.
const PromisesPage = "https://github.com/amble-crawler/amble/blob/main/docs/politeness.md#what-to-do-now"

// maxPromises bounds Identity.Promises in bytes, because servers limit the size of a header.
const maxPromises = 200

// UserAgent returns the User-Agent header: Product/Version (+Contact; promises: Promises). Robots have named a contact there since
// the 1994 standard required one.
func (id Identity) UserAgent() string {
	ua := id.Product
	if id.Version != "" {
		ua += "/" + id.Version
	}
	if id.Contact == "" {
		return ua
	}
	comment := "+" + id.Contact
	if isMail(id.Contact) {
		comment = "+mailto:" + strings.TrimPrefix(id.Contact, "mailto:")
	}
	if id.Promises != "" {
		comment += "; promises: " + id.Promises
	}
	return ua + " (" + comment + ")"
}

// Validate reports all errors in id. Contact may be empty only if contactless is true, which is for crawls of
// loopback addresses.
func (id Identity) Validate(contactless bool) error {
	return errors.Join(id.checkProduct(), id.checkVersion(), id.checkContact(contactless), id.checkPromises())
}

func (id Identity) checkProduct() error {
	if id.Product == "" {
		return errors.New("politeness: product token is empty: name your crawler, for example \"mycrawler\"")
	}
	if strings.ContainsFunc(id.Product, func(r rune) bool {
		return !(r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}) {
		return fmt.Errorf("politeness: product token %q: only letters, digits, - and _ are allowed, so that robots.txt can name it", id.Product)
	}
	return nil
}

func (id Identity) checkVersion() error {
	if strings.ContainsFunc(id.Version, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("()<>@,;:\\\"/[]?={}", r) }) {
		return fmt.Errorf("politeness: version %q: not a token (RFC 9110 section 5.6.2)", id.Version)
	}
	return nil
}

func (id Identity) checkContact(contactless bool) error {
	c := id.Contact
	switch {
	case c == "" && contactless:
		return nil
	case c == "":
		return errors.New("politeness: contact is empty: give an http(s) URL or a mail address where site owners reach you")
	case strings.ContainsFunc(c, endsComment):
		return fmt.Errorf("politeness: contact %q: spaces, parentheses and control characters are not allowed in a User-Agent", c)
	case isPlaceholder(c):
		return fmt.Errorf("politeness: contact %q is a placeholder: give an address where site owners really reach you", c)
	case isMail(c):
		return nil
	}
	if isPage(c) {
		return nil
	}
	return fmt.Errorf("politeness: contact %q is neither an http(s) URL nor a mail address", c)
}

func (id Identity) checkPromises() error {
	p := id.Promises
	switch {
	case p == "":
		return nil
	case len(p) > maxPromises:
		return fmt.Errorf("politeness: promises page has %d bytes: at most %d are allowed in a User-Agent", len(p), maxPromises)
	case strings.ContainsFunc(p, endsComment) || !isPage(p):
		return fmt.Errorf("politeness: promises page %q: give an http(s) URL without spaces, parentheses and control characters", p)
	}
	return nil
}

// endsComment reports whether r may not be in the comment of a User-Agent.
func endsComment(r rune) bool { return r <= ' ' || r == 0x7f || r == '(' || r == ')' }

func isPage(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func isMail(c string) bool {
	a, err := mail.ParseAddress(strings.TrimPrefix(c, "mailto:"))
	return err == nil && a.Name == "" && !strings.Contains(c, "://")
}

// isPlaceholder recognizes the names reserved for documentation (RFC 2606, RFC 6761) and those of templates. A placeholder
// is worse than no contact: it looks like one, but reaches nobody.
func isPlaceholder(c string) bool {
	c = strings.ToLower(strings.TrimPrefix(c, "mailto:"))
	host := c
	if u, err := url.Parse(c); err == nil && u.Host != "" {
		host = u.Hostname()
	} else if _, h, ok := strings.Cut(c, "@"); ok {
		host = h
	}
	host = strings.TrimSuffix(host, ".")
	if host == "localhost" {
		return true
	}
	for _, name := range []string{"example.com", "example.org", "example.net", "example.edu", "yourdomain.com", "your-domain.com", "domain.com", "mydomain.com"} {
		if host == name || strings.HasSuffix(host, "."+name) {
			return true
		}
	}
	for _, tld := range []string{".example", ".invalid", ".test", ".localhost"} {
		if strings.HasSuffix(host, tld) {
			return true
		}
	}
	local, _, _ := strings.Cut(c, "@")
	return local == "you" || local == "your.name" || local == "yourname" || local == "user" && strings.Contains(c, "@email.")
}
