package crawler

import (
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// room counts the room in the queue for the links of one page. Other pages queue links at the same time:
// nearly all links that are rejected for lack of room are noticed here, and the frontier counts the rest.
type room struct {
	rationer          frontier.Rationer
	scheme, authority string // of the host that the counts are for
	urls              int
	bytes             int64
}

func (j *judge) room() *room { return &room{rationer: j.rationer} }

// has reports whether there is room for u.
func (m *room) has(u weburl.URL) bool {
	if m.rationer == nil {
		return true
	}
	if u.Authority() != m.authority || u.Scheme() != m.scheme {
		m.scheme, m.authority = u.Scheme(), u.Authority()
		m.urls, m.bytes = m.rationer.Room(u.Host())
	}
	return m.urls > 0 && m.bytes > 0
}

// take records that u is queued.
func (m *room) take(u weburl.URL) {
	m.urls--
	m.bytes -= int64(len(u.String()))
}
