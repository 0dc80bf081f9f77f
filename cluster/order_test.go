package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/weburl"
)

// watched is an engine that records the order of successful stores. Stores of the kind in refuse fail without an answer.
type watched struct {
	cluster.Engine
	mu     sync.Mutex
	log    []string
	refuse string
}

func (w *watched) store(what string, do func() error) error {
	w.mu.Lock()
	refused := w.refuse == what
	w.mu.Unlock()
	if refused {
		return mem.ErrTimeout
	}
	err := do()
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.log = append(w.log, what)
	}
	return err
}

// Send implements cluster.Inboxes.
func (w *watched) Send(ctx context.Context, shard int, id string, offer []byte) error {
	return w.store("links", func() error { return w.Engine.Send(ctx, shard, id, offer) })
}

// Append implements cluster.Journals.
func (w *watched) Append(ctx context.Context, shard int, n cluster.Nonce, data []byte, last uint64) (seq uint64, err error) {
	err = w.store("journal", func() error {
		seq, err = w.Engine.Append(ctx, shard, n, data, last)
		return err
	})
	return seq, err
}

// become starts or stops refusing a kind of store. It returns the stores since the last call.
func (w *watched) become(refuse string) (log []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	log, w.log, w.refuse = w.log, nil, refuse
	return log
}

// owning runs a test with a job and an owner of the job's shard 0.
func owning(t *testing.T, j cluster.Job, test func(t *testing.T, w *watched, o *cluster.BudgetOwner, j cluster.Job, die func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &watched{Engine: mem.New().Connect()}
		if err := cluster.Create(t.Context(), w, j); err != nil {
			t.Fatal(err)
		}
		j, err := cluster.LoadJob(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		ctx, die := context.WithCancel(t.Context())
		defer die()
		o, err := cluster.OwnBudget(ctx, w, 0, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		test(t, w, o, j, die)
		o.Close()
	})
}

// hostIn returns a host that belongs to shard 0 if first is true, and otherwise to another shard.
func hostIn(j cluster.Job, first bool) string {
	for i := 0; ; i++ {
		if h := fmt.Sprintf("o%d.test", i); (j.Shard(h+":80") == 0) == first {
			return h
		}
	}
}

// Invariant I8: the links of a page to other shards are durable before the page is committed, and only then do they count as sent.
func TestLinksAreSentBeforeTheCommit(t *testing.T) {
	owning(t, cluster.Job{Shards: 4}, func(t *testing.T, w *watched, o *cluster.BudgetOwner, j cluster.Job, _ func()) {
		if err := o.Add(0, 1); err != nil {
			t.Fatal(err)
		}
		link, err := weburl.Parse("http://" + hostIn(j, false) + "/")
		if err != nil {
			t.Fatal(err)
		}
		w.become("links")
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := o.CommitLink(short, link); err == nil {
			t.Error("committed although the links are not sent")
		}
		if log := w.become(""); slices.Contains(log, "journal") {
			t.Errorf("stored while links cannot be sent: %v", log)
		}
		if err := o.CommitLink(t.Context(), link); err != nil {
			t.Error(err)
		}
		if log := w.become(""); !slices.Equal(log, []string{"links", "journal"}) {
			t.Errorf("stored in the order %v, want links, journal", log)
		}
	})
}

// Invariant I7: a shard returns unused pages to the register only after it has committed that it will not use them.
func TestPagesAreReturnedAfterTheCommit(t *testing.T) {
	owning(t, cluster.Job{Shards: 2, Limits: cluster.Limits{Pages: 100}}, func(t *testing.T, w *watched, o *cluster.BudgetOwner, j cluster.Job, die func()) {
		if err := o.Add(0, 1); err != nil {
			t.Fatal(err)
		}
		o.Page()
		o.Commit()
		if o.Committed() != 1 {
			t.Fatalf("%d pages are committed", o.Committed())
		}
		w.become("journal")
		time.AfterFunc(5*time.Second, die)
		o.Tidy([]int{1})
		g, err := cluster.ReadGrants(w.Engine, j)
		if err != nil || g.Granted[0] < 2 || g.Returned[0] != 0 {
			t.Errorf("%+v, %v: pages were returned, and the journal does not say so", g, err)
		}
	})
}
