package frontiertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// manyWorkers crawls a small synthetic web with many workers at once. The simulated servers check that every page is requested once,
// and that no host gets two requests at a time or one too early.
func manyWorkers(k *kit) { k.crawl(nil) }

// manyWorkersOneCommits is like manyWorkers, but workers release their claims, which are committed together.
func manyWorkersOneCommits(k *kit) {
	c := &committer{kit: k, d: k.durable(), stop: make(chan struct{})}
	c.calls.Go(c.work)
	k.crawl(c)
}

func (k *kit) crawl(together *committer) {
	const pages, workers = 240, 12
	ctx, cancel := context.WithTimeout(k.ctx, k.limit)
	defer cancel()
	w := &watch{kit: k, stop: cancel, together: together, hosts: map[string]*visits{}, done: map[weburl.URL]int{}, retries: map[weburl.URL]int{}}
	web := make([]frontier.Request, pages)
	for i := range web {
		web[i].URL = k.page(fmt.Sprintf("h%d/%d", i%7, i))
	}
	k.add(1, web[0])
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { w.work(ctx, web, rand.New(rand.NewPCG(uint64(i), 0))) })
	}
	wg.Wait()
	if together != nil {
		together.end()
	}
	for _, q := range web {
		if n := w.done[q.URL]; n != 1 {
			k.Errorf("%v done %d times", q.URL, n)
		}
	}
	k.drained()
	if got := k.f.Stats(); got.Done != 0 && got != (frontier.Stats{Done: pages}) {
		k.Errorf("Stats %+v, want %d done and nothing else", got, pages)
	}
}

// watch records the requests that the servers receive.
type watch struct {
	*kit
	stop func() // ends the crawl when a check fails, because the crawl might not end otherwise

	together *committer // nil: the worker that holds a claim settles it

	mu      sync.Mutex
	hosts   map[string]*visits
	done    map[weburl.URL]int
	retries map[weburl.URL]int
}

type visits struct {
	now   int
	ready time.Time
}

func (w *watch) work(ctx context.Context, web []frontier.Request, r *rand.Rand) {
	for {
		c, err := w.f.Claim(ctx)
		if err != nil {
			if !errors.Is(err, frontier.ErrDrained) {
				w.Errorf("Claim: %v", err)
				w.stop()
			}
			return
		}
		w.arrive(c)
		if w.opts.Virtual {
			w.pause(time.Duration(r.IntN(300)) * time.Millisecond)
		}
		var page int
		_, _ = fmt.Sscanf(c.URL.Path(), "/%d", &page)
		links := []frontier.Request{web[(page+1)%len(web)], web[(page*7+3)%len(web)], web[(page*5+2)%len(web)]}
		for i := range links {
			links[i].Priority = int8(max(0, r.IntN(6)-2)) // so that many URLs are raised
		}
		if r.IntN(16) == 0 {
			score := func(frontier.Request) float64 { return float64(r.IntN(3) - 1) }
			if _, err := w.f.Rescore(ctx, score); err != nil {
				w.Errorf("Rescore: %v", err)
			}
		}
		if r.IntN(4) == 0 {
			if n, err := w.f.Add(ctx, c.Request); n != 0 || err != nil {
				w.Errorf("Add of a claimed URL: %d, %v", n, err)
			}
		}
		if err := w.end(ctx, c, w.leave(c, links, r)); err != nil {
			w.Errorf("Settle or Release: %v", err)
		}
	}
}

func (w *watch) end(ctx context.Context, c frontier.Claim, s frontier.Settlement) error {
	if w.together == nil {
		return w.f.Settle(ctx, c, s)
	}
	err := w.together.d.Release(ctx, c, s.ReadyAt)
	w.together.add(frontier.End{Claim: c, Settlement: s})
	return err
}

// committer commits the claims that workers have released.
type committer struct {
	*kit
	d    frontier.Durable
	stop chan struct{}

	calls sync.WaitGroup
	mu    sync.Mutex
	ends  []frontier.End
	done  int64
}

func (c *committer) add(e frontier.End) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = append(c.ends, e)
}

func (c *committer) work() {
	t := time.NewTicker(c.step / 20)
	defer t.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-t.C:
			c.flush()
		}
	}
}

func (c *committer) flush() {
	c.mu.Lock()
	ends := c.ends
	c.ends = nil
	c.mu.Unlock()
	c.done += int64(len(ends))
	if err := c.d.Commit(c.ctx, ends, frontier.Checkpoint{Offsets: map[string]int64{"done": c.done}}); err != nil {
		c.Errorf("Commit: %v", err)
	}
	if got := c.d.Offsets("")["done"]; got != c.done {
		c.Errorf("offset %d after Commit, want %d", got, c.done)
	}
}

func (c *committer) end() {
	close(c.stop)
	c.calls.Wait()
	c.flush()
}

// arrive records the first byte of a request.
func (w *watch) arrive(c frontier.Claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.hosts[c.URL.Host()]
	if h == nil {
		h = &visits{}
		w.hosts[c.URL.Host()] = h
	}
	if h.now++; h.now > 1 {
		w.Errorf("%s has %d holders", c.URL.Host(), h.now)
	}
	if early := time.Until(h.ready); early > 0 {
		w.Errorf("%v claimed %v before its host is ready", c.URL, early)
	}
	if c.Attempt != w.retries[c.URL] {
		w.Errorf("%v: attempt %d, want %d", c.URL, c.Attempt, w.retries[c.URL])
	}
}

// leave records the end of a request. It returns the Settlement for the claim.
func (w *watch) leave(c frontier.Claim, links []frontier.Request, r *rand.Rand) frontier.Settlement {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := frontier.Settlement{Links: links, ReadyAt: in(time.Duration(r.IntN(int(w.step / 40))))}
	switch r.IntN(8) {
	case 0:
		s.Again = &frontier.Again{Retry: true, NotBefore: in(time.Duration(r.IntN(int(w.step / 20))))}
		w.retries[c.URL]++
	case 1:
		s.Again = &frontier.Again{}
	default:
		if w.done[c.URL]++; w.done[c.URL] > 1 {
			w.stop()
		}
	}
	h := w.hosts[c.URL.Host()]
	h.now--
	h.ready = s.ReadyAt
	return s
}
