package cluster

import "testing"

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
