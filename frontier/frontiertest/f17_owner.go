package frontiertest

import "github.com/amble-crawler/amble/frontier"

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
