package frontier_test

import (
	"testing"

	"github.com/amble-crawler/amble/frontier"
	race "github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/weburl"
)

func TestQuotaPerHost(t *testing.T) {
	m := frontier.NewMemory(frontier.MemoryConfig{MaxPendingPerHost: 3})
	a := requests(t, "http://a.test/%d", 0, 6)
	add(t, m, 3, a[:5]...)
	add(t, m, 2, requests(t, "http://b.test/%d", 0, 2)...)
	rejected(t, m, 2)
	add(t, m, 0, a[:5]...) // the same two URLs are rejected again, and counted once
	rejected(t, m, 2)
	serve(t, m, a[5]) // the finished page makes room for one URL, which is its own link
	rejected(t, m, 2)
	add(t, m, 0, a[3])
	serve(t, m)
	serve(t, m)
	add(t, m, 1, a[3]) // there is room again, so the URL is no longer rejected
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
	add(t, m, 0, requests(t, "http://h%d.test/", 4, 5)...) // a claimed URL still counts as pending, so there is no room
	again := frontier.Settlement{Again: &frontier.Again{}}
	if err := m.Settle(t.Context(), c, again); err != nil { // a claimed URL returns even to a full queue
		t.Fatal(err)
	}
	if s := m.Stats(); s != (frontier.Stats{Queued: 4, Rejected: 3, Hosts: 4}) {
		t.Fatalf("%+v", s)
	}
}

// A flood of long URLs is limited by the queue's memory quota. Finished URLs make room for others.
func TestQuotaOfBytes(t *testing.T) {
	const most = 1 << 20
	m := frontier.NewMemory(frontier.MemoryConfig{MaxBytes: most})
	rs := long(t, 2000) // 4 MB, and the same for their referring pages
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

// TestRejectedAreBounded checks that the URLs rejected by a host's quota take the memory of at most a million hashes.
func TestRejectedAreBounded(t *testing.T) {
	if race.Race {
		t.Skip("it is a million URLs in one goroutine")
	}
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
	add(t, m, 0, rs[0]) // an early URL is still remembered, and not counted again
	rejected(t, m, 1_099_999)
	n = 1_099_999
	add(t, m, 0, rs[0]) // the last URL was forgotten, and is counted again
	rejected(t, m, 1_100_000)
}
