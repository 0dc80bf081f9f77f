package crawler

import "github.com/amble-crawler/amble/weburl"

// room is what the links of one page find of room in the queue. Others queue meanwhile: what is told here is
// what becomes of nearly all links, and the frontier counts the rest.
type room struct {
	r                 *run
	scheme, authority string // of the host that the counts are of
	urls              int
	bytes             int64
}

func (r *run) room() *room { return &room{r: r} }

// has reports whether there is room for u.
func (m *room) has(u weburl.URL) bool {
	if m.r.rationer == nil {
		return true
	}
	if u.Authority() != m.authority || u.Scheme() != m.scheme {
		m.scheme, m.authority = u.Scheme(), u.Authority()
		m.urls, m.bytes = m.r.rationer.Room(u.Host())
	}
	return m.urls > 0 && m.bytes > 0
}

// take notes that u is queued.
func (m *room) take(u weburl.URL) {
	m.urls--
	m.bytes -= int64(len(u.String()))
}
