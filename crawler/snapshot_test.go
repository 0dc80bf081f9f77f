package crawler

import (
	"testing"
	"testing/synctest"
	"time"
)

// The gate's state is stored after some time, or after many requests, even within a short time.
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

// The gate's state is stored even if no visit has ended: after each request with Commits.Gate, otherwise after many
// requests, because a million robots.txt files may come before the first visit.
func TestGateIsStoredBeforeTheFirstVisit(t *testing.T) {
	for _, test := range []struct {
		gate     bool
		requests int
		want     bool
	}{{true, 0, false}, {true, 1, true}, {false, 1, false}, {false, snapshotRequests - 1, false}, {false, snapshotRequests, true}} {
		m := newCommitter(nil, &output{}, nil)
		m.how.Gate = test.gate
		m.checkpoint = &checkpoint{tally: &tally{}}
		m.checkpoint.tally.r.Requests = 7 + test.requests
		m.snapshot.requests = 7
		if m.due(false) || m.due(true) != test.want {
			t.Errorf("%+v: wrong result of due", test)
		}
	}
}

// While nothing happens, the committer does not wake up.
func TestNothingWakesTheCommitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newCommitter(nil, &output{}, nil)
		m.how.Interval = time.Second
		m.checkpoint = nil // any attempt to commit panics
		ended := make(chan bool)
		go func() { ended <- m.await() }()
		time.Sleep(time.Hour)
		close(m.quit)
		if <-ended {
			t.Error("a commit was due")
		}
	})
}
