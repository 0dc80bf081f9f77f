package identity

import (
	"encoding/json"
	"fmt"
	"time"
)

// card is a Signature Agent Card (registry-04 section 3).
type card struct {
	ClientID   string     `json:"client_id"`
	Name       string     `json:"client_name"`
	ClientURI  string     `json:"client_uri"`
	Contacts   []string   `json:"contacts"`
	JWKSURI    string     `json:"jwks_uri"`
	WebBotAuth webBotAuth `json:"web_bot_auth"`
}

// webBotAuth is the part of a card that is described in registry-04 section 3.2.
type webBotAuth struct {
	UserAgent       string   `json:"expected-user-agent"`
	ProductToken    string   `json:"rfc9309-product-token"`
	RobotsTxt       bool     `json:"rfc9309-compliance"`
	Trigger         string   `json:"trigger"`
	Purpose         string   `json:"purpose"`
	RateControl     string   `json:"rate-control"`
	RateExpectation string   `json:"rate-expectation"`
	KnownURLs       []string `json:"known-urls"`
	IPsURI          string   `json:"ips_uri,omitempty"`
}

// card returns the Signature Agent Card. It states only what is enforced: that robots.txt is obeyed, because that cannot be switched off,
// and the rate that is enforced.
func (p *Profile) card() []byte {
	c := card{
		ClientID: p.CardURL(), Name: p.Product, ClientURI: p.Page, JWKSURI: p.DirectoryURL(),
		WebBotAuth: webBotAuth{
			UserAgent: p.UserAgent, ProductToken: p.Product, RobotsTxt: true, Trigger: "crawler", Purpose: p.Purpose,
			RateControl:     "Crawl-delay or Request-rate in robots.txt; any status with Retry-After, such as 429 or 503",
			RateExpectation: "one request at a time to a host, " + pause(p.Delay) + " between two",
			KnownURLs:       []string{"/robots.txt"},
		},
	}
	for _, contact := range p.Contacts {
		if uri, err := contactURI(contact); err == nil {
			c.Contacts = append(c.Contacts, uri)
		}
	}
	if len(p.Addresses) > 0 {
		c.WebBotAuth.IPsURI = p.RangesURL()
	}
	return indented(c)
}

// pause describes a delay, such as "at least 1.5 seconds".
func pause(d time.Duration) string {
	if d == 0 {
		return "no pause"
	}
	return "at least " + words(d)
}

// words formats a duration in words.
func words(d time.Duration) string {
	unit, name := time.Second, "second"
	switch {
	case d >= time.Hour && d%(time.Hour/2) == 0:
		unit, name = time.Hour, "hour"
	case d >= 2*time.Minute && d%(time.Minute/2) == 0:
		unit, name = time.Minute, "minute"
	}
	n := float64(d) / float64(unit)
	if n == 1 {
		return "1 " + name
	}
	return fmt.Sprintf("%.4g %ss", n, name)
}

// ranges is the file of address ranges (jafar-00 section 2).
type ranges struct {
	CreationTime string        `json:"creationTime"`
	Prefixes     []prefixEntry `json:"prefixes"`
}

type prefixEntry struct {
	IPv4     string   `json:"ipv4Prefix,omitempty"`
	IPv6     string   `json:"ipv6Prefix,omitempty"`
	Services []string `json:"services,omitempty"`
}

func (p *Profile) ranges(now time.Time) []byte {
	r := ranges{CreationTime: now.UTC().Format("2006-01-02T15:04:05Z"), Prefixes: []prefixEntry{}}
	for _, a := range p.Addresses {
		e := prefixEntry{Services: []string{p.Product}}
		if a.Addr().Is4() {
			e.IPv4 = a.String()
		} else {
			e.IPv6 = a.String()
		}
		r.Prefixes = append(r.Prefixes, e)
	}
	return indented(r)
}

func indented(v any) []byte {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // marshalling of strings and numbers cannot fail
	}
	return append(b, '\n')
}
