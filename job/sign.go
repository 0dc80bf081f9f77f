package job

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/identity"
)

// sign makes cfg sign requests and heads of the ledger with the identity in the setting "sign".
func (c *Config) sign(cfg *crawler.Config) error {
	bad := func(err error) error { return &KeyError{Key: "sign", Value: fmt.Sprintf("%q", c.Sign), Err: err} }
	if c.Crawl.Fetch.Signer != nil || c.Crawl.Politeness.SignHead != nil {
		return bad(errors.New("Crawl.Fetch.Signer or Crawl.Politeness.SignHead is set: leave one of the two out"))
	}
	folder, err := identity.Open(c.Sign)
	if err != nil {
		return bad(err)
	}
	keys, err := folder.Signer()
	if err != nil {
		return bad(err)
	}
	agent := c.Crawl.Identity().UserAgent()
	if published := folder.Profile().UserAgent; published != agent && c.Note != nil {
		c.Note(fmt.Sprintf("the identity in %s is that of %q, and requests say %q: sites compare them", c.Sign, published, agent))
	}
	cfg.Fetch.Signer, cfg.Politeness.SignHead = identity.NewRequests(identity.NewPolicy(c.SignMode, keys), c.Note), c.headSigner(folder)
	return nil
}

// headSigner signs heads of the ledger. While no key is valid there are no heads, which is logged once: the crawl continues, and verify
// reports the line from which the ledger is not signed.
func (c *Config) headSigner(folder *identity.Folder) func([sha256.Size]byte, int64, time.Time) (string, error) {
	var once sync.Once
	return func(sum [sha256.Size]byte, lines int64, at time.Time) (string, error) {
		k, err := folder.Key(at)
		if err == nil {
			return identity.SignHead(k, identity.Head{Hash: sum, Lines: lines, Time: at})
		}
		once.Do(func() {
			if c.Note != nil {
				c.Note(fmt.Sprintf("the ledger is not signed any more: %v", err))
			}
		})
		return "", nil
	}
}
