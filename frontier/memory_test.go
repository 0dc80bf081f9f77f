package frontier_test

import (
	"testing"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

func TestOwnKey(t *testing.T) {
	m := frontier.NewMemory(frontier.MemoryConfig{Key: func(u weburl.URL) (k weburl.Key) {
		copy(k[:], u.Path())
		return k
	}})
	add(t, m, 2, requests(t, "http://a.test/same?%d", 0, 5)[0], requests(t, "http://a.test/same?%d", 0, 5)[1],
		requests(t, "http://b.test/same?%d", 0, 1)[0], requests(t, "http://a.test/%d", 1, 2)[0])
}

// FuzzClaimReturnsWhatWasAdded: any URL that parses is returned unchanged.
func FuzzClaimReturnsWhatWasAdded(f *testing.F) {
	for _, s := range []string{"http://a.test/x?y", "https://[::1]:80/", "http://a.test:81?q", "HTTP://A.TEST\\b"} {
		f.Add(s, "http://via.test/", []byte("meta"))
	}
	f.Fuzz(func(t *testing.T, url, via string, meta []byte) {
		u, err := weburl.Parse(url)
		if err != nil {
			return
		}
		v, _ := weburl.Parse(via)
		m := frontier.NewMemory(frontier.MemoryConfig{})
		add(t, m, 1, frontier.Request{URL: u, Via: v, Hops: []string{url, via}, Meta: meta})
		c := serve(t, m)
		if c.URL != u || c.Via != v || c.Hops[0] != url || c.Hops[1] != via || string(c.Meta) != string(meta) {
			t.Errorf("added %v, claimed %+v", u, c)
		}
	})
}
