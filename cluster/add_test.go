package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/weburl"
)

// Seeds are added to a running job while nodes are killed and cut off. The process that adds the seeds is killed as well, and started
// again. Each seed is crawled once, even if the job knew its URL already.
func TestAddedRequestsAreCrawledOnce(t *testing.T) {
	runs, late := long.N(4, 12), 0
	for seed, done := uint64(0), 0; done < runs; seed++ {
		crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
			s := newSim(t, w, 3000+seed)
			if s.job.Limits.Pages > 0 {
				return
			}
			done++
			known := []string{s.seeds[0]}
			for h := range 2 {
				for p := range 8 {
					w.Site(s.host(h)).Page(fmt.Sprintf("/added-%d", p), "")
					s.added = append(s.added, fmt.Sprintf("http://%s/added-%d", s.host(h), p))
				}
			}
			rng, ended := rand.New(rand.NewPCG(seed, 7)), make(chan error, 1)
			go func() {
				var err error
				for try := 0; ; try++ {
					ctx, kill := context.WithCancel(t.Context())
					if try < 2 {
						time.AfterFunc(time.Duration(rng.IntN(3000))*time.Millisecond, kill)
					}
					if err = s.add(ctx, uint64(try)+seed, append(known, s.added...)); err == nil || errors.Is(err, cluster.ErrOver) {
						kill()
						break
					}
					kill()
				}
				ended <- err
			}()
			s.run()
			if err := <-ended; err != nil { // the job ended before all seeds were added: the test does not know which seeds are missing
				late++
				return
			}
			s.check()
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if late > runs/2 {
		t.Errorf("%d of %d jobs were over before all was added", late, runs)
	}
}

// add adds seeds in one process, whose connection loses messages as often as those of nodes.
func (s *sim) add(ctx context.Context, seed uint64, urls []string) error {
	conn, f := s.server.Connect(), s.faults
	f.Seed = seed
	conn.Misbehave(f)
	a, err := cluster.NewAdder(ctx, conn)
	if err != nil {
		return err
	}
	for _, text := range urls {
		u, err := weburl.Parse(text)
		if err != nil {
			return err
		}
		if err := a.Add(ctx, frontier.Request{URL: u, Kind: frontier.KindSeed}); err != nil {
			return err
		}
		time.Sleep(s.job.TTL / 24)
	}
	return a.Flush(ctx)
}

// However many seeds are added, messages stay small, and few of the seeds are kept in memory.
func TestAdderKeepsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &sizes{Engine: mem.New().Connect()}
		if err := cluster.Create(t.Context(), w, cluster.Job{Shards: 200}); err != nil {
			t.Fatal(err)
		}
		a, err := cluster.NewAdder(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		most, long := 0, strings.Repeat("x", 1500)
		for i := range 30_000 { // 45 MB of seeds
			u, err := weburl.Parse(fmt.Sprintf("http://h%d.test/%d%s", i%5000, i, long))
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Add(t.Context(), frontier.Request{URL: u}); err != nil {
				t.Fatal(err)
			}
			most = max(most, a.Waiting())
		}
		if err := a.Flush(t.Context()); err != nil || a.Waiting() != 0 {
			t.Errorf("%d are waiting, %v", a.Waiting(), err)
		}
		if most*1500 > 17<<20 || most < 100 {
			t.Errorf("%d requests were kept", most)
		}
		if w.most > 300<<10 || w.n < 100 {
			t.Errorf("%d messages of up to %d bytes", w.n, w.most)
		}
	})
}

// sizes is an engine that records the size of each message.
type sizes struct {
	cluster.Engine
	mu      sync.Mutex
	n, most int
}

// Send implements cluster.Inboxes.
func (s *sizes) Send(ctx context.Context, shard int, id string, offer []byte) error {
	s.mu.Lock()
	s.n, s.most = s.n+1, max(s.most, len(offer))
	s.mu.Unlock()
	return s.Engine.Send(ctx, shard, id, offer)
}
