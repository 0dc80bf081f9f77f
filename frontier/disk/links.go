package disk

import (
	"errors"

	"github.com/amble-crawler/amble/frontier"
)

// ErrTooLarge says that one call carries more than 1 GiB of values, URLs or Meta, which the engine could
// not write in one step. The call had no effect.
var ErrTooLarge = errors.New("disk: more than 1 GiB in one call")

const (
	callBytes  = 1 << 30 // of values, URLs and Meta in one call
	groupBytes = 4 << 20 // the same in one batch, unless one call has more
)

// linksOf puts rs into a step of o, with what the writer needs to know of them; requests that are known to
// change nothing are left out. The error is frontier.ErrRequest or ErrTooLarge.
func (s *Store) linksOf(o *op, step int, rs []frontier.Request) error {
	links := make([]link, 0, len(rs))
	for i := range rs {
		if err := rs[i].Validate(); err != nil {
			return err
		}
		links = append(links, link{Request: &rs[i], id: s.c.Key(rs[i].URL)})
	}
	if !o.revive {
		links = s.known.without(links)
	}
	var authority, scheme string
	var host uint64
	for i := range links {
		l := &links[i]
		if l.URL.Authority() != authority || l.URL.Scheme() != scheme { // most links of a page lead to one host
			authority, scheme = l.URL.Authority(), l.URL.Scheme()
			host = s.secret.hashHost(l.URL.Host())
		}
		l.key = urlKey{host, s.secret.hashURL(l.id)}
		o.bytes += len(l.URL.String()) + len(l.Via.String()) + len(l.Meta)
	}
	o.steps[step].links = links
	o.links += len(links)
	return o.checkSize()
}

// carry sets the checkpoint of o.
func (o *op) carry(c frontier.Checkpoint) error {
	o.checkpoint = c
	for _, v := range c.Values {
		o.bytes += len(v)
	}
	return o.checkSize()
}

func (o *op) checkSize() error {
	if o.bytes > callBytes {
		return ErrTooLarge
	}
	return nil
}
