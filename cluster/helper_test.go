package cluster

import (
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// set returns t as time.Now would return it after the wall clock was set by whole seconds: the monotonic reading stays the same.
func set(t time.Time, d time.Duration) time.Time {
	const seconds = 30 // lowest bit of the seconds in time.Time.wall, if there is a monotonic reading
	(*struct{ wall uint64 })(unsafe.Pointer(&t)).wall += uint64(d/time.Second) << seconds
	return t
}

func parse(t testing.TB, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func noise(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// links returns two requests: one with only a URL, and one with all fields set.
func links(t testing.TB) []frontier.Request {
	return []frontier.Request{
		{URL: parse(t, "http://a.test/")},
		{
			URL: parse(t, "https://b.test:8443/x?y=ä#f"), Depth: 300, Priority: -7, Via: parse(t, "http://a.test/from"),
			Hops: []string{"http://a.test/1", "http://a.test/2"}, Kind: frontier.KindSitemap, Beyond: 3,
			Queued: time.Unix(1_700_000_000, 5), Meta: []byte{0, 1, 2},
		},
	}
}
