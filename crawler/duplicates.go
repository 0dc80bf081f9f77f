package crawler

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"

	"github.com/amble-crawler/amble/internal/simhash"
)

// duplicates finds pages whose body is equal or similar to that of an earlier page. It is safe for concurrent use.
type duplicates struct {
	limits     Duplicates
	contents   *contents
	trapCounts *trapCounts     // counts the URLs of a host with the same body
	hasher     *simhash.Hasher // nil without Duplicates.NearBits
	near       *simhash.Index
	fresh      nearPages // entries of near that are not stored yet
	keep       bool      // the crawl is durable, so fresh must be stored
}

func newDuplicates(limits Duplicates, trapCounts *trapCounts) *duplicates {
	d := &duplicates{limits: limits, contents: newContents(), trapCounts: trapCounts}
	if limits.NearBits > 0 {
		d.hasher, d.near = simhash.NewHasher(), simhash.NewIndex(maxContents, limits.NearBits)
	}
	return d
}

// meeting records how a page was counted.
type meeting struct {
	host    string
	sum     [sha256.Size]byte
	met     bool // counted in duplicates.contents
	grouped bool // counted in duplicates.trapCounts
}

// meet compares the body with earlier bodies, and reports whether too many URLs have had the same body.
//
// If many URLs of one host return the same HTML page with status 200, it is usually an error page with a wrong status, or the response of
// a script that ignores its parameters. No request is made to verify this. In other cases (pages that are nearly empty, applications
// whose pages are built by scripts) little is lost, because the first page has the same body.
func (d *duplicates) meet(v *Visit) (m meeting, tooMany bool) {
	if len(v.Page.Body) == 0 || v.Page.Status != http.StatusOK {
		return m, false
	}
	v.SHA256 = sha256.Sum256(v.Page.Body)
	var times int
	sum := v.SHA256
	if v.shown != nil { // a rendered page is compared by its DOM, because all pages of a client-side application share one document
		sum = sha256.Sum256(v.shown.Body)
	}
	v.SameAs, times = d.contents.meet(v.URL.String(), sum)
	m = meeting{host: v.URL.Host(), sum: sum, met: v.SameAs != ""}
	switch {
	case d.limits.Same > 0 && Limit(times) > d.limits.Same:
		v.Outcome, v.Reason = Duplicate, reasonSame
		return m, true
	case !m.met || d.limits.Soft <= 0 || !v.Page.IsHTML() || v.Page.Truncated != "":
		return m, false
	case d.trapCounts.same(m.host, m.sum, int(max(1, d.limits.Soft-1))):
		v.Outcome, v.Reason = Duplicate, reasonSoft404
		return m, true
	}
	m.grouped = true
	return m, false
}

// forget reverts meet, for a page that is requested again.
func (d *duplicates) forget(m meeting) {
	if m.met {
		d.contents.unmeet(m.sum)
	}
	if m.grouped {
		d.trapCounts.unsame(m.host, m.sum)
	}
}

// minWords is the minimum number of words of a page for a meaningful similarity.
const minWords = 40

// similar looks for an earlier page that is nearly the same.
func (d *duplicates) similar(v *Visit) {
	if d.hasher == nil || v.SameAs != "" || v.Page.Charset == "" { // compare only text, and only the first page with a body
		return
	}
	text, err := v.content().Text()
	if err != nil {
		return
	}
	f, words := d.hasher.HTML(text)
	if words < minWords {
		return
	}
	if near := d.near.Meet(v.URL.String(), f); near != v.URL.String() { // near is this URL itself if the page was fetched again
		v.NearOf = near
	}
	if d.keep {
		d.fresh.add(nearPage{v.URL.String(), f})
	}
}

// nearPages holds pages whose similarity hashes are not stored yet.
type nearPages struct {
	mu    sync.Mutex
	pages []nearPage
}

type nearPage struct {
	url         string
	fingerprint uint64
}

func (n *nearPages) add(p nearPage) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pages = append(n.pages, p)
}

func (n *nearPages) take() []nearPage {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.pages
	n.pages = nil
	return all
}

// hash returns the SHA-256 of the visit's body for the visit's record. It returns "" if the server did not send the body again and its
// hash is unknown.
func (v *Visit) hash() string {
	sum := v.SHA256
	if sum == ([sha256.Size]byte{}) {
		if v.Outcome == NotModified {
			return ""
		}
		sum = sha256.Sum256(v.Page.Body)
	}
	return hex.EncodeToString(sum[:])
}

// contents remembers the first URL of each body.
type contents struct {
	most int // maximum number of bodies
	room int // maximum number of bytes of the first URLs

	mu    sync.Mutex
	size  int // bytes of the first URLs
	first map[[16]byte]*content
	fresh map[[16]byte]*content // changed since they were last stored; nil if the crawl is not durable
}

type content struct {
	url   string
	count int
}

// Limits of contents. When one is reached, no further bodies are remembered.
const (
	maxContents     = 200_000
	maxContentBytes = 16 << 20 // total bytes of URLs: 80 for each of maxContents
)

func newContents() *contents {
	return &contents{most: maxContents, room: maxContentBytes, first: map[[16]byte]*content{}}
}

// meet records a body and returns the first URL that had it, "" if this is the first, and the number of times the body has been met
// so far.
func (c *contents) meet(url string, sum [sha256.Size]byte) (before string, times int) {
	k := [16]byte(sum[:16])
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.first[k]
	if f != nil && f.url == url { // the same URL, fetched again after a crash, is no duplicate
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

// add remembers a body. It returns nil if a limit is reached.
func (c *contents) add(k [16]byte, url string, count int) *content {
	if len(c.first) >= c.most || c.size+len(url) > c.room {
		return nil
	}
	c.first[k] = &content{url, count}
	c.size += len(url)
	return c.first[k]
}

// unmeet reverts a call of meet for a body that an earlier URL had.
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

// changed returns the contents that have changed since the last call.
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

// recall restores a content that an earlier process stored.
func (c *contents) recall(k [16]byte, url string, count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(k, url, count)
}
