package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/job"
)

// ends is a program that does nothing, so that its job ends after the crawl.
func ends(json.RawMessage, *job.Config) error { return nil }

// nightly returns a schedule for a job that cannot begin, because the job has no contact.
func nightly(name, cron, zone string) Schedule {
	return Schedule{Name: name, Cron: cron, Zone: zone, Request: Request{Seeds: []string{"https://site.test/"}, Program: "ends"}}
}

func TestScheduleStartsJobsInItsTimeZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock of synctest starts at midnight UTC, 2000-01-01
		m := open(t, t.TempDir(), Config{Programs: map[string]Program{"ends": ends}})
		if err := m.Schedule(nightly("nightly", "30 4 * * *", "Europe/Vienna")); err != nil {
			t.Fatal(err)
		}
		if next := m.Schedules()[0].Next; !next.Equal(time.Date(2000, 1, 1, 3, 30, 0, 0, time.UTC)) {
			t.Errorf("next at %v", next)
		}
		for day := 1; day <= 3; day++ {
			time.Sleep(24 * time.Hour)
			synctest.Wait()
			if all := m.All(); len(all) != day || all[day-1].State != Failed {
				t.Fatalf("after %d days: %+v", day, all)
			}
		}
		if s := m.Schedules()[0]; s.Missed != 0 || s.Job != m.All()[2].ID {
			t.Errorf("%+v", s)
		}
		if err := m.Unschedule("nightly"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		if all := m.All(); len(all) != 3 {
			t.Errorf("%d jobs after it was removed", len(all))
		}
	})
}

// TestSchedulesWhenClocksAreSetForwardOrBack checks the times at which a schedule is due after another time, all by the clock of its zone.
func TestSchedulesWhenClocksAreSetForwardOrBack(t *testing.T) {
	for _, c := range []struct{ zone, cron, after, want string }{
		{"Europe/Vienna", "30 2 * * *", "2027-03-27 12:00", "28 03:00 CEST, 29 02:30 CEST"},
		{"Europe/Vienna", "30 2 * * *", "2027-10-30 12:00", "31 02:30 CET, 01 02:30 CET"},
		{"Europe/Vienna", "*/30 1-2 * * *", "2027-03-28 01:00", "28 01:30 CET, 28 03:00 CEST, 29 01:00 CEST"},
		{"Europe/Vienna", "0 3 * * *", "2027-03-27 12:00", "28 03:00 CEST, 29 03:00 CEST"},
		{"Europe/Vienna", "*/30 * * * *", "2027-03-28 01:00", "28 01:30 CET, 28 03:00 CEST, 28 03:30 CEST"},
		{"Europe/Vienna", "0 * * * *", "2027-10-31 01:00", "31 02:00 CEST, 31 02:00 CET, 31 03:00 CET"},
		{"America/New_York", "30 2 * * 0", "2027-03-13 12:00", "14 03:00 EDT, 21 02:30 EDT"},
		{"America/New_York", "30 1 * * *", "2027-11-06 12:00", "07 01:30 EDT, 08 01:30 EST"},
		{"Australia/Lord_Howe", "15 2 * * *", "2027-10-02 12:00", "03 02:30 +11, 04 02:15 +11"},
		{"Australia/Lord_Howe", "45 1 * * *", "2027-04-03 12:00", "04 01:45 +1030, 05 01:45 +1030"},
		{"Asia/Beirut", "@daily", "2027-03-27 12:00", "28 01:00 EEST, 29 00:00 EEST"},
		{"", "@every 90m", "2027-03-27 12:00", "27 13:30 UTC, 27 15:00 UTC"},
	} {
		s := nightly("x", c.cron, c.zone)
		at, err := s.parse()
		if err != nil {
			t.Fatal(err)
		}
		zone, _ := time.LoadLocation(c.zone) // parse has loaded it
		when, err := time.ParseInLocation("2006-01-02 15:04", c.after, zone)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range strings.Count(c.want, ",") + 1 {
			when = at.next(when).In(zone)
			got = append(got, when.Format("02 15:04 MST"))
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s in %s after %s: %s, want %s", c.cron, c.zone, c.after, got, c.want)
		}
	}
}

// A process that begins more often than a schedule is due does not keep its runs from starting.
func TestIntervalsDoNotBeginAnewWithAProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		c := Config{Programs: map[string]Program{"ends": ends}}
		m := open(t, dir, c)
		if err := m.Schedule(nightly("interval", "@every 24h", "")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			time.Sleep(15 * time.Hour)
			synctest.Wait()
			closeNow(t, m)
			m = open(t, dir, c)
		}
		if all := m.All(); len(all) != 1 {
			t.Errorf("%d jobs after 30 hours", len(all))
		}
	})
}

func TestScheduleLeavesOutRunsThatWouldOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notes []string
		m := open(t, t.TempDir(), Config{Running: 1, Programs: map[string]Program{"ends": ends}, Note: func(_, text string) { notes = append(notes, text) }})
		if err := m.Schedule(nightly("hourly", "@hourly", "")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		m.mu.Lock()
		m.jobs[m.timed["hourly"].Job].info.State = Paused // as if the job had been paused while it ran
		m.mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := m.Schedules()[0]; s.Missed != 1 || len(m.All()) != 1 || len(notes) != 1 || !strings.Contains(notes[0], "of the run before, is paused") {
			t.Errorf("%+v, %d jobs, notes %q", s, len(m.All()), notes)
		}
	})
}

func TestMissedRunsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var notes []string
		c := Config{Programs: map[string]Program{"ends": ends}, Note: func(_, text string) { notes = append(notes, text) }}
		m := open(t, dir, c)
		if err := m.Schedule(nightly("hourly", "@hourly", "")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		synctest.Wait()
		closeNow(t, m)
		path := filepath.Join(dir, schedulesName) // as if the process had been killed before it stored the start of the first run
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, bytes.Replace(b, []byte("2000-01-01T01:00:00Z"), []byte("2000-01-01T00:00:00Z"), 1), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour)
		m = open(t, dir, c)
		if s := m.Schedules()[0]; s.Missed != 3 || len(m.All()) != 1 || len(notes) != 1 || !strings.Contains(notes[0], "3 of its runs were due while nothing ran") {
			t.Errorf("%+v, %d jobs, notes %q", s, len(m.All()), notes)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(m.All()) != 2 {
			t.Errorf("%d jobs", len(m.All()))
		}
	})
}

// TestSundayIsAlsoSeven checks that 7 is Sunday, as in crontab(5), alone and at the end of a list.
func TestSundayIsAlsoSeven(t *testing.T) {
	for _, spec := range []string{"0 4 * * 7", "0 4 * * 7,0", "0 4 * * 0,7"} {
		s := nightly("x", spec, "")
		at, err := s.parse()
		if err != nil {
			t.Errorf("%s: %v", spec, err)
		} else if due := at.next(time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)); due.Day() != 29 {
			t.Errorf("%s: due at %v", spec, due)
		}
	}
}

func TestBadSchedulesAreRefused(t *testing.T) {
	m := open(t, t.TempDir(), Config{Programs: map[string]Program{"ends": ends}})
	for want, s := range map[string]Schedule{
		"needs a Name":           nightly("", "@daily", ""),
		"want minute, hour":      nightly("x", "every day", ""),
		"no time zone is called": nightly("x", "@daily", "Vienna"),
		"no time is ever":        nightly("x", "0 0 31 2 *", ""),
		"without seeds":          {Name: "x", Cron: "@daily"},
	} {
		if err := m.Schedule(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
	if err := m.Schedule(Schedule{Name: "x", Cron: "@daily", Request: Request{Key: "k"}}); err == nil || errors.Is(err, ErrKey) {
		t.Errorf("a request with a key: %v", err)
	}
}

// Schedules that would make the file too large to be read at the next start are refused, and leave those before as they were.
func TestSchedulesThatCannotBeReadAgainAreRefused(t *testing.T) {
	dir := t.TempDir()
	c := Config{Programs: map[string]Program{"ends": ends}}
	m := open(t, dir, c)
	small := nightly("x", "@daily", "")
	if err := m.Schedule(small); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "y"} {
		large := nightly(name, "@hourly", "")
		large.Request.Owner = strings.Repeat("y", 16<<20)
		if err := m.Schedule(large); err == nil || !strings.Contains(err.Error(), "schedules.json may have up to 16 MiB") {
			t.Errorf("%s: %v", name, err)
		}
	}
	closeNow(t, m)
	if all := open(t, dir, c).Schedules(); len(all) != 1 || all[0].Cron != small.Cron {
		t.Errorf("%d schedules", len(all))
	}
}

// A schedule whose removal cannot be stored would come back at the next start, so it stays.
func TestScheduleStaysIfItsRemovalCannotBeStored(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir, Config{Programs: map[string]Program{"ends": ends}})
	if err := m.Schedule(nightly("x", "@daily", "")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, schedulesName)
	if err := errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "full"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := m.Unschedule("x"); err == nil || len(m.Schedules()) != 1 {
		t.Errorf("%v, %d schedules", err, len(m.Schedules()))
	}
}

// If the machine sleeps, or its clock is set, a schedule follows the clock within a minute.
func TestSchedulesFollowTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, t.TempDir(), Config{Programs: map[string]Program{"ends": ends}})
		if err := m.Schedule(nightly("hourly", "@hourly", "")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		last := func(at time.Duration) { // as if the clock had been set by -at
			m.mu.Lock()
			defer m.mu.Unlock()
			m.timed["hourly"].Last = stamp().Add(at)
		}
		last(-5 * time.Hour)
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := m.Schedules()[0]; s.Missed != 4 || len(m.All()) != 1 {
			t.Errorf("after a leap: %+v, %d jobs", s, len(m.All()))
		}
		last(1000 * time.Hour)
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := m.Schedules()[0]; s.Missed != 4 || len(m.All()) != 2 {
			t.Errorf("after the clock was set back: %+v, %d jobs", s, len(m.All()))
		}
	})
}
