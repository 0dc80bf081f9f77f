package politeness

import (
	"crypto/sha256"
	"time"

	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// ruleset is one robots.txt as it is kept.
type ruleset struct {
	rules *robots.Rules
	group *robots.Group
	body  string // for a snapshot; "" where made up
	hash  [sha256.Size]byte
	parse func() // fills in rules and group of one that was restored; nil when it has
}

// bound is the group that binds us, nil without rules.
func (s *ruleset) bound() *robots.Group {
	if s == nil {
		return nil
	}
	return s.parsed().group
}

// parsed returns s with its rules and group. Those of a snapshot are parsed when they are needed: of most hosts of a
// large crawl nothing is requested any more.
func (s *ruleset) parsed() *ruleset {
	if s.parse != nil {
		s.parse()
		s.parse = nil
	}
	return s
}

// size estimates the bytes a file takes: its body twice (the parser keeps its own), and per byte of body up to eight for
// lines, rules and index.
func (s *ruleset) size() int64 {
	if s == nil {
		return 0
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
	if r.Err != nil || r.Truncated != "" && r.Truncated != CutByLength {
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
	s := &ruleset{rules: robots.Parse([]byte(body), robots.WithOrigin(origin), robots.WithDialect(c.Dialect)), body: body}
	s.group = s.rules.For(c.Identity.Product)
	return s
}

// denyAll is what 401 and 403 mean with Config.ForbiddenDenies.
func (c *Config) denyAll() *ruleset {
	s := c.ruleset("", "User-agent: *\nDisallow: /\n")
	s.body = ""
	return s
}
