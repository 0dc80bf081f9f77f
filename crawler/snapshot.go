package crawler

import "time"

// What the gate knows is stored this often. What happens in between is in the ledger, which a process that resumes the
// crawl reads: to bound that, it is also due after this many requests, whatever the time.
const (
	snapshotInterval = 10 * time.Second
	snapshotRequests = 10_000 // reading their lines, and the robots.txt files, again takes about a tenth of a second
)

// snapshots decides when to store what the gate knows.
type snapshots struct {
	next     time.Time
	requests int // made when it was stored last
}

// due reports whether it is time. requests is the number of requests made so far.
func (s *snapshots) due(requests int) bool {
	return !time.Now().Before(s.next) || requests-s.requests >= snapshotRequests
}

// taken notes that it is stored now.
func (s *snapshots) taken(requests int) {
	s.next, s.requests = time.Now().Add(snapshotInterval), requests
}
