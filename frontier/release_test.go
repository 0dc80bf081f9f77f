package frontier

import (
	"errors"
	"testing"

	"github.com/amble-crawler/amble/weburl"
)

// TestUnreadableRecordIsAnError checks that a URL that cannot be decoded causes one error, not a panic or the end of
// the crawl.
func TestUnreadableRecordIsAnError(t *testing.T) {
	m := NewMemory(MemoryConfig{})
	u, err := weburl.Parse("http://a.test/1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Add(t.Context(), Request{URL: u}); err != nil {
		t.Fatal(err)
	}
	h := m.hosts.Find("a.test:80")
	h.Queue.pop(&m.size)
	h.Queue.push(0, record{0, 0, 'x'}, &m.deltas, &m.size) // the text "x", which is not a valid URL
	var bad *weburl.Error
	if _, err := m.Claim(t.Context()); !errors.As(err, &bad) {
		t.Fatalf("Claim: %v, want weburl's error", err)
	}
	if _, err := m.Claim(t.Context()); !errors.Is(err, ErrDrained) {
		t.Fatalf("Claim: %v, want ErrDrained", err)
	}
}

// TestFinishedPagesLeaveNothing checks that data shared by the Requests of a page is freed with the last of them, and
// the data of a host at its ready time.
func TestFinishedPagesLeaveNothing(t *testing.T) {
	m := NewMemory(MemoryConfig{})
	via, _ := weburl.Parse("http://via.test/")
	for range 3 {
		var rs []Request
		for _, s := range []string{"http://a.test/1", "http://a.test/2", "http://b.test/1"} {
			u, _ := weburl.Parse(s)
			rs = append(rs, Request{URL: u, Via: via, Depth: maxDepth})
		}
		_, _ = m.Add(t.Context(), rs...)
		_, _ = m.Add(t.Context(), rs...)
		for {
			c, err := m.Claim(t.Context())
			if err != nil {
				break
			}
			if err := m.Settle(t.Context(), c, Settlement{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.Stats()
	if held := len(m.origins.all) - len(m.origins.free); held != 0 || len(m.origins.all) != 1 {
		t.Errorf("%d origins held of %d", held, len(m.origins.all))
	}
	if n := m.hosts.Len(); n != 0 {
		t.Errorf("%d hosts remembered", n)
	}
}
