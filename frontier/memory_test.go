package frontier_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/frontiertest"
	"github.com/amble-crawler/amble/weburl"
)

func open(timeout time.Duration) func(t *testing.T) frontier.Frontier {
	return func(*testing.T) frontier.Frontier {
		return frontier.NewMemory(frontier.MemoryConfig{
			ClaimTimeout: timeout,
			HostSlots: func(host string) int {
				if host == frontiertest.WideHost {
					return 3
				}
				return 1
			},
		})
	}
}

func TestMemoryConforms(t *testing.T) {
	frontiertest.Run(t, open(2*time.Minute), frontiertest.Options{Virtual: true, ClaimTimeout: 2 * time.Minute, Slots: 3})
}

func TestMemoryConformsWithoutTimeout(t *testing.T) {
	frontiertest.Run(t, open(0), frontiertest.Options{Virtual: true, Seed: 1000})
}

func TestMemoryConformsInRealTime(t *testing.T) {
	frontiertest.Run(t, open(3*time.Second), frontiertest.Options{ClaimTimeout: 3 * time.Second, Slots: 3, Runs: 3})
}

func requests(t testing.TB, format string, from, to int) []frontier.Request {
	t.Helper()
	var rs []frontier.Request
	for i := from; i < to; i++ {
		u, err := weburl.Parse(fmt.Sprintf(format, i))
		if err != nil {
			t.Fatal(err)
		}
		rs = append(rs, frontier.Request{URL: u})
	}
	return rs
}

func add(t *testing.T, m *frontier.Memory, want int, rs ...frontier.Request) {
	t.Helper()
	if n, err := m.Add(t.Context(), rs...); n != want || err != nil {
		t.Fatalf("Add: %d, %v; want %d", n, err, want)
	}
}

func rejected(t *testing.T, m *frontier.Memory, want int) {
	t.Helper()
	if s := m.Stats(); s.Rejected != want {
		t.Fatalf("%+v, want %d rejected", s, want)
	}
}

// serve claims and settles the next URL.
func serve(t *testing.T, m *frontier.Memory, links ...frontier.Request) frontier.Claim {
	t.Helper()
	c, err := m.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Settle(t.Context(), c, frontier.Settlement{Links: links}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestQuotaPerHost(t *testing.T) {
	m := frontier.NewMemory(frontier.MemoryConfig{MaxPendingPerHost: 3})
	a := requests(t, "http://a.test/%d", 0, 6)
	add(t, m, 3, a[:5]...)
	add(t, m, 2, requests(t, "http://b.test/%d", 0, 2)...)
	rejected(t, m, 2)
	add(t, m, 0, a[:5]...) // the same two: counted once
	rejected(t, m, 2)
	serve(t, m, a[5]) // room for one, which its own link takes
	rejected(t, m, 2)
	add(t, m, 0, a[3])
	serve(t, m)
	serve(t, m)
	add(t, m, 1, a[3]) // there is room again: no longer rejected
	rejected(t, m, 1)
	if n := m.HostPending(a[3].URL.Host()); n != 3 {
		t.Fatalf("%d URLs are pending, want 3", n)
	}
}

func TestQuotaInAll(t *testing.T) {
	m := frontier.NewMemory(frontier.MemoryConfig{MaxPending: 4})
	add(t, m, 4, requests(t, "http://h%d.test/", 0, 7)...)
	rejected(t, m, 3)
	c, err := m.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add(t, m, 0, requests(t, "http://h%d.test/", 4, 5)...) // a claimed URL is pending
	again := frontier.Settlement{Again: &frontier.Again{}}
	if err := m.Settle(t.Context(), c, again); err != nil { // what is in comes back in
		t.Fatal(err)
	}
	if s := m.Stats(); s != (frontier.Stats{Queued: 4, Rejected: 3, Hosts: 4}) {
		t.Fatalf("%+v", s)
	}
}

// long are so many URLs with 1.9 kB of random digits each.
func long(t *testing.T, n int) []frontier.Request {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	rs := requests(t, "http://a.test/%d/", 0, n)
	for i := range rs {
		text := rs[i].URL.String()
		for len(text) < 1900 {
			text += fmt.Sprintf("%016x", r.Uint64())
		}
		u, err := weburl.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		rs[i].URL, rs[i].Via = u, u
	}
	return rs
}

// A flood of long URLs fills the queue's memory, not the machine's. What is done makes room.
func TestQuotaOfBytes(t *testing.T) {
	const most = 1 << 20
	m := frontier.NewMemory(frontier.MemoryConfig{MaxBytes: most})
	rs := long(t, 2000) // 4 MB, and as much for the pages that named them
	n, err := m.Add(t.Context(), rs...)
	if err != nil || n < most/2/4200 || n > most/3800 {
		t.Fatalf("%d URLs of 3.8 kB in %d bytes, %v", n, most, err)
	}
	rejected(t, m, len(rs)-n)
	if urls, bytes := m.Room("a.test:80"); urls < 1000 || bytes > 0 {
		t.Errorf("room for %d URLs, %d bytes", urls, bytes)
	}
	serve(t, m)
	if _, bytes := m.Room("a.test:80"); bytes <= 0 || bytes > 10_000 {
		t.Errorf("room for %d bytes when one is done", bytes)
	}
	add(t, m, 1, rs[n])
	add(t, m, 0, rs[n+1])
	for range n {
		serve(t, m)
	}
	if _, bytes := m.Room("a.test:80"); bytes != most {
		t.Errorf("room for %d bytes when all is done, want %d", bytes, most)
	}
}

// TestRejectedAreBounded: a host at its quota costs no more memory than a million hashes.
func TestRejectedAreBounded(t *testing.T) {
	var n uint64
	m := frontier.NewMemory(frontier.MemoryConfig{MaxPending: 1, Key: func(weburl.URL) (k weburl.Key) {
		n++
		k[0], k[1], k[2] = byte(n), byte(n>>8), byte(n>>16)
		return k
	}})
	rs := requests(t, "http://a.test/%d", 0, 100)
	for range 11_000 {
		if _, err := m.Add(t.Context(), rs...); err != nil {
			t.Fatal(err)
		}
	}
	rejected(t, m, 1_099_999)
	n = 1
	add(t, m, 0, rs[0]) // an early one is remembered, and not counted again
	rejected(t, m, 1_099_999)
	n = 1_099_999
	add(t, m, 0, rs[0]) // the last one is forgotten
	rejected(t, m, 1_100_000)
}

func TestOwnKey(t *testing.T) {
	m := frontier.NewMemory(frontier.MemoryConfig{Key: func(u weburl.URL) (k weburl.Key) {
		copy(k[:], u.Path())
		return k
	}})
	add(t, m, 2, requests(t, "http://a.test/same?%d", 0, 5)[0], requests(t, "http://a.test/same?%d", 0, 5)[1],
		requests(t, "http://b.test/same?%d", 0, 1)[0], requests(t, "http://a.test/%d", 1, 2)[0])
}

// FuzzClaimReturnsWhatWasAdded: any URL that parses comes back as it was.
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
