package disk

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// witness crawls a generated web until the store fails or its process ends. It prints each step as a line: "added URL",
// "settled URL" and "done N" after the store acknowledges it, and "try N URLS" before.
type witness struct {
	s    *Store
	life string // part of the URLs, different in each life
	say  func(line string)
}

const (
	commitEnds  = 6
	commitLinks = 3
)

func (w *witness) crawl(ctx context.Context, commits int) error {
	for i := range 20 {
		if err := w.add(ctx, fmt.Sprintf("http://h%d.test/%s/seed-%d", i%5, w.life, i)); err != nil {
			return err
		}
	}
	first := w.s.Offsets("")["commits"] + 1
	for n := first; n < first+int64(commits); n++ {
		if n%8 == 0 { // not before each commit: rescore reads the whole queue
			if err := w.rescore(ctx, n); err != nil {
				return err
			}
		}
		if err := w.commit(ctx, n); err != nil {
			return err
		}
		if err := w.settle(ctx); err != nil {
			return err
		}
		if err := w.add(ctx, fmt.Sprintf("http://h%d.test/%s/added-%d", n%5, w.life, n)); err != nil {
			return err
		}
	}
	return nil
}

func (w *witness) add(ctx context.Context, url string) error {
	u, err := weburl.Parse(url)
	if err != nil {
		return err
	}
	if _, err = w.s.Add(ctx, frontier.Request{URL: u}); err != nil {
		return err
	}
	w.say("added " + url)
	_, err = w.s.Add(ctx, frontier.Request{URL: u, Priority: int8(len(url) % 3)}) // raises two of three URLs (frontier promise F20)
	return err
}

func (w *witness) settle(ctx context.Context) error {
	c, err := w.s.Claim(ctx)
	if err != nil {
		return err
	}
	if err = w.s.Settle(ctx, c, frontier.Settlement{}); err == nil {
		w.say("settled " + c.URL.String())
	}
	return err
}

func (w *witness) commit(ctx context.Context, n int64) error {
	var ends []frontier.End
	line := fmt.Sprintf("try %d", n)
	for range commitEnds {
		c, err := w.s.Claim(ctx)
		if err != nil {
			return err
		}
		if err := w.s.Release(ctx, c, time.Time{}); err != nil {
			return err
		}
		line += " " + c.URL.String()
		e := frontier.End{Claim: c}
		for i, l := range linksOf(c.URL.String(), n) {
			u, err := weburl.Parse(l)
			if err != nil {
				return err
			}
			r := frontier.Request{URL: u, Depth: c.Depth + 1, Via: c.URL}
			raised := r
			raised.Priority = int8(i) // priority 0 for the first link
			e.Settlement.Links = append(e.Settlement.Links, r, raised)
		}
		ends = append(ends, e)
	}
	w.say(line)
	err := w.s.Commit(ctx, ends, frontier.Checkpoint{Offsets: map[string]int64{"commits": n}, Values: map[string][]byte{"snapshot": snapshot(n)}})
	if err == nil {
		w.say(fmt.Sprintf("done %d", n))
	}
	return err
}

// rescore changes the scores of queued URLs, up and down. It must not lose or add any URL.
func (w *witness) rescore(ctx context.Context, n int64) error {
	before := w.s.Stats().Queued
	_, err := w.s.Rescore(ctx, func(q frontier.Request) float64 {
		h := fnv.New32()
		fmt.Fprint(h, q.URL, n)
		return float64(h.Sum32()%7) - 3
	})
	if after := w.s.Stats().Queued; err == nil && after != before {
		return fmt.Errorf("%d URLs are queued after a Rescore, %d before", after, before)
	}
	return err
}

// linksOf returns the links of a page. They are unique to the page and the commit.
func linksOf(page string, n int64) []string {
	h := fnv.New64()
	h.Write([]byte(page))
	var all []string
	for i := range commitLinks {
		all = append(all, fmt.Sprintf("http://h%d.test/%d/%x/%d", h.Sum64()%5, n, h.Sum64(), i))
	}
	return all
}

// snapshot returns a value whose size varies, up to megabytes.
func snapshot(n int64) []byte {
	size := int(n%7) * 1000
	if n%40 == 0 {
		size = 3 << 20
	}
	return fmt.Appendf(bytes.Repeat([]byte{byte(n)}, size), "%d", n)
}

// said is the output of a witness in one life. The last line may be torn.
type said struct {
	added, settled []string
	tries          map[int64][]string
	done           int64 // last acknowledged commit; 0: none
}

func listen(lines []string) said {
	h := said{tries: map[int64][]string{}}
	for _, l := range lines {
		f := strings.Fields(l)
		switch {
		case len(f) < 2:
		case f[0] == "added":
			h.added = append(h.added, f[1])
		case f[0] == "settled":
			h.settled = append(h.settled, f[1])
		case f[0] == "try":
			h.tries[number(f[1])] = f[2:]
		case f[0] == "done":
			h.done = number(f[1])
		}
	}
	return h
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// verify checks that s has everything that the last life acknowledged, and its last commit entirely or not at all. It
// collects in finished the URLs that must never be claimed again.
func (h said) verify(t *testing.T, s *Store, finished map[string]bool) {
	t.Helper()
	reached := s.Offsets("")["commits"]
	if h.done > reached {
		t.Errorf("commit %d was acknowledged; the store has %d", h.done, reached)
	}
	for _, u := range h.added {
		expect(t, s, u, Queued, Done)
	}
	for _, u := range h.settled {
		expect(t, s, u, Done)
		finished[u] = true
	}
	for n, urls := range h.tries {
		for _, u := range urls {
			if finished[u] {
				t.Errorf("commit %d has %s, which was done before", n, u)
			}
			h.verifyEnd(t, s, u, n, n <= reached)
			if n <= reached {
				finished[u] = true
			}
		}
	}
	v, err := s.Value(t.Context(), "", "snapshot")
	if err != nil || reached > 0 && !bytes.Equal(v, snapshot(reached)) {
		t.Errorf("the value differs from that of commit %d: %d bytes, %v", reached, len(v), err)
	}
}

func (h said) verifyEnd(t *testing.T, s *Store, page string, n int64, happened bool) {
	t.Helper()
	if !happened {
		expect(t, s, page, Queued)
	} else {
		expect(t, s, page, Done)
	}
	for _, l := range linksOf(page, n) {
		if !happened {
			expect(t, s, l, Unknown)
		} else {
			expect(t, s, l, Queued, Done)
		}
	}
}

// heard collects a witness's output.
type heard struct{ lines []string }

func (h *heard) say(line string) { h.lines = append(h.lines, line) }
