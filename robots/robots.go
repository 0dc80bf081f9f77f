// Package robots reads robots.txt files and judges URLs by them (RFC 9309 and its relatives),
// and reads the robots directives of pages. It is pure: no I/O, no clock, no state.
package robots

import "time"

// Verdict is what a group's rules say of one path, and why.
// The zero Verdict refuses nothing and names nothing.
type Verdict struct {
	Allowed bool
	// Line is the 1-based line of the deciding rule, 0 when no rule matched and the URL is allowed
	// by default.
	Line int
}

// Rules is one robots.txt file, parsed. It is immutable and safe for concurrent use.
type Rules struct{}

// Parse reads a robots.txt file. It never fails.
func Parse(body []byte, opts ...Option) *Rules { return &Rules{} }

// Option changes how Parse reads.
type Option func(*options)

type options struct{}

// For is the group that binds the robot with this product token.
func (r *Rules) For(product string) *Group { return &Group{} }

// Sitemaps are the values of the Sitemap lines, in order.
func (r *Rules) Sitemaps() []string { return nil }

// Group is what one file says to one robot.
type Group struct{}

// Test judges a path with its query, as [net/url.URL.RequestURI] or weburl.URL.PathQuery write it.
func (g *Group) Test(pathQuery string) Verdict { return Verdict{Allowed: true} }

// CrawlDelay is the group's Crawl-delay; ok is false when it names none.
func (g *Group) CrawlDelay() (d time.Duration, ok bool) { return 0, false }

// RequestRate is the group's Request-rate as time per request; ok is false when it names none.
func (g *Group) RequestRate() (d time.Duration, ok bool) { return 0, false }

// Policy is what an answer to /robots.txt means (RFC 9309 section 2.3.1).
type Policy uint8

// The policies.
const (
	Obey        Policy = iota // parse the body and obey its rules
	AllowAll                  // unavailable: everything may be fetched
	Redirect                  // follow Location, at most five hops
	Unreachable               // nothing may be fetched for now
)

// ForStatus is what the status of an answer to /robots.txt means.
func ForStatus(status int) Policy { return Obey }
