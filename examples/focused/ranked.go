package main

import (
	"context"
	"math"
	"sync"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// ranked is a Frontier that gives links the priority that was noted for them before their page is
// settled. A priority orders the URLs of one host; which host comes next is up to politeness alone.
// A link that is queued already keeps the priority of its first mention.
type ranked struct {
	*frontier.Memory

	mu     sync.Mutex
	scores map[weburl.Key]map[weburl.Key]int8 // by page: its links
}

func newRanked(m *frontier.Memory) *ranked {
	return &ranked{Memory: m, scores: map[weburl.Key]map[weburl.Key]int8{}}
}

// note is told the priorities of a page's links, before the page is settled.
func (r *ranked) note(page weburl.URL, links map[weburl.Key]int8) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scores[page.Key()] = links
}

// Settle implements frontier.Frontier. Redirects keep the priority of what they stand for.
func (r *ranked) Settle(ctx context.Context, c frontier.Claim, s frontier.Settlement) error {
	links := r.take(c.URL)
	for i := range s.Links {
		if p, noted := links[s.Links[i].URL.Key()]; noted {
			s.Links[i].Priority = p
		}
	}
	return r.Memory.Settle(ctx, c, s)
}

func (r *ranked) take(page weburl.URL) map[weburl.Key]int8 {
	r.mu.Lock()
	defer r.mu.Unlock()
	links := r.scores[page.Key()]
	delete(r.scores, page.Key())
	return links
}

// priority is a score as the frontier orders by: eighths of a doubling, so that high scores are told
// apart as well as low ones.
func priority(score float64) int8 {
	return int8(min(8*math.Log2(1+score), math.MaxInt8))
}
