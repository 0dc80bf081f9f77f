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

// TestAPermitEndsWithTheHours checks that if a request is admitted in the last second of the allowed hours, it cannot be sent after they
// have ended.
func TestAPermitEndsWithTheHours(t *testing.T) {
	for _, c := range []struct {
		hours Hours
		at    time.Duration // time of day
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

// TestHoursOfAZone checks that hours follow the local time of their zone, even on days on which daylight saving time begins or
// ends.
func TestHoursOfAZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	clock := func(s string) time.Duration {
		at, err := time.Parse("15:04", s)
		if err != nil {
			t.Fatal(err)
		}
		return at.Sub(midnight(at))
	}
	for _, c := range []struct{ from, to, at, opens, closes string }{
		{"22:00", "05:59", "01-01T12:00", "01-01T21:00", "01-02T05:00"},
		{"22:00", "05:59", "07-01T12:00", "07-01T20:00", "07-02T04:00"},
		{"22:00", "05:59", "07-01T20:00", "07-01T20:00", "07-02T04:00"},
		// Clocks are put forward on 26 March, from 2:00 to 3:00.
		{"02:10", "02:20", "03-25T01:30", "03-27T00:10", "03-27T00:21"},
		{"01:30", "02:30", "03-26T00:40", "03-26T00:40", "03-26T01:00"},
		{"01:30", "03:29", "03-26T00:40", "03-26T00:40", "03-26T01:30"},
		{"02:30", "04:00", "03-26T00:20", "03-26T01:00", "03-26T02:01"},
		{"22:00", "05:59", "03-25T20:00", "03-25T21:00", "03-26T04:00"},
		// Clocks are put back on 29 October, from 3:00 to 2:00.
		{"02:10", "02:20", "10-28T12:00", "10-29T00:10", "10-29T00:21"},
		{"02:10", "02:20", "10-29T00:30", "10-29T01:10", "10-29T01:21"},
		{"22:00", "02:30", "10-28T22:00", "10-28T22:00", "10-29T00:31"},
		{"22:00", "02:30", "10-29T00:40", "10-29T01:00", "10-29T01:31"},
		{"22:00", "05:59", "10-28T12:00", "10-28T20:00", "10-29T05:00"},
		{"00:00", "23:59", "10-29T00:30", "10-29T00:30", "10-29T23:00"},
	} {
		inBubble(t, func(t *testing.T) {
			utc := func(s string) time.Time {
				at, err := time.Parse(time.RFC3339, "2000-"+s+":00Z")
				if err != nil {
					t.Fatal(err)
				}
				return at
			}
			time.Sleep(time.Until(utc(c.at)))
			b := newClient(t, Config{Hours: Hours{{From: clock(c.from), To: clock(c.to), Zone: berlin}}, PermitTTL: 72 * time.Hour})
			opens := time.Now()
			if c.opens != c.at {
				opens = b.wait("https://a.test/", someAddr).Until
			}
			if !opens.Equal(utc(c.opens)) {
				t.Fatalf("%s-%s at %s opens at %v, want %s", c.from, c.to, c.at, opens.UTC(), c.opens)
			}
			time.Sleep(time.Until(opens))
			if p := b.must("https://a.test/"); !p.Expires().Equal(utc(c.closes).Add(-1)) {
				t.Errorf("%s-%s at %s closes at %v, want %s", c.from, c.to, c.at, p.Expires().UTC().Add(1), c.closes)
			}
		})
	}
}
