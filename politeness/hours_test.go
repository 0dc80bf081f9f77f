package politeness

import (
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

func TestHours(t *testing.T) {
	inBubble(t, func(t *testing.T) { // a bubble begins at midnight UTC
		b := newClient(t, Config{Hours: Hours{{From: 2 * time.Hour, To: 3 * time.Hour}, {From: 22 * time.Hour, To: 23 * time.Hour}}})
		if w := b.wait("https://a.test/", someAddr); time.Until(w.Until) != 2*time.Hour || w.Clauses[0].Name != ledger.ClauseQuiet {
			t.Fatalf("got %v", w)
		}
		time.Sleep(2 * time.Hour)
		b.rules("https://a.test/", "User-agent: *\nDisallow:\nVisit-time: 0600-0700\n")
		time.Sleep(time.Second)
		b.must("https://a.test/")
		time.Sleep(90 * time.Minute)
		if w := b.wait("https://b.test/", someAddr); w.Until.UTC().Hour() != 22 {
			t.Errorf("got %v", w)
		}
	})
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{VisitTime: true})
		b.rules("https://a.test/", "User-agent: *\nDisallow:\nVisit-time: 0600-0700\n")
		if w := b.wait("https://a.test/", someAddr); w.Until.UTC().Hour() != 6 {
			t.Errorf("got %v", w)
		}
	})
}

// TestAPermitEndsWithTheHours: what is admitted in the last second must not be sent in the next hour.
func TestAPermitEndsWithTheHours(t *testing.T) {
	for _, c := range []struct {
		hours Hours
		at    time.Duration // of the day
		left  time.Duration
	}{
		{Hours{{From: 2 * time.Hour, To: 3 * time.Hour}}, 3*time.Hour + 50*time.Second, 10*time.Second - 1},
		{Hours{{From: 22 * time.Hour, To: time.Hour}}, time.Hour + 45*time.Second, 15*time.Second - 1},
		{Hours{{From: 22 * time.Hour, To: time.Hour}}, 23*time.Hour + 59*time.Minute + 59*time.Second, DefaultPermitTTL},
		{Hours{{From: 0, To: time.Hour}, {From: time.Hour, To: 2 * time.Hour}}, time.Hour + 59*time.Second, DefaultPermitTTL},
		{Hours{{}}, 5 * time.Hour, DefaultPermitTTL},
		{nil, 5 * time.Hour, DefaultPermitTTL},
	} {
		inBubble(t, func(t *testing.T) {
			time.Sleep(c.at)
			p := newClient(t, Config{Hours: c.hours}).must("https://a.test/")
			if left := time.Until(p.Expires()); left != c.left {
				t.Errorf("%v at %v: expires in %v, want %v", c.hours, c.at, left, c.left)
			}
		})
	}
}

func TestAPermitEndsWithTheSitesHours(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newClient(t, Config{VisitTime: true})
		b.ready("https://a.test/", "User-agent: *\nVisit-time: 0000-0005\n")
		time.Sleep(5*time.Minute + 50*time.Second)
		if left := time.Until(b.must("https://a.test/").Expires()); left >= 10*time.Second {
			t.Errorf("expires in %v", left)
		}
	})
}
