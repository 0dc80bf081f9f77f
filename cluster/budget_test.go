package cluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/internal/long"
)

// Invariant I7: the shards never commit more pages than the limit of the job, although owners are replaced, calls get no answer and reads
// are stale. The register of pages always adds up to that limit, and in the end the whole limit is used.
func TestBudgetModel(t *testing.T) {
	for seed := range uint64(long.N(10, 40)) {
		synctest.Test(t, func(t *testing.T) { runBudget(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func runBudget(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	s := mem.New()
	const shards = 3
	job := cluster.Job{Shards: shards, TTL: cluster.MinTTL, Limits: cluster.Limits{Pages: 1 + rng.Int64N(60)}}
	if err := cluster.Create(t.Context(), s.Connect(), job); err != nil {
		t.Fatal(err)
	}
	m := &budgetModel{t: t, rng: rng, s: s, job: job, dir: t.TempDir(), owners: make([]*cluster.BudgetOwner, shards)}
	defer m.close()
	for shard := range shards {
		m.own(shard, 15+rng.IntN(30))
	}
	for range 150 {
		m.step()
		m.check()
	}
	m.calm = true
	for i := range 400 {
		if m.owners[i%shards] == nil || !m.owners[i%shards].Alive() {
			m.own(i%shards, 0)
		}
		m.owners[i%shards].Page()
		m.owners[i%shards].Commit()
		m.owners[i%shards].Tidy(m.starving())
		time.Sleep(50 * time.Millisecond)
		m.check()
	}
	if sum, want := m.spent(), min(job.Limits.Pages, int64(m.urls)); sum != want {
		t.Errorf("%d pages are committed, want %d of %d, for %d URLs", sum, want, job.Limits.Pages, m.urls)
	}
}

type budgetModel struct {
	t      *testing.T
	rng    *rand.Rand
	s      *mem.Server
	job    cluster.Job
	dir    string
	owners []*cluster.BudgetOwner // the newest owner of each shard
	olds   []*cluster.BudgetOwner // replaced owners
	made   int
	urls   int
	calm   bool
}

// own makes another process the owner of a shard and queues that many new URLs. The previous owner is not told.
func (m *budgetModel) own(shard, urls int) {
	conn := m.s.Connect()
	m.made++
	o, err := cluster.OwnBudget(context.Background(), conn, shard, filepath.Join(m.dir, fmt.Sprint(m.made)))
	if err != nil {
		m.t.Fatal(err)
	}
	if err := o.Add(m.urls, urls); err != nil {
		m.t.Fatal(err)
	}
	m.urls += urls
	if !m.calm {
		conn.Misbehave(mem.Faults{Seed: m.rng.Uint64(), Unheard: 0.1, Stale: 0.3, Timeout: 100 * time.Millisecond})
	}
	if old := m.owners[shard]; old != nil {
		m.olds = append(m.olds, old)
	}
	m.owners[shard] = o
}

// step makes one random event happen.
func (m *budgetModel) step() {
	all := append(append([]*cluster.BudgetOwner{}, m.owners...), m.olds...)
	o := all[m.rng.IntN(len(all))]
	switch m.rng.IntN(8) {
	case 0:
		if m.rng.IntN(6) == 0 {
			m.own(m.rng.IntN(m.job.Shards), 0)
		}
	case 1, 2:
		o.Commit()
	case 3:
		o.Tidy(m.starving())
	case 4:
		o.Tidy([]int{99}) // as if another shard needed pages
	case 5:
		o.None()
	default:
		o.Page()
	}
}

func (m *budgetModel) starving() []int {
	g, err := cluster.ReadGrants(m.s.Connect(), m.job)
	if err != nil {
		m.t.Fatal(err)
	}
	return g.Starving
}

// spent returns the number of committed pages according to the journals.
func (m *budgetModel) spent() (sum int64) {
	for _, o := range m.owners {
		sum += o.Committed()
	}
	return sum
}

func (m *budgetModel) check() {
	g, err := cluster.ReadGrants(m.s.Connect(), m.job)
	if err != nil {
		m.t.Fatal(err)
	}
	sum := g.Left
	for shard := range m.job.Shards {
		sum += g.Granted[shard] - g.Returned[shard]
	}
	if sum != m.job.Limits.Pages || g.Left < 0 {
		m.t.Fatalf("the register has %+v: %d in all, want %d", g, sum, m.job.Limits.Pages)
	}
	if n := m.spent(); n > m.job.Limits.Pages {
		m.t.Fatalf("%d pages are committed, %d may be", n, m.job.Limits.Pages)
	}
}

func (m *budgetModel) close() {
	for _, o := range append(m.owners, m.olds...) {
		o.Close()
	}
}
