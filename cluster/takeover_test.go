package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/frontier/frontiertest"
	"github.com/amble-crawler/amble/weburl"
)

// TestJournaledStoreConforms checks that a store whose journal is in an engine keeps every clause of the frontier's contract. A crash in
// the suite means here that another node takes over, in an empty directory or in the remains of the old one.
func TestJournaledStoreConforms(t *testing.T) {
	dirs := map[frontier.Frontier]string{}
	servers := map[frontier.Frontier]*mem.Server{}
	made := 0
	rng := rand.New(rand.NewPCG(1, 1))
	root := t.TempDir()
	job := cluster.Job{Shards: 1, TTL: cluster.DefaultTTL}
	open := func(t *testing.T, s *mem.Server, dir string) frontier.Frontier {
		f, err := cluster.RebuildIn(s.Connect(), dir, job, disk.Config{CacheSize: 1 << 20, MemTableSize: 64 << 10})
		if err != nil {
			t.Fatal(err)
		}
		dirs[f], servers[f] = dir, s
		return f
	}
	fresh := func() string {
		made++
		return filepath.Join(root, fmt.Sprint(made))
	}
	again := func(t *testing.T, f frontier.Frontier) frontier.Frontier {
		_ = f.Close()
		dir := dirs[f]
		if rng.IntN(2) == 0 {
			dir = fresh()
		}
		return open(t, servers[f], dir)
	}
	frontiertest.Run(t, func(t *testing.T) frontier.Frontier { return open(t, mem.New(), fresh()) }, frontiertest.Options{
		Virtual: true, Crash: again, Reopen: again, Runs: 5,
	})
}

// TestDirectoryOfAnotherJournalIsRebuilt checks that an owner does not continue a directory that belongs to another journal.
func TestDirectoryOfAnotherJournalIsRebuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		job := cluster.Job{Shards: 1, TTL: cluster.DefaultTTL}
		dir := t.TempDir()
		for _, host := range []string{"a.test", "b.test"} {
			s, err := cluster.RebuildIn(mem.New().Connect(), dir, job, disk.Config{})
			if err != nil {
				t.Fatal(err)
			}
			u, err := weburl.Parse("http://" + host + "/")
			if err != nil {
				t.Fatal(err)
			}
			if n := s.Stats().Queued; n != 0 {
				t.Errorf("%d URLs of another journal", n)
			}
			if _, err := s.Add(t.Context(), frontier.Request{URL: u}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestOwnerFollowsJournalToItsOwnOpenRecord checks that a new owner rebuilds its store only up to the record that made it the owner. It
// ignores the signs of life (beats) that it appends to the journal meanwhile.
func TestOwnerFollowsJournalToItsOwnOpenRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		job := cluster.Job{Shards: 1, TTL: cluster.DefaultTTL}
		opened, read, err := cluster.FollowWhileBeating(t.Context(), mem.New().Connect(), t.TempDir(), job, 3)
		if err != nil || read != opened {
			t.Errorf("read up to %d, the owner's record is %d: %v", read, opened, err)
		}
	})
}
