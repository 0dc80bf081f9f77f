// Package jobs runs many crawls in one process. A [Manager] keeps them in a directory, runs a few at a time, and resumes them after a
// restart, even after kill -9. All crawls share the clocks of hosts, so together they are as polite as one.
//
//	m, err := jobs.Open("data", jobs.Config{Running: 20})
//	…
//	info, err := m.Start(jobs.Request{Key: "customer 7", Seeds: []string{"https://site.to.crawl/"}, Settings: map[string]any{"contact": contact}})
//	for result, err := range m.Results(ctx, info.ID, 0) {
//		…
//	}
//
// A job is a directory below the Manager's: job.json describes it ([Info]), and job/ is the directory of package job, which its readers
// and the command amble can read.
package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/durable"
	"github.com/amble-crawler/amble/internal/filelock"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/openfiles"
)

const (
	// defaultRunning is the default of Config.Running.
	defaultRunning = 4
	// defaultQueued is the default of Config.Queued.
	defaultQueued = 10_000

	lockName  = "lock"
	infoName  = "job.json"
	jobDir    = "job"
	newPrefix = ".new-" // prefix of directories that are being made or removed
)

var (
	// ErrNoJob is wrapped by the error for an unknown ID.
	ErrNoJob = errors.New("jobs: no such job")
	// ErrHeld is wrapped by the error of Open for a directory that another process has opened.
	ErrHeld = errors.New("jobs: another process runs the jobs of this directory")
	// ErrKey is wrapped by the error of Start if a different request has used the key.
	ErrKey = errors.New("jobs: another request has this key")
	// ErrFull is wrapped by the error of Start if too many jobs are queued.
	ErrFull = errors.New("jobs: the queue is full")
	// ErrState is wrapped by the error for an operation that the state of a job does not allow.
	ErrState = errors.New("jobs: not possible in this state")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("jobs: closed")
)

// Program sets fields of c that settings cannot express, such as a Handler, before a job runs. args is from its [Request]. It is called
// each time the job is started or resumed. An error fails the job.
type Program func(args json.RawMessage, c *job.Config) error

// Config configures a Manager. The zero value is usable.
type Config struct {
	// Running is the number of jobs that run at a time; 0: 4.
	Running int
	// Queued limits the jobs in the queue; 0: 10,000.
	Queued int
	// Concurrency limits the requests in flight of all jobs together, and InFlight the bytes of memory for their pages. Each job gets
	// an equal share, but at least one request. 0: the settings of each job apply. If more than four jobs run, they share the memory
	// that four have for queues and robots.txt files. All jobs always share the process's limit on open files.
	Concurrency int
	InFlight    int64
	// Programs are the programs that requests may name.
	Programs map[string]Program
	// Check, if set, is called after the program, each time a job is configured: when it is requested, and when it runs. It may change
	// c. An error refuses the request, or fails a job that was about to run.
	Check func(q Request, c *job.Config) error
	// Send, if set, sends an [Event] in JSON to a webhook of a request; nil: no webhook is called. It is called again, after delays of
	// 10 s to 1 h, even by later processes, until it returns no error, for at most 24 h: delivery is at least once. It may be
	// called concurrently, but not for the same webhook; it must return soon after its context ends.
	Send func(ctx context.Context, url string, event []byte) error
	// State is the directory through which all processes of the user take turns at hosts: see [job.Config.State].
	State string
	// Note is called with messages for the operator: about a job, or with the ID "" about all jobs. It is called concurrently. It may
	// be nil.
	Note func(id, text string)
}

// Manager runs the jobs of a directory. Its methods are safe for concurrent use.
type Manager struct {
	config Config
	dir    string
	lock   *os.File
	ctx    context.Context // context of the crawls
	cancel context.CancelFunc
	runs   sync.WaitGroup
	hooks  chan struct{}   // holds an entry when there are events for webhooks
	ending context.Context // ends the sender of events
	end    context.CancelFunc
	sender sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	jobs    map[string]*entry
	keys    map[string]*entry
	running int
	closed  bool
	alarm   *time.Timer // wakes the Manager for the next schedule
	timed   map[string]*timed
}

// entry is a job in memory.
type entry struct {
	info    Info             // guarded by Manager.mu
	pending []pendingEvent   // events that webhooks have not acknowledged
	lines   int64            // final visits; -1: not counted yet
	asked   State            // Paused or Stopped if a client asked for it while the job runs, otherwise ""
	stop    chan struct{}    // closed to stop the job; nil unless it runs
	crawl   *crawler.Crawler // the running crawl; nil: none
	changed chan struct{}    // closed, and made anew, when anything changes
}

// Open opens a directory of jobs and creates it if it is missing. Jobs that were running or queued when its last process ended are
// queued again and resumed. The error wraps ErrHeld if another process has the directory open.
func Open(dir string, c Config) (*Manager, error) {
	c.Running, c.Queued = cmp.Or(c.Running, defaultRunning), cmp.Or(c.Queued, defaultQueued)
	if c.Running < 0 || c.Queued < 0 || c.Concurrency < 0 || c.InFlight < 0 {
		return nil, errors.New("jobs: a limit of Config is negative: give 0 for the default, or more")
	}
	if all := openfiles.Limit(); all > 0 && openfiles.Check(max(1, all/c.Running)) != nil {
		return nil, fmt.Errorf("jobs: this process may have %d open files (ulimit -n), too few for %d jobs at a time: let fewer run, or raise the limit", all, c.Running)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	lock, err := safefile.EditOwn(filepath.Join(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	mine, err := filelock.TryLock(lock, true)
	if err == nil && !mine {
		err = fmt.Errorf("%w: %s", ErrHeld, dir)
	}
	m := &Manager{config: c, dir: dir, lock: lock, jobs: map[string]*entry{}, keys: map[string]*entry{}, timed: map[string]*timed{}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.hooks, m.alarm = make(chan struct{}, 1), time.AfterFunc(math.MaxInt64, m.ring)
	m.ending, m.end = context.WithCancel(context.Background())
	if err == nil {
		err = m.load()
	}
	if err != nil {
		m.cancel()
		m.end()
		return nil, errors.Join(err, filelock.Close(lock))
	}
	if c.Send != nil {
		m.sender.Go(m.send)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fill()
	m.setAlarm()
	return m, nil
}

// load reads all jobs, and removes incomplete directories of a process that was killed.
func (m *Manager) load() error {
	found, err := os.ReadDir(m.dir)
	if err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	for _, d := range found {
		path := filepath.Join(m.dir, d.Name())
		switch {
		case strings.HasPrefix(d.Name(), newPrefix):
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("jobs: %w", err)
			}
		case d.IsDir():
			b, err := safefile.Read(filepath.Join(path, infoName), safefile.Settings)
			if errors.Is(err, os.ErrNotExist) {
				continue // the directory is not that of a job
			}
			e := newEntry()
			var s stored
			if err == nil {
				err = json.Unmarshal(b, &s)
			}
			e.info, e.pending = s.Info, s.Untold
			if err == nil && (e.info.ID != d.Name() || !slices.Contains(states, e.info.State)) {
				err = errors.New("it does not describe this job")
			}
			if err != nil {
				return fmt.Errorf("jobs: %s: %w: repair it, or remove the directory", filepath.Join(path, infoName), err)
			}
			m.add(e)
		}
	}
	return m.loadSchedules()
}

func newEntry() *entry { return &entry{lines: -1, changed: make(chan struct{})} }

func (m *Manager) add(e *entry) {
	e.info.Dir = filepath.Join(m.dir, e.info.ID, jobDir)
	m.jobs[e.info.ID] = e
	if e.info.Key != "" {
		m.keys[e.info.Key] = e
	}
}

// stored is the form of the file job.json.
type stored struct {
	Info
	Untold []pendingEvent `json:"untold,omitempty"`
}

// save stores the state of a job, and wakes goroutines that wait for a change.
func (m *Manager) save(e *entry) error {
	e.wake()
	s := stored{e.info, e.pending}
	if s.State == Running { // after the process is killed, the job is resumed, unless another state was requested
		s.State = cmp.Or(e.asked, Queued)
		s.Untold = m.events(e, s.State) // events to send if the process is killed before the job has stopped
	}
	return write(filepath.Join(m.dir, e.info.ID, infoName), &s)
}

// write replaces a file by v in JSON, unless Open would refuse to read it.
func write(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "\t")
	if err == nil && len(b) >= safefile.Settings {
		err = fmt.Errorf("%s may have up to %d MiB: give less", filepath.Base(path), safefile.Settings>>20)
	}
	if err == nil {
		err = durable.Replace(path, append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	return nil
}

func (e *entry) wake() {
	close(e.changed)
	e.changed = make(chan struct{})
}

func (m *Manager) note(id, text string) {
	if m.config.Note != nil {
		m.config.Note(id, text)
	}
}

// Close lets the requests in flight end and closes the directory; when ctx ends, it aborts them. Running and queued jobs continue when
// the directory is opened again.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	m.closed = true
	m.alarm.Stop()
	for _, e := range m.jobs {
		e.halt()
		e.wake()
	}
	m.mu.Unlock()
	defer context.AfterFunc(ctx, m.cancel)()
	m.runs.Wait()
	m.stopHooks()
	m.cancel()
	return filelock.Close(m.lock)
}

// byTime compares jobs by their start times.
func byTime(a, b *entry) int {
	return cmp.Or(a.info.Created.Compare(b.info.Created), strings.Compare(a.info.ID, b.info.ID))
}

// Temp makes a new directory beside the jobs, for temporary files of the caller. Open removes leftover ones.
func (m *Manager) Temp() (string, error) { return os.MkdirTemp(m.dir, newPrefix+"temp-") }

// All returns all jobs, ordered by start time.
func (m *Manager) All() []Info {
	m.mu.Lock()
	all := make([]*entry, 0, len(m.jobs))
	for _, e := range m.jobs {
		all = append(all, e)
	}
	slices.SortFunc(all, byTime)
	infos, crawls := make([]Info, len(all)), make([]*crawler.Crawler, len(all))
	for i, e := range all {
		infos[i], crawls[i] = e.info, e.crawl
	}
	m.mu.Unlock()
	for i, c := range crawls {
		infos[i].watch(c)
	}
	return infos
}

// watch sets the numbers that change while a crawl runs; it does nothing if c is nil. The caller must not hold the lock, because a
// crawl takes it when it commits.
func (i *Info) watch(c *crawler.Crawler) {
	if c == nil {
		return
	}
	if p := c.Progress(); !p.Started.IsZero() {
		i.Pages, i.Requests, i.Left = p.Pages, p.Requests, p.Frontier.Queued+p.Frontier.Waiting+p.Frontier.Claimed
	}
}

// Info describes a job. The error wraps ErrNoJob.
func (m *Manager) Info(id string) (Info, error) {
	m.mu.Lock()
	e, err := m.entry(id)
	if err != nil {
		m.mu.Unlock()
		return Info{}, err
	}
	info, crawl := e.info, e.crawl
	m.mu.Unlock()
	info.watch(crawl)
	return info, nil
}

func (m *Manager) entry(id string) (*entry, error) {
	if e := m.jobs[id]; e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrNoJob, id)
}

// Wait waits until a job is Done, Failed or Stopped, and describes it. The error is the error of ctx, ErrClosed, or wraps ErrNoJob.
func (m *Manager) Wait(ctx context.Context, id string) (Info, error) {
	for {
		m.mu.Lock()
		e, err := m.entry(id)
		if err == nil && m.closed && !e.info.State.Ended() {
			err = ErrClosed
		}
		if err != nil || e.info.State.Ended() {
			var info Info
			if e != nil {
				info = e.info
			}
			m.mu.Unlock()
			return info, err
		}
		changed := e.changed
		m.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return Info{}, context.Cause(ctx)
		}
	}
}

// stamp returns the current time, rounded as it is stored.
func stamp() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
