package disk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/amble-crawler/amble/frontier"
)

// halfDone writes the journal of a crawl of many hosts. Each host has one finished URL, and one that is queued or
// waiting. All URLs of host "gone" are finished.
func halfDone(t *testing.T, hosts int) *pen {
	t.Helper()
	p := &pen{of: &sequence{}}
	c := testConfig()
	c.Journal, c.MaxPendingPerHost = p, 2
	s, err := open(vfs.NewMem(), "/crawl", c, tuned())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	add := func(url string) {
		if _, err := s.Add(t.Context(), frontier.Request{URL: parse(t, url)}); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"gone"}
	for i := range hosts {
		names = append(names, fmt.Sprintf("h%d.test", i))
	}
	for _, name := range names {
		add("http://" + name + "/done")
	}
	for range names {
		x, err := s.Claim(t.Context())
		if err == nil {
			err = s.Settle(t.Context(), x, frontier.Settlement{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	err = s.Commit(t.Context(), nil, frontier.Checkpoint{
		Offsets: map[string]int64{"visits": 7}, Values: map[string][]byte{"kept/a": []byte("a"), "changed": []byte("old"), "left": []byte("b")},
	})
	if err := errors.Join(err, s.Commit(t.Context(), nil, frontier.Checkpoint{Owner: "other", Values: map[string][]byte{"x": []byte("y")}})); err != nil {
		t.Fatal(err)
	}
	for i, name := range names[1:] {
		add("http://" + name + "/next")
		if i%3 == 0 {
			add("http://" + name + "/more")
			add("http://" + name + "/rejected")
		}
	}
	x, err := s.Claim(t.Context())
	if err == nil {
		err = s.Settle(t.Context(), x, frontier.Settlement{Again: &frontier.Again{NotBefore: time.Now().Add(time.Hour)}})
	}
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * reopenDelay)
	return p
}

// left crawls the remaining URLs of a journal's store. It returns these URLs, and the store's counts before the crawl.
func left(t *testing.T, p *pen) (urls []string, n frontier.Stats) {
	t.Helper()
	fs := vfs.NewMem()
	follow(t, fs, p.of, len(p.of.groups))
	c := testConfig()
	c.Journal = p.take()
	s, err := open(fs, "/crawl", c, tuned())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n = s.Stats()
	for {
		x, err := s.Claim(t.Context())
		if errors.Is(err, frontier.ErrDrained) {
			slices.Sort(urls)
			return urls, n
		}
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, x.URL.String())
		if err := s.Settle(context.WithoutCancel(t.Context()), x, frontier.Settlement{}); err != nil {
			t.Fatal(err)
		}
	}
}

// isEven selects half of the hosts.
func isEven(host string) bool { return host != "gone" && (host[1]-'0')%2 == 0 }

// TestParts checks that a part of a store and the rest together have each URL once. Hosts with pending URLs are in one of
// the two, and known URLs of other hosts in both. The part replaces everything that was in the Copy.
func TestParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts = 40
		p := halfDone(t, hosts)
		whole, counts := left(t, &pen{of: &sequence{groups: slices.Clone(p.of.groups), marks: slices.Clone(p.of.marks)}})
		fs := vfs.NewMem()
		follow(t, fs, p.of, len(p.of.groups))
		k, err := openCopy(fs, "/crawl", testConfig())
		if err != nil {
			t.Fatal(err)
		}
		child := halfDone(t, 3) // a store of another crawl
		part := Part{
			Host: isEven,
			Value: func(name string, value []byte) []byte {
				switch {
				case strings.HasPrefix(name, "kept/"):
					return value
				case name == "changed":
					return []byte("new")
				}
				return nil
			},
			Checkpoint: frontier.Checkpoint{Owner: "cluster", Offsets: map[string]int64{"shards": 2}},
		}
		err = k.Part(part, func(group []byte) error {
			_, err := child.Append(group)
			return err
		})
		if err == nil {
			err = k.Drop(isEven, part.Checkpoint, p)
		}
		if err = errors.Join(err, k.Close()); err != nil {
			t.Fatal(err)
		}
		checkPart(t, child)
		got, part1 := left(t, child)
		rest, part2 := left(t, p)
		for _, u := range got {
			if !isEven(strings.TrimPrefix(u, "http://")) {
				t.Errorf("the part has %s", u)
			}
		}
		if all := slices.Sorted(slices.Values(slices.Concat(got, rest))); !slices.Equal(all, whole) || len(got) == 0 || len(rest) == 0 {
			t.Errorf("the parts have %d and %d URLs, the whole has %d", len(got), len(rest), len(whole))
		}
		if part1.Done+part2.Done != counts.Done || part1.Rejected+part2.Rejected != counts.Rejected || part1.Rejected == 0 ||
			part1.Queued+part1.Waiting+part2.Queued+part2.Waiting != counts.Queued+counts.Waiting {
			t.Errorf("the parts have counts %+v and %+v, the whole %+v", part1, part2, counts)
		}
	})
}

// checkPart checks the values of a part, and that it knows the finished URLs.
func checkPart(t *testing.T, p *pen) {
	t.Helper()
	fs := vfs.NewMem()
	follow(t, fs, p.of, len(p.of.groups))
	k, err := openCopy(fs, "/crawl", testConfig())
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	note := func(name string, value []byte) error { values[name] = string(value); return nil }
	visits, err1 := k.Offsets("")
	shards, err2 := k.Offsets("cluster")
	if err := errors.Join(err1, err2, k.Values("", "", note), k.Values("other", "", note), k.Close()); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"kept/a": "a", "changed": "new"}; !maps.Equal(values, want) || len(visits) != 0 || shards["shards"] != 2 {
		t.Errorf("values %q, offsets %v and %v", values, visits, shards)
	}
	c := testConfig()
	c.Journal = p
	s, err := open(fs, "/crawl", c, tuned())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for u, known := range map[string]bool{"http://gone/done": true, "http://h2.test/done": true, "http://h2.test/next": true, "http://h3.test/done": false} {
		if st, err := s.Lookup(t.Context(), parse(t, u)); (st != Unknown) != known || err != nil {
			t.Errorf("%s has state %v in the part, %v", u, st, err)
		}
	}
}

// TestDropAtEveryCut checks that an interrupted Drop is completed by the next Drop.
func TestDropAtEveryCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := halfDone(t, 12)
		begun := len(p.of.groups)
		drop := func(j Journal, at *sequence) error {
			fs := vfs.NewMem()
			follow(t, fs, at, len(at.groups))
			k, err := openCopy(fs, "/crawl", testConfig())
			if err != nil {
				t.Fatal(err)
			}
			return errors.Join(k.drop(isEven, frontier.Checkpoint{}, j, 60), k.Close())
		}
		if err := drop(p, p.of); err != nil {
			t.Fatal(err)
		}
		want, counts := left(t, &pen{of: &sequence{groups: slices.Clone(p.of.groups), marks: slices.Clone(p.of.marks)}})
		if len(p.of.groups)-begun < 10 {
			t.Fatalf("%d groups", len(p.of.groups)-begun)
		}
		for n := begun; n < len(p.of.groups); n++ {
			cut := &pen{of: &sequence{groups: slices.Clone(p.of.groups[:n]), marks: slices.Clone(p.of.marks[:n])}}
			if err := drop(cut, cut.of); err != nil {
				t.Fatal(err)
			}
			if got, n := left(t, cut); !slices.Equal(got, want) || n != counts {
				t.Errorf("broken off: %q with %+v, want %q with %+v", got, n, want, counts)
			}
		}
	})
}
