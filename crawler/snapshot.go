package crawler

import (
	"time"

	"github.com/amble-crawler/amble/politeness"
)

// snapshotInterval is the least time between two snapshots of the gate. Large snapshots, which take long,
// are taken less often: at most a hundredth of the time is spent on them. What happens between snapshots is
// in the ledger, which a process that resumes the crawl reads: to bound that, a snapshot is also due after
// this many requests, whatever the time.
const (
	snapshotInterval = 10 * time.Second
	snapshotShare    = 100
	snapshotRequests = 10_000 // reading their lines, and the robots.txt files, again takes about a tenth of a second
)

// snapshots decides when to take a snapshot.
type snapshots struct {
	next     time.Time
	requests int // requests made when the last one was taken
}

// take returns a snapshot, nil if it is too early for one. requests is the number of requests made so far.
func (s *snapshots) take(g *politeness.Gate, requests int, now bool) []byte {
	start := time.Now()
	if !now && start.Before(s.next) && requests-s.requests < snapshotRequests {
		return nil
	}
	b := g.Snapshot()
	end := time.Now()
	s.next, s.requests = end.Add(max(snapshotInterval, snapshotShare*end.Sub(start))), requests
	return b
}
