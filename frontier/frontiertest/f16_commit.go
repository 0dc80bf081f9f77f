package frontiertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

func commitIsWhole(k *kit) {
	k.durable()
	k.add(3, k.pages("a/1", "a/2", "b/1")...)
	cs := k.releasedAll("a/2", "b/1", "a/1")
	ready := in(3 * k.step)
	k.commitWith([]frontier.End{
		{Claim: cs[0], Settlement: frontier.Settlement{ReadyAt: ready, Links: k.pages("c/1", "a/3", "a/2")}},
		{Claim: cs[1], Settlement: frontier.Settlement{Links: k.pages("c/2", "a/1", "c/1", "a/3")}},
		{Claim: cs[2], Settlement: frontier.Settlement{Links: k.pages("c/3", "a/4", "b/1")}},
	}, map[string]int64{"visits": 7, "warc": 1 << 40}, map[string][]byte{"pace": []byte("slow")})
	k.stored(map[string]int64{"visits": 7, "warc": 1 << 40}, map[string][]byte{"pace": []byte("slow")})
	k.stats(frontier.Stats{Queued: 5, Done: 3, Hosts: 2})
	k.add(0, k.pages("a/1", "a/2", "b/1", "a/3", "a/4", "c/1", "c/2", "c/3")...)
	k.inOrder("c/1", "c/2", "c/3")
	k.none()
	k.done(k.claimOf("a/3"))
	k.at(ready)
	k.done(k.claimOf("a/4"))
	k.drained()
}

// commitSettles checks that each end has the effects of a Settle, and that its ReadyAt applies to the host.
func commitSettles(k *kit) {
	k.durable()
	k.add(3, k.pages("a/1", "a/2", "b/1")...)
	a1, b1 := k.claimOf("a/1"), k.claimOf("b/1") // a has more URLs
	k.release(a1, in(2*k.step))
	k.release(b1, in(9*k.step))
	until := in(6 * k.step)
	later := in(4 * k.step)
	k.commit(
		frontier.End{Claim: a1, Settlement: frontier.Settlement{ReadyAt: later, Again: &frontier.Again{Retry: true, NotBefore: until}}},
		frontier.End{Claim: b1, Settlement: frontier.Settlement{ReadyAt: in(k.step), Again: &frontier.Again{}}},
	)
	k.stats(frontier.Stats{Queued: 2, Waiting: 1, Hosts: 2})
	ready := in(9 * k.step) // later ReadyAt values must not shorten the wait
	k.done(k.claimOf("a/2"))
	k.at(later)
	if c := k.claimOf("a/1"); c.Attempt != 1 {
		k.Errorf("attempt %d, want 1", c.Attempt)
	} else {
		k.at(until)
		k.done(c)
	}
	if c := k.claimOf("b/1"); c.Attempt != 0 {
		k.Errorf("attempt %d, want 0: it was postponed", c.Attempt)
	} else {
		k.at(ready)
		k.done(c)
	}
	k.drained()
}

// committedRetries checks that retries arrive after the links of earlier ends of the same Commit, even in a store that keeps only few
// URLs in memory.
func committedRetries(k *kit) {
	k.durable()
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("a/%d", i))
	}
	k.add(100, k.pages(many...)...)
	k.add(1, k.pages("b/1")...)
	a0, b1 := k.claimOf("a/0"), k.claimOf("b/1")
	k.release(a0, time.Time{})
	k.release(b1, time.Time{})
	k.commit(
		end(b1, k.pages("a/new")...),
		frontier.End{Claim: a0, Settlement: frontier.Settlement{Again: &frontier.Again{Retry: true}}},
	)
	k.inOrder(many[1:]...)
	k.inOrder("a/new", "a/0")
	k.drained()
}

func failedCommitHasNoEffect(k *kit) {
	k.durable()
	k.add(3, k.pages("a/1", "a/2", "a/3")...)
	a1, a2 := k.released("a/1"), k.released("a/2")
	a3 := k.claimOf("a/3")
	links := k.pages("b/1")
	k.wrongCommit(frontier.ErrLost, end(a1, links...), end(a3)) // a3 is not released
	k.wrongCommit(frontier.ErrLost, end(a1, links...), end(a2), end(a1))
	k.wrongCommit(frontier.ErrRequest, end(a1, links...), end(a2, frontier.Request{}))
	over, cancel := context.WithCancel(k.ctx)
	cancel()
	if err := k.durable().Commit(over, []frontier.End{end(a1)}, frontier.Checkpoint{}); !errors.Is(err, context.Canceled) {
		k.Errorf("Commit with an ended context: %v", err)
	}
	k.stats(frontier.Stats{Claimed: 3, Hosts: 1})
	k.add(1, links...)
	k.done(k.claimOf("b/1"))
	k.commit(end(a2), end(a1))
	k.done(a3)
	k.drained()
}

func nilRemoves(k *kit) {
	k.durable()
	k.stored(nil, nil)
	k.commitWith(nil, map[string]int64{"x": 5, "y": 6}, map[string][]byte{"p/1": []byte("one"), "p/2": {}, "q": []byte("q")})
	k.stored(map[string]int64{"x": 5, "y": 6}, map[string][]byte{"p/1": []byte("one"), "p/2": {}, "q": []byte("q")})
	k.commitWith(nil, map[string]int64{"x": 4}, map[string][]byte{"p/1": nil, "p/3": nil, "q": []byte("other")})
	k.stored(map[string]int64{"x": 4, "y": 6}, map[string][]byte{"p/2": {}, "q": []byte("other")})
	k.commit()
	k.stored(map[string]int64{"x": 4, "y": 6}, map[string][]byte{"p/2": {}, "q": []byte("other")})
	if k.durable().Offsets("")["x"] = 99; k.durable().Offsets("")["x"] != 4 {
		k.Errorf("the caller's map is the store's own")
	}
	k.drained()
}

func valuesInOrder(k *kit) {
	d := k.durable()
	all := map[string][]byte{}
	for i := range 30 {
		all[fmt.Sprintf("p/%d", i)] = fmt.Appendf(nil, "value %d", i)
	}
	all["o/"], all["p"], all["p0"], all["p/\xff\xff"] = []byte("o"), []byte("p"), []byte("p0"), []byte("last")
	k.commitWith(nil, nil, all)
	k.stored(nil, all)
	var names []string
	stop := errors.New("enough")
	err := d.Values(k.ctx, "", "p/", func(name string, value []byte) error {
		if !bytes.Equal(value, all[name]) {
			k.Errorf("%q is %q, want %q", name, value, all[name])
		}
		names = append(names, name)
		return nil
	})
	if err != nil || len(names) != 31 || names[0] != "p/0" || names[30] != "p/\xff\xff" {
		k.Errorf("Values with prefix: %q, %v", names, err)
	}
	k.commitWith(nil, nil, map[string][]byte{"p/\xc3\xa9": []byte("é"), "p/\xc3\xaa": []byte("ê")})
	for prefix, want := range map[string]int{"p/\xc3": 2, "p/\xff": 1, "p/\xff\xff": 1, "p/\xc3\xa9": 1, "p/\xfe": 0} {
		n := 0
		if err := d.Values(k.ctx, "", prefix, func(string, []byte) error { n++; return nil }); err != nil || n != want {
			k.Errorf("Values with prefix %q: %d, %v; want %d", prefix, n, err, want)
		}
	}
	calls := 0
	err = d.Values(k.ctx, "", "p/", func(string, []byte) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		k.Errorf("Values continued after an error: %d calls, %v", calls, err)
	}
}

// largeCommit checks a Commit of many pages and many megabytes of values in one step.
func largeCommit(k *kit) {
	k.durable()
	const pages, links = 1000, 6
	var rs []frontier.Request
	for i := range pages {
		rs = append(rs, k.page1(i))
	}
	k.add(pages, rs...)
	var ends []frontier.End
	for range pages {
		c := k.claim()
		k.release(c, time.Time{})
		e := end(c)
		for range links {
			e.Settlement.Links = append(e.Settlement.Links, k.page1(pages+(len(ends)*links+len(e.Settlement.Links))/2))
		}
		ends = append(ends, e)
	}
	values := map[string][]byte{"large": bytes.Repeat([]byte("large "), 1<<20), "small": []byte("small")}
	for i := range 3 { // the same values repeatedly, like a snapshot
		values["large"][i] = 'X'
		k.commitWith(nil, nil, values)
	}
	values["larger"] = bytes.Repeat([]byte("larger "), 1<<20)
	k.commitWith(ends, map[string]int64{"visits": pages}, values)
	check := func() {
		k.Helper()
		k.stored(map[string]int64{"visits": pages}, values)
		k.add(0, rs...)
		if got := k.f.Stats(); got.Done != pages || got.Queued != pages*links/2 {
			k.Errorf("Stats %+v, want %d done and %d queued", got, pages, pages*links/2)
		}
	}
	check()
	if k.crash != nil {
		k.crashed()
		check()
	}
}

// page1 returns one of many pages on a few hosts.
func (k *kit) page1(i int) frontier.Request {
	return frontier.Request{URL: k.page(fmt.Sprintf("h%d/%d", i%7, i))}
}

func crashKeepsCommits(k *kit) {
	k.durable()
	k.add(4, k.pages("a/1", "a/2", "b/1", "c/1")...)
	ready := in(6*k.step + k.opts.ReopenDelay)
	cs := k.releasedAll("a/1", "b/1", "c/1", "a/2")
	k.commitWith([]frontier.End{
		end(cs[0], k.pages("a/3", "d/1")...),
		{Claim: cs[1], Settlement: frontier.Settlement{ReadyAt: ready, Again: &frontier.Again{Retry: true}}},
	}, map[string]int64{"x": 5}, map[string][]byte{"v": []byte("1"), "w": []byte("2")})
	k.crashed()
	k.stored(map[string]int64{"x": 5}, map[string][]byte{"v": []byte("1"), "w": []byte("2")})
	k.wrongCommit(frontier.ErrLost, end(cs[2]))
	k.wrongCommit(frontier.ErrLost, end(cs[0]))
	k.add(0, k.pages("a/1", "a/2", "a/3", "b/1", "c/1", "d/1")...)
	k.stats(frontier.Stats{Queued: 5, Done: 1, Hosts: 4})
	for range 4 {
		c := k.claim()
		if c.URL == k.page("a/1") || c.URL.Hostname() == "b.test" {
			k.Fatalf("claimed %v after the crash", c.URL)
		}
		k.done(c)
	}
	c := k.claimOf("b/1")
	k.atLeast(ready)
	if c.Attempt != 1 {
		k.Errorf("attempt %d, want 1", c.Attempt)
	}
	k.release(c, time.Time{})
	k.commitWith([]frontier.End{end(c)}, map[string]int64{"x": 6}, map[string][]byte{"v": nil})
	k.crashed()
	k.stored(map[string]int64{"x": 6}, map[string][]byte{"w": []byte("2")})
	k.drained()
}

// crashDuringCommit crashes at random times during a Commit, which must take effect completely or not at all.
func crashDuringCommit(k *kit) {
	k.durable()
	if k.crash == nil {
		k.Skipf("Options.Crash: the stores are not durable")
	}
	for round := range int64(20) {
		round++
		rs := k.pages(fmt.Sprintf("a%d/1", round), fmt.Sprintf("a%d/2", round), fmt.Sprintf("b%d/1", round))
		links := k.pages(fmt.Sprintf("a%d/3", round), fmt.Sprintf("c%d/1", round))
		k.add(len(rs), rs...)
		var ends []frontier.End
		for range rs {
			c := k.claim()
			k.release(c, time.Time{})
			ends = append(ends, end(c, links...))
		}
		d := k.durable()
		offsets, values := map[string]int64{"round": round}, map[string][]byte{"round": bytes.Repeat([]byte{byte(round)}, 100_000)}
		acknowledged := k.crashesDuring(round, func() error {
			return d.Commit(k.ctx, ends, frontier.Checkpoint{Offsets: offsets, Values: values})
		})
		happened := k.durable().Offsets("")["round"] == round
		if acknowledged && !happened {
			k.Fatalf("round %d: a Commit that was acknowledged is lost", round)
		}
		k.allOrNothing(happened, values, rs, links)
	}
}

// allOrNothing checks that a Commit of rs with these links and values has taken effect completely or not at all, and finishes all
// URLs.
func (k *kit) allOrNothing(happened bool, values map[string][]byte, rs, links []frontier.Request) {
	k.Helper()
	for name, want := range values {
		if got := k.value(name); bytes.Equal(got, want) != happened {
			k.Errorf("the offset is that of a Commit that happened: %t, the value is not", happened)
		}
	}
	want := len(links)
	if !happened {
		want = len(rs)
		k.add(len(links), links...)
		want += len(links)
	}
	k.add(0, rs...)
	k.add(0, links...)
	if left := k.finishAll(); left != want {
		k.Errorf("%d URLs were left after a Commit that happened: %t; want %d", left, happened, want)
	}
}

// checkpoints returns checkpoints of owners and names that would collide if they were simply concatenated.
func checkpoints() []frontier.Checkpoint {
	var all []frontier.Checkpoint
	for i, owner := range []string{"", "a", "ab", "a/", "a\x00", "\x01a", "\xff"} {
		n := byte(i)
		all = append(all, frontier.Checkpoint{
			Owner:   owner,
			Offsets: map[string]int64{"x": int64(i), "bx": int64(i) + 10, "": int64(i) + 20},
			Values:  map[string][]byte{"x": {n}, "bx": {n, 1}, "/x": {n, 2}, "\x00x": {n, 3}, "": {n, 4}},
		})
	}
	return all
}

func (k *kit) commitCheckpoint(c frontier.Checkpoint) {
	k.Helper()
	if err := k.durable().Commit(k.ctx, nil, c); err != nil {
		k.Fatalf("Commit of %q: %v", c.Owner, err)
	}
}

func (k *kit) storedAll(all []frontier.Checkpoint) {
	k.Helper()
	for _, c := range all {
		k.storedOf(c.Owner, c.Offsets, c.Values)
	}
}

func ownersAreApart(k *kit) {
	k.durable()
	all := checkpoints()
	for _, c := range all {
		k.commitCheckpoint(c)
	}
	k.storedAll(all)
	k.storedOf("nobody", nil, nil)
	k.commitCheckpoint(frontier.Checkpoint{Owner: "a", Offsets: map[string]int64{"x": 99}, Values: map[string][]byte{"x": nil}})
	all[1].Offsets["x"] = 99
	delete(all[1].Values, "x")
	k.storedAll(all)
	c := all[2].Offsets
	if k.durable().Offsets("ab")["x"] = 99; k.durable().Offsets("ab")["x"] != c["x"] {
		k.Errorf("the caller's map is the store's own")
	}
}

func crashKeepsOwners(k *kit) {
	k.durable()
	k.add(1, k.pages("a/1")...)
	all := checkpoints()
	for _, c := range all {
		k.commitCheckpoint(c)
	}
	k.crashed()
	k.storedAll(all)
	k.storedOf("nobody", nil, nil)
}
