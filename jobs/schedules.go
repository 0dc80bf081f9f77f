package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/amble-crawler/amble/internal/safefile"
)

const (
	schedulesName = "schedules.json"
	mostMissed    = 1000 // maximum number of missed runs that are counted after a time without a process
)

// Schedule starts a job repeatedly. A run is skipped while the job of the previous run has not ended, or if no process had the
// directory open when it was due.
type Schedule struct {
	Name string `json:"name"`
	// Cron has five fields, as in crontab(5): minute, hour, day of the month, month, day of the week; or a word such as @daily. Zone is
	// its time zone, such as Europe/Vienna; "": UTC. A run whose time the clocks there skip starts when they are set forward.
	Cron    string  `json:"cron"`
	Zone    string  `json:"zone,omitempty"`
	Request Request `json:"request"` // Request.Key must be ""
	// The Manager sets the fields below: the time up to which runs were started or skipped, the number of skipped runs, and the ID of
	// the last job.
	Last   time.Time `json:"last,omitzero"`
	Missed int       `json:"missed,omitempty"`
	Job    string    `json:"job,omitempty"`
	Next   time.Time `json:"-"` // when the next run is due
}

// timed is a schedule in memory.
type timed struct {
	Schedule
	cron cron.Schedule
}

// sunday matches a 7 in the day of the week, together with what precedes it. Package cron knows Sunday only as 0.
var sunday = regexp.MustCompile(`^((?:\S+\s+){4}(?:\S+,)?)7\b`)

// parse parses the times at which a schedule is due.
func (s *Schedule) parse() (*timed, error) {
	zone := s.Zone
	if zone == "" {
		zone = "UTC"
	}
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		return nil, fmt.Errorf("jobs: schedule %s: no time zone is called %q: want a name such as Europe/Vienna", s.Name, zone)
	}
	at, err := cron.ParseStandard("CRON_TZ=" + zone + " " + sunday.ReplaceAllString(s.Cron, "${1}0"))
	if err != nil {
		return nil, fmt.Errorf("jobs: schedule %s: %w: want minute, hour, day of the month, month and day of the week, such as \"30 4 * * 1\"", s.Name, err)
	}
	if at.Next(time.Now()).IsZero() {
		return nil, fmt.Errorf("jobs: schedule %s: no time is ever %q", s.Name, s.Cron)
	}
	return &timed{*s, at}, nil
}

// next returns the first time after another at which the schedule is due. A time that the clocks of its zone skip is that of their
// change, and one that they repeat counts once, unless the schedule has every hour.
func (t *timed) next(after time.Time) time.Time {
	const everyHour = 1<<24 - 1
	due := t.cron.Next(after)
	spec, fields := t.cron.(*cron.SpecSchedule)
	if !fields || spec.Hour&everyHour == everyHour {
		return due
	}
	clock := *spec
	clock.Location = time.UTC
	w := clock.Next(onClock(after.In(spec.Location)))
	at := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), 0, 0, spec.Location)
	switch start, end := at.ZoneBounds(); onClock(at).Compare(w) {
	case -1:
		at = end
	case 1:
		at = start
	}
	if !at.After(after) {
		return due
	}
	return at
}

// onClock returns the time in UTC at which clocks show what those of the zone of t show at t.
func onClock(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.Add(time.Duration(offset) * time.Second).UTC()
}

// Schedule stores a schedule, replacing one with the same name. The first run is at its next due time.
func (m *Manager) Schedule(s Schedule) error {
	if s.Name == "" || s.Request.Key != "" {
		return errors.New("jobs: a schedule needs a Name, and its Request no Key: each run has its own")
	}
	if _, err := m.configure(&s.Request); err != nil {
		return err
	}
	s.Last, s.Missed, s.Job = stamp(), 0, ""
	t, err := s.parse()
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	all := maps.Clone(m.timed)
	all[s.Name] = t
	return m.setSchedules(all)
}

// Unschedule removes a schedule. Jobs that it started are not affected. An unknown name is not an error.
func (m *Manager) Unschedule(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	all := maps.Clone(m.timed)
	delete(all, name)
	return m.setSchedules(all)
}

// setSchedules stores and uses new schedules. After an error the old ones remain.
func (m *Manager) setSchedules(all map[string]*timed) error {
	before := m.timed
	m.timed = all
	if err := m.saveSchedules(); err != nil {
		m.timed = before
		return err
	}
	m.setAlarm()
	return nil
}

// Schedules returns all schedules, by name.
func (m *Manager) Schedules() []Schedule {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := []Schedule{}
	for _, name := range slices.Sorted(maps.Keys(m.timed)) {
		t := m.timed[name]
		s := t.Schedule
		s.Next = t.next(s.Last).UTC()
		all = append(all, s)
	}
	return all
}

func (m *Manager) saveSchedules() error {
	all := []Schedule{}
	for _, name := range slices.Sorted(maps.Keys(m.timed)) {
		all = append(all, m.timed[name].Schedule)
	}
	return write(filepath.Join(m.dir, schedulesName), all)
}

// loadSchedules reads the schedules. Runs that were due while no process had the directory open count as skipped.
func (m *Manager) loadSchedules() error {
	path := filepath.Join(m.dir, schedulesName)
	b, err := safefile.Read(path, safefile.Settings)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var all []Schedule
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		return fmt.Errorf("jobs: %s: %w", path, err)
	}
	for i := range all {
		t, err := all[i].parse()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		m.timed[t.Name] = t
		m.leaveOut(t, t.Last, stamp())
	}
	return nil
}

// leaveOut counts the runs that were due after one time up to another as left out.
func (m *Manager) leaveOut(t *timed, after, now time.Time) {
	missed := 0
	t.Last = after // not now, from which an interval would begin anew
	for due := t.next(after); !due.After(now); due = t.next(due) {
		if t.Last = due; missed == mostMissed {
			t.Last = now
			break
		}
		if m.keys[t.key(due)] == nil {
			missed++
		}
	}
	if t.Missed += missed; missed > 0 {
		m.note("", fmt.Sprintf("schedule %s: %d of its runs were due while nothing ran: they are left out", t.Name, missed))
	}
}

// key returns the key of the job of a run.
func (t *timed) key(due time.Time) string {
	return "schedule " + t.Name + " " + due.UTC().Format(time.RFC3339)
}

// setAlarm sets the alarm for the next schedule that is due.
func (m *Manager) setAlarm() {
	m.alarm.Stop()
	var first time.Time
	for _, t := range m.timed {
		if due := t.next(t.Last); first.IsZero() || due.Before(first) {
			first = due
		}
	}
	if !first.IsZero() && !m.closed {
		m.alarm.Reset(min(time.Until(first), time.Minute)) // timers stand still while the machine sleeps, and do not follow its clock
	}
}

// ring starts the jobs of all schedules that are due.
func (m *Manager) ring() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	now, changed := stamp(), false
	for _, t := range m.timed {
		if t.Last.After(now.Add(time.Hour)) { // the clock was set back
			t.Last = now
		}
		due := t.next(t.Last)
		if due.After(now) {
			continue
		}
		changed = true
		m.leaveOut(t, due, now)
		q := t.Request
		q.Key = t.key(due)
		var info Info
		var err error
		if before := m.jobs[t.Job]; before != nil && !before.info.State.Ended() {
			err = fmt.Errorf("job %s, of the run before, is %s", t.Job, before.info.State)
		} else {
			info, err = m.start(q)
		}
		if err != nil {
			t.Missed++
			m.note("", fmt.Sprintf("schedule %s: its run of %s is left out: %v", t.Name, due.Format(time.RFC3339), err))
			continue
		}
		t.Job = info.ID
	}
	if changed {
		if err := m.saveSchedules(); err != nil {
			m.note("", err.Error())
		}
	}
	m.setAlarm()
}
