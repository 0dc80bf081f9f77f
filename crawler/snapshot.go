package crawler

import (
	"time"

	"github.com/amble-crawler/amble/politeness"
)

// snapshotInterval is the least time between two snapshots of the gate. A large one, which takes
// long, is taken more rarely still: at most a hundredth of the time goes into them. What happens in
// between is in the ledger.
const (
	snapshotInterval = 10 * time.Second
	snapshotShare    = 100
)

// snapshots decides when to take one.
type snapshots struct{ next time.Time }

// take is a snapshot, nil if it is too early for one.
func (s *snapshots) take(g *politeness.Gate, now bool) []byte {
	start := time.Now()
	if !now && start.Before(s.next) {
		return nil
	}
	b := g.Snapshot()
	end := time.Now()
	s.next = end.Add(max(snapshotInterval, snapshotShare*end.Sub(start)))
	return b
}
