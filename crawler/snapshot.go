package crawler

import (
	"time"

	"github.com/amble-crawler/amble/politeness"
)

// snapshotInterval is the least time between two snapshots of the gate. A large one, which takes
// long, is taken less often: at most a hundredth of the time goes into them. What happens in
// between is in the ledger, and a process that resumes the crawl reads it: so after so many requests a snapshot is
// taken all the same.
const (
	snapshotInterval = 10 * time.Second
	snapshotShare    = 100
	snapshotRequests = 10_000 // their lines, and robots.txt files, are read again in a tenth of a second or so
)

// snapshots decides when to take one.
type snapshots struct {
	next     time.Time
	requests int // made when the last one was taken
}

// take is a snapshot, nil if it is too early for one. requests is how many have been made.
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
