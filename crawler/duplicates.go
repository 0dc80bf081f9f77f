package crawler

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"

	"github.com/amble-crawler/amble/internal/simhash"
)

// duplicates compares pages with those before. It is safe for concurrent use.
type duplicates struct {
	limits   Duplicates
	contents *contents
	crowds   *crowds         // the URLs of a host with one body
	hasher   *simhash.Hasher // nil without Duplicates.NearBits
	near     *simhash.Index
	fresh    nearPages // what the crawl must keep of near
	keep     bool      // it must
}

func newDuplicates(limits Duplicates, crowds *crowds) *duplicates {
	d := &duplicates{limits: limits, contents: newContents(), crowds: crowds}
	if limits.NearBits > 0 {
		d.hasher, d.near = simhash.NewHasher(), simhash.NewIndex(maxContents, limits.NearBits)
	}
	return d
}

// meeting is what was counted of a page.
type meeting struct {
	host  string
	sum   [sha256.Size]byte
	met   bool // in contents
	crowd bool // in crowds
}

// meet compares the body with those before, and reports whether too many had it.
//
// Many URLs of one host that answer 200 with the same HTML page are most often an error page
// whose status lies, or what a script says to any parameter at all. Nothing is requested to find out.
// What is lost where they are not (pages that are nearly empty, applications whose pages are made by
// scripts) is little: the body is the one the first of them had.
func (d *duplicates) meet(v *Visit) (m meeting, tooMany bool) {
	if len(v.Page.Body) == 0 || v.Page.Status != http.StatusOK {
		return m, false
	}
	v.SHA256 = sha256.Sum256(v.Page.Body)
	var times int
	v.SameAs, times = d.contents.meet(v.URL.String(), v.SHA256)
	m = meeting{host: v.URL.Host(), sum: v.SHA256, met: v.SameAs != ""}
	switch {
	case d.limits.Same > 0 && times > d.limits.Same:
		v.Outcome, v.Reason = Duplicate, ReasonSame
		return m, true
	case !m.met || d.limits.Soft <= 0 || !v.Page.IsHTML() || v.Page.Truncated != "":
		return m, false
	case d.crowds.same(m.host, m.sum, max(1, d.limits.Soft-1)):
		v.Outcome, v.Reason = Duplicate, ReasonSoft404
		return m, true
	}
	m.crowd = true
	return m, false
}

// forget takes back what meet counted of a page that is requested again.
func (d *duplicates) forget(m meeting) {
	if m.met {
		d.contents.unmeet(m.sum)
	}
	if m.crowd {
		d.crowds.unsame(m.host, m.sum)
	}
}

// minWords is how many words a page must have for its similarity to mean anything.
const minWords = 40

// similar looks for an earlier page that is nearly the same.
func (d *duplicates) similar(v *Visit) {
	if d.hasher == nil || v.SameAs != "" {
		return
	}
	text, err := v.Page.Text()
	if err != nil {
		return
	}
	f, words := d.hasher.HTML(text)
	if words < minWords {
		return
	}
	if near := d.near.Meet(v.URL.String(), f); near != v.URL.String() { // itself: fetched again
		v.NearOf = near
	}
	if d.keep {
		d.fresh.add(nearPage{v.URL.String(), f})
	}
}

// nearPages are pages whose similarity is not kept yet.
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

// hash is the SHA-256 of the visit's body for its record; "" with a body that was not sent again and
// whose hash nobody knows.
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
