package politeness

import (
	"crypto/sha256"
	"time"

	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// ruleset is one robots.txt as it is kept: parsed, or only its text, which takes a tenth of the memory.
type ruleset struct {
	cfg    *Config
	book   *rulebook // that counts its size; nil until it is kept
	origin string    // that it applies to; "" where made up
	body   string    // "" where made up
	hash   [sha256.Size]byte

	rules *robots.Rules // nil until needed
	group *robots.Group // that binds us
}

// bound is the group that binds us, nil without rules.
func (s *ruleset) bound() *robots.Group {
	if s == nil {
		return nil
	}
	return s.parsed().group
}

// parsed returns s with its rules and group. Those of a snapshot, and those that were packed, are parsed when they are needed:
// of most hosts of a large crawl nothing is requested any more.
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

// pack keeps just the text of a file.
func (s *ruleset) pack() {
	if s.origin != "" {
		s.resize(func() { s.rules, s.group = nil, nil })
	}
}

// resize does what changes the size of s.
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

// answer is an answer for a robots.txt as it was understood, before it is applied.
type answer struct {
	policy robots.Policy
	rules  *ruleset
	hash   [sha256.Size]byte
	to     weburl.URL // of a redirect

	ended   time.Time // as far as is known
	expires instant   // when it has to be requested again, if it decides anything
	missing bool      // of a replay: its body was not kept
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
			return answer{policy: robots.AllowAll} // leads nowhere: unavailable, as 404
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
