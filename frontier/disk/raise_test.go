package disk

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/packed"
)

func addAll(t *testing.T, s *Store, rs ...frontier.Request) {
	t.Helper()
	if _, err := s.Add(t.Context(), rs...); err != nil {
		t.Fatal(err)
	}
}

// claimAndEnd claims the next URL and ends it.
func claimAndEnd(t *testing.T, s *Store) frontier.Claim {
	t.Helper()
	c, err := s.Claim(t.Context())
	if err == nil {
		err = s.Settle(t.Context(), c, frontier.Settlement{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A raised URL can be claimed only when its raise is durable. Until then its old entry cannot be claimed either,
// although it is on disk.
func TestClaimWaitsForARaise(t *testing.T) {
	var held sync.Mutex // locked while the disk must not sync
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData {
			held.Lock()
			held.Unlock() //nolint:staticcheck // waits here
		}
		return nil
	}))
	s, err := open(fs, "/crawl", testConfig(), tuned())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	q := frontier.Request{URL: parse(t, "http://a.test/1")}
	addAll(t, s, q)
	k := urlKey{s.secret.hashHost(q.URL.Host()), s.secret.hashURL(s.c.Key(q.URL))}

	held.Lock()
	q.Priority = 7
	raised, claimed := make(chan error), make(chan frontier.Claim)
	go func() {
		_, err := s.Add(t.Context(), q)
		raised <- err
	}()
	for st := (seen{}); !st.raised; runtime.Gosched() {
		if st, err = s.engine.seen(k); err != nil {
			t.Error(err)
			break
		}
	}
	go func() {
		c, err := s.Claim(t.Context())
		if err != nil {
			t.Error(err)
		}
		claimed <- c
	}()
	for range 1000 { // gives a wrong claim time to happen
		runtime.Gosched()
	}
	select {
	case c := <-claimed:
		t.Errorf("claimed with priority %d while the raise is not durable", c.Priority)
		held.Unlock()
	default:
		held.Unlock()
		if c := <-claimed; c.Priority != 7 {
			t.Errorf("priority %d, want 7", c.Priority)
		}
	}
	if err := <-raised; err != nil {
		t.Fatal(err)
	}
}

// A URL cannot be claimed while it is being raised, or raised once it is claimed.
func TestAClaimAndARaiseExcludeEachOther(t *testing.T) {
	s := openMem(t, testConfig(), tuned())
	l, k := s.lanes, urlKey{1, 2}
	before := l.raisesSoFar()
	if !l.beginRaise(k, false) || l.hold(k, l.raisesSoFar()) {
		t.Error("claimed while it is being raised")
	}
	l.mu.Lock()
	delete(l.raising, k)
	l.mu.Unlock()
	if l.hold(k, before) {
		t.Error("claimed by an entry read before the raise")
	}
	if !l.hold(k, l.raisesSoFar()) || l.beginRaise(k, false) {
		t.Error("raised while it is claimed")
	}
	if !l.beginRaise(k, true) {
		t.Error("not raised although its claim ends before")
	}
}

// The store does not look for entries that one raise wrote and the next raise deleted.
func TestRaisedAgainFromTheDisk(t *testing.T) {
	s := openMem(t, testConfig(), tuned())
	const urls = 700
	via := parse(t, "http://a.test/"+strings.Repeat("v", 2000)) // so that the requests do not all stay in memory
	at := func(p int8) (rs []frontier.Request) {
		for i := range urls {
			rs = append(rs, frontier.Request{URL: parse(t, fmt.Sprintf("http://h%d.test/%d", i/600, i)), Priority: p, Via: via})
		}
		return rs
	}
	for p := range int8(4) {
		addAll(t, s, at(p)...)
	}
	addAll(t, s, frontier.Request{URL: parse(t, "http://c.test/")}) // deletes the outdated entries
	claimed := map[string]bool{}
	for range urls + 1 {
		c := claimAndEnd(t, s)
		if c.Priority != 3 && c.URL.Hostname() != "c.test" || claimed[c.URL.String()] {
			t.Fatalf("%s with priority %d, claimed before: %t", c.URL, c.Priority, claimed[c.URL.String()])
		}
		claimed[c.URL.String()] = true
	}
	addAll(t, s, frontier.Request{URL: parse(t, "http://h0.test/last")})
	if c := claimAndEnd(t, s); c.URL.Path() != "/last" {
		t.Errorf("claimed %s", c.URL)
	}
	if n := entriesOf(t, s); n > 1 {
		t.Errorf("%d entries are left in the queue", n)
	}
}

// entriesOf counts the entries on disk after all pending deletions.
func entriesOf(t *testing.T, s *Store) (n int) {
	t.Helper()
	addAll(t, s, frontier.Request{URL: parse(t, "http://b.test/")})
	claimAndEnd(t, s)
	if err := s.engine.scanPrefix([]byte{tagQueue}, func(_, _ []byte) (bool, error) {
		n++
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// In a crawl without priorities, a URL's record has the same format as before raises existed.
func TestRecordsWithoutPriorities(t *testing.T) {
	for _, c := range []struct {
		seen
		want string
	}{
		{seen{state: Queued, depth: 3}, "19"},
		{seen{state: Queued, depth: 40, attempt: 2}, "f92802"},
		{seen{state: Done}, "04"},
		{seen{state: Rejected}, "05"},
		{seen{state: Queued, depth: 3, priority: -2}, "06fe19"},
		{seen{state: Queued, fixed: true}, "0e0001"},
		{seen{state: Done, raised: true}, "14"},
		{seen{state: Waiting, due: 1, raised: true, at: place{3, 0, 5}, priority: 124}, "167c030000000000000005020000000000000001"}, // as in 0.2.0
		{seen{state: Queued, depth: 3, rank: packed.Rank(0.5)}, "260041000019"},
		{seen{state: Queued, rank: packed.Rank(0.5), raised: true, at: place{127, packed.Fine(packed.Rank(0.5)), 5}}, "36004100007f410000000000000501"},
	} {
		b := c.bytes(nil)
		if got := fmt.Sprintf("%x", b); got != c.want {
			t.Errorf("%+v: %s, want %s", c.seen, got, c.want)
		}
		if back, err := readSeen(b); back != c.seen || err != nil {
			t.Errorf("%x: read back as %+v, %v", b, back, err)
		}
		for i := 1; i < len(b); i++ {
			if back, err := readSeen(b[:i]); err == nil && back == c.seen {
				t.Errorf("%x of %x is read as the whole", b[:i], b)
			}
		}
	}
}
