package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/jsonl"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
)

// fill runs queued jobs up to the maximum number.
func (m *Manager) fill() {
	for !m.closed && m.running < m.config.Running {
		var next *entry
		for _, e := range m.jobs {
			if e.info.State == Queued && (next == nil || e.info.Priority > next.info.Priority || e.info.Priority == next.info.Priority && byTime(e, next) < 0) {
				next = e
			}
		}
		if next == nil {
			return
		}
		m.running++
		next.info.State, next.info.Started, next.info.Error, next.stop = Running, stamp(), "", make(chan struct{})
		next.wake()
		m.runs.Go(func() { m.run(next) })
	}
}

// halt tells a running job to stop.
func (e *entry) halt() {
	if e.stop != nil && !e.halted() {
		close(e.stop)
	}
}

// halted reports whether a running job was told to stop.
func (e *entry) halted() bool {
	select {
	case <-e.stop:
		return true
	default:
		return false
	}
}

// run runs a job, and records its outcome.
func (m *Manager) run(e *entry) {
	rep, err := m.crawl(e)
	m.mu.Lock()
	defer m.mu.Unlock()
	i, halted := &e.info, e.halted()
	if rep != nil {
		i.Finish, i.Pages, i.Requests, i.Left = rep.Finish, rep.Pages, rep.Requests, rep.Left
	}
	switch {
	case halted && (rep == nil || rep.Finish == crawler.FinishDrained || rep.Finish == crawler.FinishCanceled):
		i.State = cmp.Or(e.asked, Queued)
	case errors.Is(err, job.ErrSpace), rep != nil && rep.Finish == crawler.FinishMinFree:
		i.State, i.Error = Stopped, "the disk has too little space left"
	case err != nil:
		i.State, i.Error = Failed, err.Error()
	default:
		i.State = Done
	}
	i.Ended, e.stop, e.crawl, e.asked = stamp(), nil, nil, ""
	m.owe(e)
	m.running--
	if err := m.save(e); err != nil {
		m.note(i.ID, err.Error())
	}
	m.fill()
}

// crawl starts or resumes the crawl of a job, and runs it. The report is nil if it could not start.
func (m *Manager) crawl(e *entry) (*crawler.Report, error) {
	c, err := m.configure(&e.info.Request)
	if err != nil {
		return nil, err
	}
	m.restrain(&c)
	c.State = m.config.State
	c.Note = func(text string) { m.note(e.info.ID, text) }
	c.Crawl.Trace = crawler.JoinTraces(c.Crawl.Trace, &crawler.Trace{Committed: func(t crawler.Commit) {
		if t.Err == nil && t.Visits > 0 {
			m.mu.Lock()
			defer m.mu.Unlock()
			e.lines += int64(t.Visits)
			e.wake()
		}
	}})
	j, err := job.Start(e.info.Dir, c, e.info.Seeds...)
	if errors.Is(err, job.ErrFinished) { // the process before was killed between the job's end and the record of it
		return finished(e.info.Dir)
	}
	if err != nil {
		return nil, err
	}
	for _, text := range j.Notes() {
		m.note(e.info.ID, text)
	}
	lines, err := countLines(e.info.Dir) // counted anew: job.Start has cut the file back to the last commit
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	m.mu.Lock()
	e.lines, e.crawl = lines, j.Crawler()
	m.mu.Unlock()
	over, watched := make(chan struct{}), sync.WaitGroup{}
	watched.Go(func() { drain(j, e.stop, over) })
	rep, err := j.Run(m.ctx)
	close(over)
	watched.Wait()
	if err == nil {
		err = j.Upload(m.ctx)
	}
	return rep, errors.Join(err, j.Close())
}

// drain ends the crawl of a job in good order once stop is closed.
func drain(j *job.Job, stop, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-stop:
	}
	_ = j.Drain() // draining takes effect even if it cannot be recorded
	for {
		select {
		case <-over:
			return
		case <-time.After(10 * time.Millisecond):
			j.Crawler().Drain() // again, because the crawl may not have been running the first time
		}
	}
}

// restrain limits a job to its share of the resources.
func (m *Manager) restrain(c *job.Config) {
	x, n := &c.Crawl, m.config.Running
	if share := max(1, m.config.Concurrency/n); m.config.Concurrency > 0 && (x.Concurrency == 0 || x.Concurrency > share) {
		x.Concurrency = share
	}
	if share := max(1, m.config.InFlight/int64(n)); m.config.InFlight > 0 && (x.Limits.InFlight == 0 || x.Limits.InFlight > share) {
		x.Limits.InFlight = share
	}
	if all := 4 * politeness.DefaultMaxRulesBytes; n > 4 && x.Politeness.MaxRulesBytes == 0 { // together, all jobs get as much as four
		x.Politeness.MaxRulesBytes = politeness.Limit(all / n)
	}
	c.Parallel = n
}

// finished returns the report of a completed job.
func finished(dir string) (*crawler.Report, error) {
	r, err := job.Read(dir)
	if err != nil {
		return nil, err
	}
	rep, err := r.Report()
	return rep, errors.Join(err, r.Close())
}

// countLines counts the final visits of a job.
func countLines(dir string) (n int64, err error) {
	r, err := job.Read(dir)
	if errors.Is(err, job.ErrNoJob) || errors.Is(err, fs.ErrNotExist) { // the crawl has not begun
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Close() }() // only read, so an error of closing loses nothing
	committed, err := r.Committed()
	if err != nil {
		return 0, err
	}
	err = eachLine(committed, 0, func([]byte) bool { n++; return true })
	return n, err
}

// eachLine calls f with the lines of visits from a byte offset on, until f returns false. A line is valid until f returns.
func eachLine(r *job.Reader, from int64, f func(line []byte) bool) error {
	c, err := r.Open(job.VisitsName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // only read, so an error of closing loses nothing
	if _, err := c.Seek(from, io.SeekStart); err != nil {
		return err
	}
	if err := jsonl.Lines(c, func(_ int, line []byte) bool { return f(line) }); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(r.Dir(), job.VisitsName), err)
	}
	return nil
}
