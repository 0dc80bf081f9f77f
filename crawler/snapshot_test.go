package crawler

import (
	"testing"
	"testing/synctest"
	"time"
)

// What the gate knows is stored after some time, or after many requests, however little time has passed.
func TestSnapshotsAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s snapshots
		s.taken(100)
		expect := func(requests int, want bool) {
			t.Helper()
			got := s.due(requests)
			if got != want {
				t.Errorf("%d requests: it is time: %v", requests, got)
			}
			if got {
				s.taken(requests)
			}
		}
		expect(99+snapshotRequests, false)
		expect(100+snapshotRequests, true)
		expect(101+snapshotRequests, false)
		time.Sleep(snapshotInterval)
		expect(102+snapshotRequests, true)
		expect(103+snapshotRequests, false)
	})
}
