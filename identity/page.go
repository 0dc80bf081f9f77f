package identity

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // embeds the page
	"encoding/base64"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode"
)

//go:embed web/page.html
var pageHTML string

//go:embed web/page.css
var pageCSS string

// pageData holds the values of the contact page's template.
type pageData struct {
	*Profile
	Policy       string
	Style        template.CSS
	ContactLinks []contactLink
	Pause        string
	LongestDelay string
	Shown        []string
	More         int
	Signs        bool
	Always       bool
	KeyIDs       []string
	Made         string
}

type contactLink struct{ URI, Text string }

// shownAddresses limits the address ranges that the page lists.
const shownAddresses = 8

// contentSecurityPolicy returns a policy that allows the page nothing but its own style.
func contentSecurityPolicy() string {
	sum := sha256.Sum256([]byte(pageCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// page returns the contact page. All texts of the Profile are escaped.
func (p *Profile) page(keyIDs []string, now time.Time) ([]byte, error) {
	d := pageData{
		Profile: p, Policy: contentSecurityPolicy(), Style: template.CSS(pageCSS),
		Pause: pause(p.Delay), Signs: p.Sign != Never, Always: p.Sign == Always, KeyIDs: keyIDs, Made: now.UTC().Format("2 January 2006"),
	}
	if p.MaxCrawlDelay > 0 {
		d.LongestDelay = words(p.MaxCrawlDelay)
	}
	for _, c := range p.Contacts {
		if uri, err := contactURI(c); err == nil {
			d.ContactLinks = append(d.ContactLinks, contactLink{uri, strings.TrimPrefix(uri, "mailto:")})
		}
	}
	for i, a := range p.Addresses {
		if i == shownAddresses {
			d.More = len(p.Addresses) - i
			break
		}
		d.Shown = append(d.Shown, a.String())
	}
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("identity: page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, d); err != nil {
		return nil, fmt.Errorf("identity: page: %w", err)
	}
	return b.Bytes(), nil
}

// maxQuote limits the bytes of untrusted text that a message quotes.
const maxQuote = 160

// printable returns untrusted text in a form that is safe in a message: on one line, of limited length, and without characters that move
// the cursor, change colours or reverse the direction of text.
func printable(s string) string {
	cut := len(s) > maxQuote
	if cut {
		s = strings.ToValidUTF8(s[:maxQuote], "")
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	if cut {
		b.WriteString("…")
	}
	return b.String()
}
