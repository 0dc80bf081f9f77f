package render

import "sync"

// A host whose renderings bring nothing is left static for a while.
const (
	uselessRow  = 5      // consecutive renderings without gain
	staticPages = 50     // pages then left static
	maxHosts    = 10_000 // hosts remembered; beyond that, old ones are forgotten
)

// Gains remembers which hosts' pages had nothing more to give when rendered: after 5 consecutive renderings
// without a new link and with less than 5 % more text, the next 50 pages of the host are left static. It is
// kept in memory alone. The zero Gains is empty and ready for use; its methods may be called concurrently.
type Gains struct {
	mu         sync.Mutex
	young, old map[string]gain // two generations of at most maxHosts/2
}

type gain struct{ useless, static int }

// Skip reports whether a page of the host is to be left static, and counts it if so.
func (g *Gains) Skip(host string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.get(host)
	if h.static == 0 {
		return false
	}
	h.static--
	g.put(host, h)
	return true
}

// Note takes a rendering into account: how many links it has that the static page lacked, and how many
// characters of text there were before and after.
func (g *Gains) Note(host string, newLinks, textBefore, textAfter int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.get(host)
	if newLinks > 0 || (textAfter-textBefore)*20 >= max(textBefore, 1) {
		h.useless = 0
	} else if h.useless++; h.useless == uselessRow {
		h = gain{static: staticPages}
	}
	g.put(host, h)
}

func (g *Gains) get(host string) gain {
	if h, ok := g.young[host]; ok {
		return h
	}
	return g.old[host]
}

func (g *Gains) put(host string, h gain) {
	if g.young == nil || len(g.young) >= maxHosts/2 {
		g.young, g.old = map[string]gain{}, g.young
	}
	g.young[host] = h
}
