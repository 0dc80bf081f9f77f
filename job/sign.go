package job

import (
	"fmt"
	"strings"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/identity"
	"github.com/amble-crawler/amble/politeness"
)

// signer signs by the identity that the key sign names.
func (c *Config) signer() (fetcher.Signer, error) {
	bad := func(err error) error { return &KeyError{Key: "sign", Value: fmt.Sprintf("%q", c.Sign), Err: err} }
	if c.Crawl.Fetch.Signer != nil {
		return nil, bad(fmt.Errorf("Crawl.Fetch.Signer is set: leave one of the two out"))
	}
	folder, err := identity.Open(c.Sign)
	if err != nil {
		return nil, bad(err)
	}
	keys, err := folder.Signer()
	if err != nil {
		return nil, bad(err)
	}
	name, version, _ := strings.Cut(c.Crawl.Agent, "/")
	agent := politeness.Identity{Product: name, Version: version, Contact: c.Crawl.Contact}.UserAgent()
	if published := folder.Profile().UserAgent; published != agent && c.Note != nil {
		c.Note(fmt.Sprintf("the identity in %s is that of %q, and requests say %q: sites compare them", c.Sign, published, agent))
	}
	return identity.NewRequests(identity.NewPolicy(c.SignMode, keys), c.Note), nil
}
