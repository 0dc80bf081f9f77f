package crawler

import (
	"sync"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/weburl"
)

// cuts keeps, for URLs that are requested again because an answer broke off, the longest body that any
// attempt received. It is in memory only: a process that is killed loses what was received, but never the
// URL.
type cuts struct {
	max int // bytes

	mu    sync.Mutex
	pages map[weburl.URL]*fetcher.Page
	bytes int
}

// maxCuts bounds the bodies that wait for another attempt, and cutOverhead is what each counts in addition
// to its body.
const (
	maxCuts     = 64 << 20
	cutOverhead = 8 << 10
)

func newCuts() *cuts { return &cuts{max: maxCuts, pages: map[weburl.URL]*fetcher.Page{}} }

// keep keeps a copy of an answer that broke off, unless there is a longer one. It returns false if there is
// no room: then the answer must be accepted as it is.
func (c *cuts) keep(u weburl.URL, p *fetcher.Page) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.pages[u]
	if old != nil && len(old.Body) >= len(p.Body) {
		return true
	}
	bytes := c.bytes + cutSize(p) - cutSize(old)
	if bytes > c.max {
		return false
	}
	c.pages[u], c.bytes = p.Clone(), bytes
	c.pages[u].Raw = nil // the attempt is archived separately
	return true
}

func cutSize(p *fetcher.Page) int {
	if p == nil {
		return 0
	}
	return len(p.Body) + cutOverhead
}

// take returns what is kept for u, nil if nothing is, and forgets it.
func (c *cuts) take(u weburl.URL) *fetcher.Page {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pages[u]
	delete(c.pages, u)
	c.bytes -= cutSize(p)
	return p
}

// brokeOff reports whether another attempt might get the whole page: the connection ended before the page
// did. A page that was cut by one of our own limits would be cut again.
func brokeOff(p *fetcher.Page) bool {
	return p.Truncated == fetcher.ReasonCutShort && p.Status/100 == 2
}

// better returns the better of the last attempt's answer and the longest earlier one, which may be nil.
func better(last, earlier *fetcher.Page) *fetcher.Page {
	worse := retryable(last.Status) || last.Status/100 == 2 && last.Truncated != "" && earlier != nil && len(last.Body) < len(earlier.Body)
	if earlier != nil && worse {
		return earlier
	}
	return last
}
