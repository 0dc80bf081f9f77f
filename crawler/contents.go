package crawler

import (
	"crypto/sha256"
	"sync"
)

// contents remembers which URL had a body first.
type contents struct {
	mu    sync.Mutex
	first map[[16]byte]*content
}

type content struct {
	url   string
	count int
}

// maxContents bounds what is remembered; later bodies are compared with the earlier ones only.
const maxContents = 200_000

func newContents() *contents { return &contents{first: map[[16]byte]*content{}} }

// meet notes a body and returns the URL that had the same before, "" when it is the first, and how
// often the body has been met by now.
func (c *contents) meet(url string, sum [sha256.Size]byte) (before string, times int) {
	k := [16]byte(sum[:16])
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.first[k]; f != nil {
		f.count++
		return f.url, f.count
	}
	if len(c.first) < maxContents {
		c.first[k] = &content{url, 1}
	}
	return "", 1
}
