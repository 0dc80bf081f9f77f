package politeness

import (
	"errors"
	"fmt"
	"time"

	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// Override replaces the robots.txt of one origin, for those who are entitled to it: the site's owner, or an archive with a
// mandate. It needs a reason, which is written to the ledger with every request that it lets through.
type Override struct {
	Origin string    `json:"origin"`         // scheme://host[:port]
	Reason string    `json:"reason"`         // who allowed the override, and why; required
	Body   string    `json:"body,omitempty"` // the robots.txt to use instead, unless Skip is set
	Skip   bool      `json:"skip,omitempty"` // no rules apply at all
	Until  time.Time `json:"until,omitzero"` // the end of the override; required with Skip
}

// override is an Override ready for use.
type override struct {
	Override
	rules          *robots.Rules // nil with Skip
	group          *robots.Group
	requestedDelay time.Duration
	requestedBy    string
}

func (c *Config) validateOverrides() error {
	var errs []error
	for _, o := range c.Overrides {
		u, err := weburl.Parse(o.Origin)
		switch {
		case err != nil || u.Origin() != o.Origin:
			errs = append(errs, fmt.Errorf("politeness: override %q: want an origin such as https://host.name", o.Origin))
		case o.Reason == "":
			errs = append(errs, fmt.Errorf("politeness: override %s: needs a reason", o.Origin))
		case o.Skip && o.Until.IsZero():
			errs = append(errs, fmt.Errorf("politeness: override %s: skipping robots.txt needs an end (Until)", o.Origin))
		case o.Skip && o.Body != "":
			errs = append(errs, fmt.Errorf("politeness: override %s: has a body, and Skip says to ignore it", o.Origin))
		}
	}
	return errors.Join(errs...)
}

func (c *Config) overrides() map[string]*override {
	m := make(map[string]*override, len(c.Overrides))
	for _, o := range c.Overrides {
		v := &override{Override: o}
		if !o.Skip {
			v.rules = robots.Parse([]byte(o.Body), robots.WithOrigin(o.Origin), robots.WithDialect(c.Dialect))
			v.group = v.rules.For(c.Identity.Product)
			v.requestedDelay, v.requestedBy = requestedDelay(v.group)
		}
		m[o.Origin] = v
	}
	return m
}

// source returns the source of an override's rules, for explanations.
func (o *override) source() robots.Source {
	return robots.Source{RobotsURL: "override (" + o.Reason + ")", Status: 200}
}
