package cluster_test

import (
	"flag"
	"testing"
	"testing/synctest"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/internal/long"
)

var endRuns = flag.Int("end.n", long.N(300, 1500), "number of seeds TestEndModel goes through")

// Invariant I8: whatever happens, in any order, the probes find a job done only if nothing is queued and no offer of links is in progress.
func TestEndModel(t *testing.T) {
	ended := 0
	for seed := range uint64(*endRuns) {
		synctest.Test(t, func(t *testing.T) {
			s := mem.New()
			m := cluster.NewEndModel(t, seed, func(stale float64) cluster.Engine {
				c := s.Connect()
				c.Misbehave(mem.Faults{Seed: seed, Stale: stale})
				return c
			})
			if m.Run() {
				ended++
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if ended < *endRuns/2 {
		t.Errorf("%d of %d jobs ended: the model has to end most", ended, *endRuns)
	}
}
