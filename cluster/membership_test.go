package cluster

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestShare(t *testing.T) {
	for _, tc := range []struct {
		shards int
		rooms  []int
		want   int
	}{
		{10, []int{10}, 10},
		{10, []int{10, 10, 10}, 4},
		{10, []int{3, 10, 10}, 4},
		{10, []int{10, 0, 2}, 8},
		{8, []int{4, 3}, 8},
		{8, []int{0, 0}, 8},
	} {
		if got := share(tc.shards, tc.rooms); got != tc.want {
			t.Errorf("%d shards, room for %v: a share of %d, want %d", tc.shards, tc.rooms, got, tc.want)
		}
	}
}

// TestShardIsFreeAfterItsTTL checks that a shard is free when its journal has had no new record for the TTL of the job, even if a lagging
// server shows older records meanwhile, or an engine was restored and has fewer records.
func TestShardIsFreeAfterItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Node{job: Job{TTL: 20 * time.Second}, seen: map[int]sighting{}}
		for i, step := range []struct {
			after time.Duration
			seq   uint64
			want  bool
		}{
			{0, 5, false}, {10 * time.Second, 4, false}, {5 * time.Second, 5, false}, {5 * time.Second, 5, true},
			{0, 6, false}, {19 * time.Second, 7, false}, {19 * time.Second, 3, false}, {time.Second, 3, true},
		} {
			time.Sleep(step.after)
			beat := record{kind: kindBeat, epoch: 1, node: "n1", at: time.Now()}
			if got := n.free(0, Entry{Seq: step.seq, Data: beat.encode()}); got != step.want {
				t.Errorf("step %d: free: %v", i, got)
			}
		}
		closed := record{kind: kindClose, epoch: 1, node: "n1", at: time.Now()}
		if !n.free(0, Entry{Seq: 8, Data: closed.encode()}) {
			t.Error("a shard that was given back is not free")
		}
	})
}
