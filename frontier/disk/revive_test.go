package disk

import (
	"testing"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// A finished URL can be queued once more, and then behaves like a new URL.
func TestRevive(t *testing.T) {
	dir := t.TempDir()
	u, err := weburl.Parse("http://a.test/1")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Config{})
	if err != nil {
		t.Fatal(err)
	}
	q := frontier.Request{URL: u, Depth: 3}
	if n, err := s.Add(t.Context(), q); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := s.Revive(t.Context(), q); n != 0 || err != nil {
		t.Errorf("of a queued URL: %d, %v", n, err)
	}
	for range 2 {
		c, err := s.Claim(t.Context())
		if err != nil || c.Depth != 3 || c.Attempt != 0 {
			t.Fatalf("%+v, %v", c, err)
		}
		if err := s.Settle(t.Context(), c, frontier.Settlement{}); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Add(t.Context(), q); n != 0 || err != nil {
			t.Errorf("Add of a URL that is done: %d, %v", n, err)
		}
		if n, err := s.Revive(t.Context(), q); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if got := s.Stats(); got.Queued != 1 || got.Done != 0 {
			t.Errorf("%+v", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = Open(dir, Config{}); err != nil {
			t.Fatal(err)
		}
		if got := s.Stats(); got.Queued != 1 || got.Done != 0 {
			t.Errorf("opened again: %+v", got)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A finished URL stays finished if there is no room to queue it again.
func TestReviveWithoutRoom(t *testing.T) {
	s, err := Open(t.TempDir(), Config{MaxPendingPerHost: 1})
	if err != nil {
		t.Fatal(err)
	}
	u, v := frontier.Request{URL: parse(t, "http://a.test/1")}, frontier.Request{URL: parse(t, "http://a.test/2")}
	if _, err := s.Add(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Settle(t.Context(), c, frontier.Settlement{Links: []frontier.Request{v}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	before := s.Stats()
	if n, err := s.Revive(t.Context(), u); n != 0 || err != nil || s.Stats() != before {
		t.Errorf("%d, %v: %+v, before %+v", n, err, s.Stats(), before)
	}
	expect(t, s, u.URL.String(), Done)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
