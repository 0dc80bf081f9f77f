package chromium

import (
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/render"
)

// pageCache keeps stopped pages between two rounds, so that the next round need not start from the beginning. It evicts the oldest page.
type pageCache struct {
	room int

	mu    sync.Mutex
	pages []*parked // parked pages, oldest first
}

// parked is a stopped page that waits for answers.
type parked struct {
	key identity
	tab *tab
	in  *host
}

// identity identifies a page by the properties that all of its rounds share.
type identity struct {
	url, agent string
	time       time.Time
	seed       uint64
	status     int
	document   [sha256.Size]byte
	screenshot bool
	stop       time.Duration
}

func identify(t *render.Task) identity {
	return identity{
		url: t.URL.String(), agent: t.Agent, time: t.Time.UTC(), seed: t.Seed, status: t.Document.Status,
		document: sha256.Sum256(t.Document.Body), screenshot: t.Screenshot, stop: t.Stop,
	}
}

func newPageCache(room int) *pageCache { return &pageCache{room: room} }

// resume removes and returns the parked page of a task, nil if there is none.
func (l *pageCache) resume(t *render.Task) *parked {
	if l.room == 0 {
		return nil
	}
	key := identify(t)
	if found := l.take(func(p *parked) bool { return p.key == key }); len(found) > 0 {
		return found[0]
	}
	return nil
}

// take removes and returns the pages that pick selects.
func (l *pageCache) take(pick func(*parked) bool) []*parked {
	l.mu.Lock()
	defer l.mu.Unlock()
	var taken []*parked
	l.pages = slices.DeleteFunc(l.pages, func(p *parked) bool {
		if pick(p) {
			taken = append(taken, p)
			return true
		}
		return false
	})
	return taken
}

// park adds a page, and returns the pages that it evicts.
func (l *pageCache) park(p *parked) []*parked {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pages = append(l.pages, p)
	n := max(0, len(l.pages)-l.room)
	out := slices.Clone(l.pages[:n])
	l.pages = slices.Delete(l.pages, 0, n)
	return out
}
