package disk

import (
	"errors"

	"github.com/amble-crawler/amble/frontier"
)

// ErrTooLarge says that one call carries more than 1 GiB of values or Meta, which the engine could
// not write in one step. The call had no effect.
var ErrTooLarge = errors.New("disk: more than 1 GiB in one call")

const (
	callBytes  = 1 << 30  // of values and Meta in one call
	groupBytes = 64 << 20 // of them written at once, unless one call has more
)

// linksOf computes, before anything is locked, what the writer needs of rs, and puts it into a step of o.
// The error is frontier.ErrRequest or ErrTooLarge.
func (s *Store) linksOf(o *op, step int, rs []frontier.Request) error {
	links := make([]link, len(rs))
	var authority, scheme string
	var host uint64
	for i := range rs {
		if err := rs[i].Validate(); err != nil {
			return err
		}
		u := rs[i].URL
		if u.Authority() != authority || u.Scheme() != scheme { // most links of a page are to one host
			authority, scheme = u.Authority(), u.Scheme()
			host = s.secret.hashHost(u.Host())
		}
		id := s.c.Key(u)
		links[i] = link{&rs[i], id, urlKey{host, s.secret.hashURL(id)}}
		o.bytes += len(rs[i].Meta)
	}
	o.steps[step].links = links
	o.links += len(links)
	return o.checkSize()
}

// carry gives o what it carries beside URLs.
func (o *op) carry(offsets map[string]int64, values map[string][]byte) error {
	o.offsets, o.state = offsets, values
	for _, v := range values {
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
