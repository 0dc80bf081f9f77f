package crawler

import (
	"crypto/sha256"
	"sync"
)

// contents remembers which URL was the first to have a body.
type contents struct {
	most int // maximum number of bodies
	room int // maximum number of bytes of their URLs

	mu    sync.Mutex
	size  int // bytes of the URLs
	first map[[16]byte]*content
	fresh map[[16]byte]*content // changed since they were last stored; nil in a crawl that is not durable
}

type content struct {
	url   string
	count int
}

// Bounds of what is remembered; when they are reached, bodies are compared with the earlier ones only.
const (
	maxContents     = 200_000
	maxContentBytes = 16 << 20 // of URLs: 80 bytes for each of maxContents
)

func newContents() *contents {
	return &contents{most: maxContents, room: maxContentBytes, first: map[[16]byte]*content{}}
}

// meet records a body and returns the first URL that had it, "" if this is the first, and how often the
// body has been met so far.
func (c *contents) meet(url string, sum [sha256.Size]byte) (before string, times int) {
	k := [16]byte(sum[:16])
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.first[k]
	if f != nil && f.url == url { // fetched again, after a crash
		return "", f.count
	}
	if f != nil {
		f.count++
		c.note(k, f)
		return f.url, f.count
	}
	if f = c.add(k, url, 1); f != nil {
		c.note(k, f)
	}
	return "", 1
}

// add remembers a body if there is room; otherwise it returns nil.
func (c *contents) add(k [16]byte, url string, count int) *content {
	if len(c.first) >= c.most || c.size+len(url) > c.room {
		return nil
	}
	c.first[k] = &content{url, count}
	c.size += len(url)
	return c.first[k]
}

// unmeet takes back a meeting with a body that another URL had first.
func (c *contents) unmeet(sum [sha256.Size]byte) {
	k := [16]byte(sum[:16])
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.first[k]; f != nil && f.count > 1 {
		f.count--
		c.note(k, f)
	}
}

func (c *contents) note(k [16]byte, f *content) {
	if c.fresh != nil {
		c.fresh[k] = f
	}
}

// changed returns what was met since the last call.
func (c *contents) changed() map[[16]byte]content {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[[16]byte]content, len(c.fresh))
	for k, f := range c.fresh {
		all[k] = *f
	}
	clear(c.fresh)
	return all
}

// recall records what was met before the process began.
func (c *contents) recall(k [16]byte, url string, count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(k, url, count)
}
