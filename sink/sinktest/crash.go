package sinktest

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
)

// restoreAfterKill simulates kills after a Sync. Each file that grew since that Sync is cut at every byte, while the other files are in
// their state before or after; files created since may exist or not.
func restoreAfterKill(k *kit) {
	if k.suite.InPlace {
		k.Skip("the output is written in place: see RunKilled")
	}
	for _, n := range []int{0, 3} {
		s := k.open()
		urls := k.add(s, n)
		offset := k.sync(s)
		before := k.snapshot()
		k.add(s, 1)
		k.sync(s)
		k.add(s, 1)
		k.sync(s)
		open := k.snapshot()
		k.close(s)
		closed := k.snapshot()
		every := k.step(1, 53)
		if n == 0 {
			every = k.step(17, 53)
		}
		for state := range torn(before, open, every, k.step(31, 101)) {
			k.killed(state, offset, urls)
		}
		for state := range torn(before, closed, k.step(29, 97), k.step(31, 101)) {
			k.killed(state, offset, urls)
		}
		k.dir = k.TempDir()
	}
}

// step returns the number of bytes between two simulated kills.
func (k *kit) step(thorough, sparse int) int {
	if k.suite.Thorough && !testing.Short() {
		return thorough
	}
	return sparse
}

// torn returns the states that a kill between two snapshots can leave, if files are appended to, created and replaced. stepAfter and
// stepBefore are the steps in bytes, if the other files are in their state after or before.
func torn(before, after snapshot, stepAfter, stepBefore int) iter.Seq[snapshot] {
	return func(yield func(snapshot) bool) {
		for _, name := range slices.Sorted(maps.Keys(after)) {
			was, is := before[name], after[name]
			step := map[bool]int{true: stepAfter, false: stepBefore}
			for late, rest := range map[bool]snapshot{true: after, false: before} {
				if !strings.HasPrefix(is, was) {
					if !yield(rest.with(name, was)) || !yield(rest.with(name, is)) {
						return
					}
					continue
				}
				for size := len(was); size <= len(is); size += step[late] {
					if !yield(rest.with(name, is[:size])) {
						return
					}
				}
			}
		}
	}
}

func (s snapshot) with(name, content string) snapshot {
	c := maps.Clone(s)
	c[name] = content
	return c
}

// killed opens the files that a kill left, restores the output, and checks that it has exactly the synced records.
func (k *kit) killed(state snapshot, offset int64, urls []string) {
	k.Helper()
	k.lay(state)
	s := k.open()
	k.restore(s, offset)
	k.close(s)
	k.want(true, urls...)
}

// restoreOverNoise appends foreign bytes to every file that grew: if data was not written before a power failure, a file system can leave
// zeros or old content.
func restoreOverNoise(k *kit) {
	for _, noise := range []string{"\x00", strings.Repeat("\x00", 1<<21), "\n", "{}\n", "\x1f\x8b\x08", strings.Repeat("\n}\"x", 1000), "\xff\xfe{\"offset\":\"1\"}"} {
		k.dir = k.TempDir()
		s := k.open()
		urls := k.add(s, 4)
		offset := k.sync(s)
		state := k.snapshot()
		k.add(s, 3)
		k.sync(s)
		later := k.snapshot()
		k.close(s)
		for name, content := range later {
			if was, old := state[name]; !old || was != content {
				state[name] = was + noise
			}
		}
		k.killed(state, offset, urls)
	}
}
