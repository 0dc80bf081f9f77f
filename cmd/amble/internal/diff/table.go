package diff

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"hash/maphash"
	"slices"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// class is the kind of result that a crawl has for a URL.
type class uint8

const (
	absent     class = iota // the crawl has no visit of the URL
	page                    // a response that is neither an error nor a redirect
	missing                 // the site says that there is no page: status 404 or 410
	redirected              // the response is a redirect
	unseen                  // the visit was refused, deferred or failed, or the response was an error
)

func classOf(v *sink.Record) class {
	switch crawler.Outcome(v.Outcome) {
	case crawler.NotModified, crawler.Duplicate:
		return page
	case crawler.Redirected:
		return redirected
	case crawler.Fetched:
		switch {
		case v.Status == 404 || v.Status == 410:
			return missing
		case v.Status < 400:
			return page
		}
	}
	return unseen
}

// key is a hash of a URL. All spellings of a URL have the same key.
type key [2]uint64

func (k key) compare(l key) int { return cmp.Or(cmp.Compare(k[0], l[0]), cmp.Compare(k[1], l[1])) }

// hasher computes keys. The keys of a URL differ from process to process.
type hasher [2]maphash.Seed

func (h *hasher) key(url string) key {
	if u, err := weburl.Parse(url); err == nil {
		url = u.Normal()
	}
	return key{maphash.String(h[0], url), maphash.String(h[1], url)}
}

// content is the beginning of the SHA-256 of a page's body; zero if that is not known.
type content [16]byte

func contentOf(v *sink.Record) (c content) {
	if b, err := hex.DecodeString(v.SHA256); err == nil {
		copy(c[:], b)
	}
	return c
}

// row has the part of a visit that is compared.
type row struct {
	key     key
	content content
	status  uint16
	class   class
}

// table has a row for each URL that a crawl has visited, sorted by key.
type table []row

// load reads the visits of a job. Of several visits of a URL, the last counts.
func load(r *job.Reader, h *hasher) (table, error) {
	var t table
	for v, err := range r.Visits() {
		if err != nil {
			return nil, err
		}
		t = append(t, row{h.key(v.URL), contentOf(v), uint16(v.Status), classOf(v)})
	}
	t.sort()
	slices.Reverse(t) // reversed, so that the last visit of each key is kept
	t = slices.CompactFunc(t, func(a, b row) bool { return a.key == b.key })
	slices.Reverse(t)
	return t, nil
}

func (t table) sort() { slices.SortStableFunc(t, func(a, b row) int { return a.key.compare(b.key) }) }

// find returns the row with a key. If there is none, the row has the class absent.
func (t table) find(k key) row {
	i, ok := t.index(k)
	if !ok {
		return row{key: k}
	}
	return t[i]
}

func (t table) index(k key) (int, bool) {
	return slices.BinarySearchFunc(t, k, func(r row, k key) int { return r.key.compare(k) })
}

// moves finds pages of the first crawl whose content is at a new URL in the second crawl, and maps the old keys to the new ones. It ignores
// content that several pages of a crawl share.
func moves(a, b table) map[key]key {
	from := unique(a, func(r row) bool {
		now := b.find(r.key).class
		return r.class == page && (now == absent || now == missing)
	})
	to := unique(b, func(r row) bool { return r.class == page && a.find(r.key).class == absent })
	found := map[key]key{}
	for i, j := 0, 0; i < len(from) && j < len(to); {
		switch c := bytes.Compare(from[i].content[:], to[j].content[:]); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			found[from[i].key] = to[j].key
			i, j = i+1, j+1
		}
	}
	return found
}

// unique returns the rows that wanted selects and whose content is known and unique among them, sorted by content.
func unique(t table, wanted func(row) bool) table {
	var rows table
	for _, r := range t {
		if r.content != (content{}) && wanted(r) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return bytes.Compare(a.content[:], b.content[:]) })
	single := rows[:0]
	for i := 0; i < len(rows); {
		n := i + 1
		for n < len(rows) && rows[n].content == rows[i].content {
			n++
		}
		if n == i+1 {
			single = append(single, rows[i])
		}
		i = n
	}
	return single
}
