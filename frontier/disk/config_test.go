package disk

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/amble-crawler/amble/frontier"
)

// The cache is large enough for the engine, and grows with the number of known URLs.
func TestCacheFollowsTheStore(t *testing.T) {
	const most, memTable = 192 << 20, 16 << 20
	c := newCache(most, memTable)
	defer c.engine.Unref()
	room := func() int64 { return most - c.held }
	least := room()
	if least < 2*memTable+maxFilterSize || least > most/2 {
		t.Fatalf("%d MiB for an empty store", least>>20)
	}
	c.fit(1000)
	if room() != least {
		t.Errorf("%d bytes more for a thousand URLs", room()-least)
	}
	c.fit(2_000_000)
	if want := least + 2_000_000*cachePerURL; room() != want {
		t.Errorf("%d MiB for two million URLs, want %d", room()>>20, want>>20)
	}
	c.fit(100_000_000)
	if room() != most || c.release != nil {
		t.Errorf("%d MiB for 100 million URLs, want all %d", room()>>20, most>>20)
	}
	small := newCache(4<<20, memTable)
	defer small.engine.Unref()
	if small.held != 0 {
		t.Errorf("%d bytes are reserved of a cache of 4 MiB", small.held)
	}
}

// TestTimesOfTheFutureStallNothing opens a store twice that was written with a clock a year ahead. Its hosts and URLs
// wait only as long as they had left to wait.
func TestTimesOfTheFutureStallNothing(t *testing.T) {
	l := newLab(Config{}, tuned())
	fs := vfs.NewMem()
	claim := func(t *testing.T, s *Store, url string) frontier.Claim {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		c, err := s.Claim(ctx)
		if err != nil || c.URL.String() != url {
			t.Fatalf("claimed %s, %v, want %s", c.URL, err, url)
		}
		return c
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(365 * 24 * time.Hour)
		s := l.open(t, fs)
		if _, err := s.Add(t.Context(), frontier.Request{URL: parse(t, "https://a.test/1")}, frontier.Request{URL: parse(t, "https://a.test/2")}); err != nil {
			t.Fatal(err)
		}
		c := claim(t, s, "https://a.test/1")
		again := &frontier.Again{NotBefore: time.Now().Add(2 * time.Minute), Retry: true}
		if err := s.Settle(t.Context(), c, frontier.Settlement{ReadyAt: time.Now().Add(time.Minute), Again: again}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if _, err := s.Add(t.Context(), frontier.Request{URL: parse(t, "https://a.test/3")}); err != nil { // the last write before Close
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		at := func(want time.Duration) {
			t.Helper()
			if got := time.Since(begin); got != want {
				t.Errorf("claimed after %v, want %v", got, want)
			}
		}
		s := l.open(t, fs)
		c := claim(t, s, "https://a.test/2")
		at(40 * time.Second)
		if err := s.Settle(t.Context(), c, frontier.Settlement{ReadyAt: time.Now().Add(10 * time.Second)}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = l.open(t, fs)
		c = claim(t, s, "https://a.test/3")
		at(50 * time.Second)
		if err := s.Settle(t.Context(), c, frontier.Settlement{}); err != nil {
			t.Fatal(err)
		}
		claim(t, s, "https://a.test/1")
		at(100 * time.Second)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
