package recrawl_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/amble-crawler/amble/job/recrawl"
)

// drive runs a schedule for some days. It calls found for each visit to report what the visit finds, and returns the times of visits.
func drive(s *recrawl.Schedule, from, days float64, found func(i int, now time.Time)) (visits []time.Time) {
	for now, end := at(from), at(from+days); now.Before(end); {
		i, wait := s.Next(now)
		if i < 0 {
			if now = wait; !wait.After(at(0)) {
				panic("no time to wait for")
			}
			continue
		}
		visits = append(visits, now)
		found(i, now)
	}
	return visits
}

func TestScheduleKeepsTheBudget(t *testing.T) {
	s := recrawl.New(recrawl.Config{Budget: 100, Solve: day})
	for i := range 1000 {
		s.Add(fmt.Sprint("/", i), at(0))
	}
	visits := drive(s, 0, 30, func(i int, now time.Time) { s.Visit(i, now, i%3 == 0, 0) })
	if len(visits) < 2400 || len(visits) > 2551 {
		t.Errorf("%d visits in 30 days with 85 a day for pages that are known", len(visits))
	}
	for i := 86; i < len(visits); i++ {
		if d := visits[i].Sub(visits[i-86]); d < day {
			t.Fatalf("87 visits within %v", d)
		}
	}
}

// While a visit of a page is in progress, the schedule does not name the page again.
func TestScheduleNamesAPageOnce(t *testing.T) {
	s := recrawl.New(recrawl.Config{Budget: 1000})
	s.Add("/a", at(0))
	s.Add("/b", at(0))
	seen := map[int]int{}
	drive(s, 0, 10, func(i int, _ time.Time) { seen[i]++ })
	if seen[0] != 1 || seen[1] != 1 {
		t.Errorf("visits without an outcome: %v", seen)
	}
	s.Failed(0, at(10))
	drive(s, 10, 1, func(i int, now time.Time) {
		if seen[i]++; i == 0 {
			s.Gone(0, now)
		}
	})
	if seen[0] < 2 || seen[1] != 1 {
		t.Errorf("after a failure: %v", seen)
	}
}

// No page is visited more often than Config.Shortest allows, even with a large budget, and every page is visited again at some time.
func TestScheduleBounds(t *testing.T) {
	s := recrawl.New(recrawl.Config{Budget: 100_000, Shortest: 2 * time.Hour})
	for i := range 10 {
		s.Add(fmt.Sprint("/", i), at(0))
	}
	last := map[int]time.Time{}
	drive(s, 0, 3, func(i int, now time.Time) {
		if l, ok := last[i]; ok && now.Sub(l) < 2*time.Hour {
			t.Fatalf("page %d after %v", i, now.Sub(l))
		}
		last[i] = now
		s.Visit(i, now, true, 0)
	})
	s = recrawl.New(recrawl.Config{Budget: 10, Solve: day})
	for i := range 20 {
		s.Add(fmt.Sprint("/", i), at(0))
	}
	visits := map[int]int{}
	drive(s, 0, 365, func(i int, now time.Time) {
		visits[i]++
		if i == 0 { // page 0 has changed at each visit
			s.Visit(i, now, true, time.Minute)
			return
		}
		s.Visit(i, now, visits[i]%2 == 0, 0)
	})
	for i := range 20 {
		if visits[i] < 2 {
			t.Errorf("page %d was visited %d times in a year", i, visits[i])
		}
	}
	if p := s.Page(0); !p.TooFast || visits[0] > visits[1] {
		t.Errorf("a page that changes at every visit: %+v, %d visits of %d of another", p, visits[0], visits[1])
	}
	if p := s.Page(1); p.TooFast {
		t.Errorf("a page that changes now and then: %+v", p)
	}
}

// A page that is gone is visited as rarely as possible. When it exists again, it is visited often again.
func TestScheduleGone(t *testing.T) {
	s := recrawl.New(recrawl.Config{Budget: 10, Solve: day})
	for i := range 20 {
		s.Add(fmt.Sprint("/", i), at(0))
	}
	gone := 0
	drive(s, 0, 200, func(i int, now time.Time) {
		if i == 3 {
			gone++
			s.Gone(i, now)
			return
		}
		s.Visit(i, now, false, 0)
	})
	if gone < 1 || gone > 10 || !s.Page(3).Gone {
		t.Errorf("a page that is gone: %d visits, %+v", gone, s.Page(3))
	}
}

// Signals that prove right are trusted after some trials: the signaled page is then visited at once. Wrong signals are not trusted.
func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		name  string
		right bool
	}{{"right", true}, {"wrong", false}} {
		s := recrawl.New(recrawl.Config{Budget: 10, Solve: day})
		for i := range 200 {
			s.Add(fmt.Sprint("/", i), at(0))
		}
		announced := map[int]bool{}
		for i := range 60 {
			s.Announce(i, at(1))
			announced[i] = true
		}
		drive(s, 2, 40, func(i int, now time.Time) {
			s.Visit(i, now, announced[i] && tt.right, 0)
			announced[i] = false
		})
		if got := s.Signals().Believed(); got != tt.right {
			t.Errorf("%s: %+v believed: %t", tt.name, s.Signals(), got)
		}
		s.Announce(199, at(41.9))
		var first []int
		drive(s, 42, 0.5, func(i int, now time.Time) {
			first = append(first, i)
			s.Visit(i, now, true, 0)
		})
		if soon := len(first) > 0 && first[0] == 199; soon != tt.right {
			t.Errorf("%s: after a signal of page 199 these are visited: %v", tt.name, first)
		}
	}
	var s recrawl.Signals
	if s.Believed() || s.Silent() != 1 {
		t.Errorf("without a trial: %+v", s)
	}
	s = recrawl.Signals{Right: 98, Missed: 0, Wrong: 2}
	if s.Silent() > 0.05 || s.Precision() < 0.9 {
		t.Errorf("silent %v, precision %v", s.Silent(), s.Precision())
	}
}

// A signal that is older than the last visit of the page is ignored.
func TestOldSignal(t *testing.T) {
	s := recrawl.New(recrawl.Config{Budget: 10})
	s.Add("/", at(5))
	s.Announce(0, at(4))
	s.Visit(0, at(6), false, 0)
	if got := s.Signals(); got != (recrawl.Signals{}) {
		t.Errorf("an old signal was judged: %+v", got)
	}
}

// Pages that are generated for each visit have a Last-Modified of a moment ago. Their siblings must not seem to change every minute.
func TestPagesOfTheMoment(t *testing.T) {
	s, now := recrawl.New(recrawl.Config{Budget: 60}), at(0)
	for i := range 24 {
		s.Add(fmt.Sprint("/", i), now)
	}
	for visit := range 6 {
		now = now.Add(12 * time.Hour)
		for i := range 24 {
			if i < 8 {
				s.Visit(i, now, true, time.Minute)
			} else {
				s.Visit(i, now, visit%3 == i%3, 0)
			}
		}
	}
	late := s.Add("/late", now)
	s.Next(now)
	for i := range s.Len() {
		if p := s.Page(i); i == late && p.Rate > 24 || i >= 8 && p.TooFast {
			t.Errorf("page %d: %+v", i, p)
		}
	}
}

// Some visits are distributed evenly over all pages. A page that changes too fast to follow still gets its share of these.
func TestScheduleForgetsNoPage(t *testing.T) {
	s, now := recrawl.New(recrawl.Config{Budget: 10}), at(0)
	for i := range 20 {
		s.Add(fmt.Sprint("/", i), now)
	}
	for visit := range 8 {
		now = now.Add(day)
		for i := range 20 {
			if i < 4 {
				s.Visit(i, now, true, time.Minute)
			} else {
				s.Visit(i, now, visit%3 == i%3, 0)
			}
		}
	}
	s.Next(now)
	least := 0.03 * s.Revisits() / 20
	for i := range 20 {
		if p := s.Page(i); p.TooFast != (i < 4) || p.Frequency < least*0.99 || p.TooFast && p.Frequency > least*1.01 {
			t.Errorf("page %d: %+v; at least %.4f visits a day", i, p, least)
		}
	}
}

// A signal has an effect once, and only if it announces a change after the last visit.
func TestSignalsAreNewsOnce(t *testing.T) {
	s := recrawl.New(recrawl.Config{Budget: 10})
	s.Add("/", at(1))
	if listed, announced := s.Signal(0); listed || announced {
		t.Error("nothing is known of a page")
	}
	if s.Announce(0, at(1)) || s.Announce(0, at(0.5)) {
		t.Error("what changed before the last visit is news")
	}
	if listed, announced := s.Signal(0); !listed || announced {
		t.Error("a change before the last visit is announced")
	}
	if !s.Announce(0, at(2)) || s.Announce(0, at(2)) {
		t.Error("what is announced is not news once")
	}
	s.Visit(0, at(3), true, 0)
	if listed, announced := s.Signal(0); !listed || announced || s.Signals().Right != 1 {
		t.Errorf("after the visit: %v, %v, %+v", listed, announced, s.Signals())
	}
}
