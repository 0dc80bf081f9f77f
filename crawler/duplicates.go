package crawler

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"

	"github.com/amble-crawler/amble/internal/simhash"
)

// duplicates compares pages with earlier ones. It is safe for concurrent use.
type duplicates struct {
	limits   Duplicates
	contents *contents
	crowds   *crowds         // the URLs of a host with the same body
	hasher   *simhash.Hasher // nil without Duplicates.NearBits
	near     *simhash.Index
	fresh    nearPages // the part of near that is not stored yet
	keep     bool      // whether the crawl is durable, so that fresh must be stored
}

func newDuplicates(limits Duplicates, crowds *crowds) *duplicates {
	d := &duplicates{limits: limits, contents: newContents(), crowds: crowds}
	if limits.NearBits > 0 {
		d.hasher, d.near = simhash.NewHasher(), simhash.NewIndex(maxContents, limits.NearBits)
	}
	return d
}

// meeting says what has been counted for a page.
type meeting struct {
	host  string
	sum   [sha256.Size]byte
	met   bool // counted in contents
	crowd bool // counted in crowds
}

// meet compares the body with earlier ones, and reports whether too many URLs had it.
//
// Many URLs of one host that answer 200 with the same HTML page are most often an error page with a wrong
// status, or what a script returns for any parameter. Nothing is requested to find out. Where they are not
// (pages that are nearly empty, applications whose pages are built by scripts), little is lost: the body is
// the same as that of the first of them.
func (d *duplicates) meet(v *Visit) (m meeting, tooMany bool) {
	if len(v.Page.Body) == 0 || v.Page.Status != http.StatusOK {
		return m, false
	}
	v.SHA256 = sha256.Sum256(v.Page.Body)
	var times int
	sum := v.SHA256
	if v.shown != nil { // the pages of an application have one document
		sum = sha256.Sum256(v.shown.Body)
	}
	v.SameAs, times = d.contents.meet(v.URL.String(), sum)
	m = meeting{host: v.URL.Host(), sum: sum, met: v.SameAs != ""}
	switch {
	case d.limits.Same > 0 && times > d.limits.Same:
		v.Outcome, v.Reason = Duplicate, reasonSame
		return m, true
	case !m.met || d.limits.Soft <= 0 || !v.Page.IsHTML() || v.Page.Truncated != "":
		return m, false
	case d.crowds.same(m.host, m.sum, max(1, d.limits.Soft-1)):
		v.Outcome, v.Reason = Duplicate, reasonSoft404
		return m, true
	}
	m.crowd = true
	return m, false
}

// forget takes back what meet counted for a page that is requested again.
func (d *duplicates) forget(m meeting) {
	if m.met {
		d.contents.unmeet(m.sum)
	}
	if m.crowd {
		d.crowds.unsame(m.host, m.sum)
	}
}

// minWords is the number of words a page must have for its similarity to be meaningful.
const minWords = 40

// similar looks for an earlier page that is nearly the same.
func (d *duplicates) similar(v *Visit) {
	if d.hasher == nil || v.SameAs != "" {
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
	if near := d.near.Meet(v.URL.String(), f); near != v.URL.String() { // itself: the page was fetched again
		v.NearOf = near
	}
	if d.keep {
		d.fresh.add(nearPage{v.URL.String(), f})
	}
}

// nearPages are pages whose similarity hashes are not stored yet.
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

// hash returns the SHA-256 of the visit's body for its record; "" if the body was not sent again and its
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
