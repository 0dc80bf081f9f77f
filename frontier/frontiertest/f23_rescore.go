package frontiertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// rescore gives new scores to the URLs in scores, and checks the number of changes. All other URLs keep their scores. It also checks that
// score is called once for each URL.
func (k *kit) rescore(changed int, scores map[string]float64) {
	k.Helper()
	to := map[weburl.Key]float64{}
	for hostPath, score := range scores {
		to[k.page(hostPath).Key()] = score
	}
	asked := map[weburl.Key]bool{}
	n, err := k.f.Rescore(k.ctx, func(q frontier.Request) float64 {
		if asked[q.URL.Key()] {
			k.Errorf("%s is scored twice", name(q))
		}
		asked[q.URL.Key()] = true
		if score, ok := to[q.URL.Key()]; ok {
			return score
		}
		return q.Score
	})
	if n != changed || err != nil {
		k.Fatalf("Rescore: %d, %v; want %d", n, err, changed)
	}
}

func newScoresReorder(k *kit) {
	k.add(8, k.scored("a/1", 0), k.scored("a/2", 0.5), k.scored("a/3", -0.5), k.scored("a/4", 0), k.prioritised("a/first", 1),
		k.scored("a/5", 0.25), k.scored("a/6", 0.25), k.prioritised("a/last", -1))
	k.rescore(0, nil)
	k.rescore(6, map[string]float64{"a/1": 0.25, "a/2": -0.5, "a/3": 0.75, "a/4": -0.25, "a/first": -9, "a/last": 9})
	k.stats(frontier.Stats{Queued: 8, Hosts: 1})
	k.inOrder("a/first", "a/3")
	k.add(1, k.scored("a/7", 0.25))
	k.inOrder("a/5", "a/6", "a/1", "a/7", "a/4") // a/1 has arrived anew
	k.add(1, k.scored("a/8", -0.5))
	k.inOrder("a/2", "a/8", "a/last")
	k.drained()
	k.rescore(0, nil)
}

// rescoredTimeAndAgain checks that scores that return to an earlier value leave no entries behind.
func rescoredTimeAndAgain(k *kit) {
	k.add(3, k.link("a/1", 0, 1), k.link("a/2", 0, 1), k.link("a/3", 0, 1))
	for range 3 {
		k.rescore(2, map[string]float64{"a/1": 0.5, "a/2": -0.5})
		k.rescore(2, map[string]float64{"a/1": 0, "a/2": 0})
	}
	k.stats(frontier.Stats{Queued: 3, Hosts: 1})
	k.inOrder("a/3", "a/1", "a/2")
	k.drained()
	k.stats(frontier.Stats{Done: 3})
}

func rescoreKeepsRequests(k *kit) {
	full := k.full("a/full")
	k.add(2, full, k.link("a/plain", 0, 3))
	k.add(0, k.link("a/plain", 0, 2)) // a smaller depth
	asked := 0
	if _, err := k.f.Rescore(k.ctx, func(q frontier.Request) float64 {
		want := full
		if q.URL != full.URL {
			want = k.link("a/plain", 0, 2)
		}
		k.same(q, want)
		asked++
		return 0.5
	}); err != nil || asked != 2 {
		k.Fatalf("Rescore: %v, %d URLs, want 2", err, asked)
	}
	k.raise(k.link("a/plain", 1, 2)) // as before
	k.add(0, k.link("a/full", 100, full.Depth))
	for range 2 {
		c := k.claim()
		want := full
		want.Score = 0.5
		if c.URL != full.URL {
			want = k.link("a/plain", 1, 2)
		}
		k.same(c.Request, want)
		k.done(c)
	}
	k.drained()
}

// lowScoresRaise checks that a URL with a lower score can be raised again, although the store knows it.
func lowScoresRaise(k *kit) {
	k.add(2, k.link("a/1", 0, 1), k.scored("a/2", -0.25))
	k.add(0, k.link("a/1", 0, 1))
	k.rescore(1, map[string]float64{"a/1": -0.5})
	k.add(0, k.link("a/1", 0, 1))
	k.inOrder("a/1", "a/2")
	k.drained()
}

func rescoreLeavesClaims(k *kit) {
	k.add(3, k.scored("a/1", 3), k.scored("a/2", 2), k.scored("a/3", 1))
	c := k.claimOf("a/1")
	k.rescore(1, map[string]float64{"a/3": 9})
	k.stats(frontier.Stats{Queued: 2, Claimed: 1, Hosts: 1})
	until := in(3 * k.step)
	k.settle(c, frontier.Settlement{Again: &frontier.Again{NotBefore: until}})
	c = k.claimOf("a/3")
	k.rescore(1, map[string]float64{"a/2": 10})
	k.stats(frontier.Stats{Queued: 1, Waiting: 1, Claimed: 1, Hosts: 1})
	k.settle(c, frontier.Settlement{Again: &frontier.Again{Retry: true}})
	k.inOrder("a/2")
	if c = k.claimOf("a/3"); c.Attempt != 1 || c.Score != 9 {
		k.Errorf("attempt %d and score %v, want 1 and 9", c.Attempt, c.Score)
	}
	k.done(c)
	c = k.claimOf("a/1")
	k.at(until)
	k.done(c)
	k.drained()
}

// rescoreKeepsReadyAt checks that no score makes a host ready earlier.
func rescoreKeepsReadyAt(k *kit) {
	k.add(3, k.scored("a/1", 1), k.scored("a/2", 0), k.scored("a/3", 0))
	ready := in(3*k.step + k.opts.Patience)
	k.settle(k.claimOf("a/1"), frontier.Settlement{ReadyAt: ready})
	k.rescore(1, map[string]float64{"a/3": 100})
	c := k.claimAfter(ready)
	k.at(ready)
	if c.URL != k.page("a/3") {
		k.Errorf("claimed %v, want a/3", c.URL)
	}
	k.done(c)
	k.inOrder("a/2")
	k.drained()
}

// manyAreRescored rescores more URLs than a store keeps in memory or reads at once.
func manyAreRescored(k *kit) {
	const urls = 1500
	rs := make([]frontier.Request, urls)
	for i := range rs {
		rs[i] = k.scored(fmt.Sprintf("a/%d", i), float64(i%7)) // some scores are 0
	}
	k.add(urls, rs...)
	k.inOrder("a/6", "a/13")
	scores := map[string]float64{}
	for i := range urls {
		scores[fmt.Sprintf("a/%d", i)] = float64(-i)
	}
	k.rescore(urls-3, scores) // a/0 already has 0
	for i := range urls {
		if i != 6 && i != 13 {
			k.inOrder(fmt.Sprintf("a/%d", i))
		}
	}
	k.drained()
	k.stats(frontier.Stats{Done: urls})
}

func failedRescoreHasNoEffect(k *kit) {
	k.add(2, k.scored("a/1", 1), k.scored("a/2", 0))
	ctx, cancel := context.WithCancel(k.ctx)
	cancel()
	if n, err := k.f.Rescore(ctx, func(frontier.Request) float64 { return 5 }); n != 0 || !errors.Is(err, context.Canceled) {
		k.Errorf("Rescore: %d, %v; want its context's error", n, err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = k.f.Rescore(k.ctx, func(q frontier.Request) float64 {
			if q.URL == k.page("a/2") {
				panic("score")
			}
			return -5
		})
	}()
	k.stats(frontier.Stats{Queued: 2, Hosts: 1})
	k.rescore(2, map[string]float64{"a/1": 0.25, "a/2": 0.5})
	k.inOrder("a/2", "a/1")
	k.drained()
}

func rescoreWakes(k *kit) {
	if !k.opts.BestFirst {
		k.Skipf("hosts are not served by their scores")
	}
	k.add(4, k.scored("a/1", 1), k.scored("b/1", 2), k.scored("c/1", 3), k.scored("c/2", -1))
	k.rescore(2, map[string]float64{"a/1": 4, "c/1": 0.5})
	k.inOrder("a/1", "b/1", "c/1", "c/2")
	k.drained()
}

func crashKeepsRescored(k *kit) {
	k.durable()
	k.add(4, k.scored("a/1", 4), k.scored("a/2", 3), k.scored("a/3", 2), k.scored("a/4", 0))
	held := k.claimOf("a/1")
	k.rescore(3, map[string]float64{"a/2": 1, "a/3": 0, "a/4": 5})
	k.crashed()
	_ = held // queued again
	k.rescore(2, map[string]float64{"a/1": -1, "a/3": 2})
	k.crashed()
	c := k.claimOf("a/4")
	if c.Score != 5 {
		k.Errorf("score %v, want 5", c.Score)
	}
	k.done(c)
	k.crashed()
	k.inOrder("a/3", "a/2", "a/1")
	k.drained()
	k.stats(frontier.Stats{Done: 4})
}

// rescore sets the scores of URLs to those in to and returns the number of changes.
func (m *model) rescore(to map[weburl.Key]float64) (changed int) {
	all := slices.Clone(m.all)
	slices.SortFunc(all, func(a, b *entry) int { return cmp.Or(levels(&b.req, &a.req), cmp.Compare(a.arrival, b.arrival)) })
	for _, e := range all {
		score, ok := to[e.req.URL.Key()]
		if !ok || e.state != stateQueued || score == e.req.Score {
			continue
		}
		m.arrivals++
		e.req.Score, e.arrival = score, m.arrivals
		changed++
	}
	return changed
}

// rescoreSome compares a Rescore with the model. Choices that F23 leaves open are not compared.
func (r *run) rescoreSome() {
	now := r.now()
	to := map[weburl.Key]float64{}
	for _, e := range r.m.all {
		if e.state == stateQueued && !e.back && r.rand.IntN(2) == 0 {
			to[e.req.URL.Key()] = float64(r.rand.IntN(5)-2) / 4
		}
	}
	want := r.m.rescore(to)
	r.note("%s Rescore of %d", clock(now), len(to))
	n, err := r.f.Rescore(r.ctx, func(q frontier.Request) float64 {
		if score, ok := to[q.URL.Key()]; ok {
			delete(to, q.URL.Key())
			return score
		}
		return q.Score
	})
	r.written = r.written || n > 0
	if n != want || err != nil || len(to) > 0 {
		r.fail("Rescore: %d, %v, %d not asked for; want %d", n, err, len(to), want)
	}
	if !r.now().Equal(now) && r.opts.Virtual {
		r.fail("Rescore took %v", time.Since(now))
	}
}
