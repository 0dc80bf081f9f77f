package crawler

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/politeness"
)

// Snapshots are taken after some time, or after many requests, however little time has passed.
func TestSnapshotsAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := politeness.NewGate(politeness.Config{Contactless: true, Identity: politeness.Identity{Product: "testbot", Version: "1"}})
		if err != nil {
			t.Fatal(err)
		}
		s := snapshots{next: time.Now().Add(snapshotInterval), requests: 100}
		expect := func(requests int, last, want bool) {
			t.Helper()
			if got := s.take(g, requests, last) != nil; got != want {
				t.Errorf("%d requests: a snapshot is taken: %v", requests, got)
			}
		}
		expect(99+snapshotRequests, false, false)
		expect(100+snapshotRequests, false, true)
		expect(101+snapshotRequests, false, false)
		time.Sleep(snapshotInterval)
		expect(102+snapshotRequests, false, true)
		expect(103+snapshotRequests, false, false)
		expect(103+snapshotRequests, true, true)
	})
}
