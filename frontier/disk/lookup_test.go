package disk

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/amble-crawler/amble/frontier"
)

// TestLookup looks a URL up in each state, and after the store is closed.
func TestLookup(t *testing.T) {
	s, err := Open(t.TempDir(), Config{MaxPendingPerHost: 2})
	if err != nil {
		t.Fatal(err)
	}
	one, two, three := "http://a.test/1", "http://a.test/2", "http://a.test/3"
	expect(t, s, one, Unknown)
	if _, err := s.Add(t.Context(), frontier.Request{URL: parse(t, one)}, frontier.Request{URL: parse(t, two)}, frontier.Request{URL: parse(t, three)}); err != nil {
		t.Fatal(err)
	}
	expect(t, s, one, Queued)
	expect(t, s, two, Queued)
	expect(t, s, three, Rejected)
	c, err := s.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	expect(t, s, one, Claimed)
	if err := s.Settle(t.Context(), c, frontier.Settlement{Again: &frontier.Again{NotBefore: time.Now().Add(time.Hour)}}); err != nil {
		t.Fatal(err)
	}
	expect(t, s, one, Waiting)
	if c, err = s.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), c, time.Time{}); err != nil {
		t.Fatal(err)
	}
	expect(t, s, two, Claimed)
	if err := s.Commit(t.Context(), []frontier.End{{Claim: c}}, frontier.Checkpoint{}); err != nil {
		t.Fatal(err)
	}
	expect(t, s, two, Done)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Lookup(t.Context(), parse(t, one)); !errors.Is(err, frontier.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Lookup reports a waiting URL as queued once its time has come.
func TestLookupOfDueURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := open(vfs.NewMem(), "/crawl", Config{}, tuned())
		if err != nil {
			t.Fatal(err)
		}
		u := parse(t, "http://a.test/1")
		if _, err := s.Add(t.Context(), frontier.Request{URL: u}); err != nil {
			t.Fatal(err)
		}
		c, err := s.Claim(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Settle(t.Context(), c, frontier.Settlement{Again: &frontier.Again{NotBefore: time.Now().Add(time.Hour)}}); err != nil {
			t.Fatal(err)
		}
		expect(t, s, u.String(), Waiting)
		time.Sleep(time.Hour)
		expect(t, s, u.String(), Queued)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
