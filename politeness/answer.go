package politeness

import (
	"crypto/sha256"
	"time"

	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// ruleset is one stored robots.txt: parsed, or reduced to its text ("packed"), which takes a tenth of the memory.
type ruleset struct {
	cfg    *Config
	book   *rulebook // the rulebook whose size includes this ruleset; nil before it is added to one
	origin string    // origin that the rules apply to; "" for rules without a file
	body   string    // text of the file; "" for rules without a file
	hash   [sha256.Size]byte

	rules *robots.Rules // nil until needed
	group *robots.Group // the group that applies to this crawler
}

// bound returns the group that applies to this crawler, nil without rules.
func (s *ruleset) bound() *robots.Group {
	if s == nil {
		return nil
	}
	return s.parsed().group
}

// parsed returns s with its rules and group, parsing them if necessary. Rules from a snapshot, and packed rules, are parsed
// only on demand: a large crawl never returns to most of its hosts.
func (s *ruleset) parsed() *ruleset {
	if s.rules == nil {
		s.resize(s.parse)
		if s.book != nil {
			s.book.note(s)
		}
	}
	return s
}

func (s *ruleset) parse() {
	s.rules = robots.Parse([]byte(s.body), robots.WithOrigin(s.origin), robots.WithDialect(s.cfg.Dialect))
	s.group = s.rules.For(s.cfg.Identity.Product)
}

// pack discards the parsed rules and keeps the text of the file.
func (s *ruleset) pack() {
	if s.origin != "" {
		s.resize(func() { s.rules, s.group = nil, nil })
	}
}

// resize calls do, which changes the size of s, and updates the rulebook's total.
func (s *ruleset) resize(do func()) {
	before := s.size()
	do()
	if s.book != nil {
		s.book.size += s.size() - before
	}
}

// size estimates the bytes a file takes: its body and, once it is parsed, the parser's copy and up to eight per byte of body
// for lines, rules and index.
func (s *ruleset) size() int64 {
	switch {
	case s == nil:
		return 0
	case s.rules == nil:
		return 256 + int64(len(s.body))
	}
	return 512 + 10*int64(len(s.body))
}

// answer is an interpreted response to a request for robots.txt, before it is applied.
type answer struct {
	policy robots.Policy
	rules  *ruleset
	hash   [sha256.Size]byte
	to     weburl.URL // target of a redirect

	ended   time.Time // end of the response, if known
	expires instant   // time from which the file must be requested again; set only if the response decides about the rules
	missing bool      // the body was not kept; set only in a replay
}

// read interprets the reply to a request for a robots.txt. It parses outside the Gate's lock. The rules apply to the origin
// that was requested first, wherever redirects led.
func (c *Config) read(now time.Time, p *permit, r Reply) answer {
	a := c.interpret(p, r)
	a.ended = now
	if !r.Ended.IsZero() && r.Ended.Before(now) {
		a.ended = r.Ended
	}
	a.expires = at(a.ended).add(robots.Freshness(r.Header, a.ended))
	return a
}

func (c *Config) interpret(p *permit, r Reply) answer {
	if r.Err != nil || r.Wall != "" || r.Truncated != "" && r.Truncated != CutByLength {
		return answer{policy: robots.Unreachable}
	}
	a := answer{policy: robots.StatusPolicy{ForbiddenDenies: c.ForbiddenDenies}.ForStatus(r.Status)}
	switch a.policy {
	case robots.DenyAll:
		a.rules = c.denyAll()
	case robots.Obey:
		a.hash = sha256.Sum256(r.Body)
		a.rules = c.ruleset(p.wanted.Origin(), string(r.Body[:min(len(r.Body), robots.MaxSize+1)]))
		a.rules.hash = a.hash
	case robots.Redirect:
		to, err := p.url.Resolve(r.Header.Get("Location"))
		if err != nil || r.Header.Get("Location") == "" {
			return answer{policy: robots.AllowAll} // without a usable target, treated as unavailable, like a 404
		}
		a.to = to
	}
	return a
}

func (c *Config) ruleset(origin, body string) *ruleset {
	s := &ruleset{cfg: c, origin: origin, body: body}
	s.parse()
	return s
}

// denyAll returns the rules for 401 and 403 with Config.ForbiddenDenies.
func (c *Config) denyAll() *ruleset {
	s := c.ruleset("", "User-agent: *\nDisallow: /\n")
	s.body = ""
	return s
}
