// Package jobs runs many crawls in one process. A [Manager] keeps them in a directory, runs a few at a time, and goes on with them
// after a restart, kill -9 included. All crawls share the clocks of hosts, so together they are as polite as one.
//
//	m, err := jobs.Open("data", jobs.Config{Running: 20})
//	…
//	info, err := m.Start(jobs.Request{Key: "customer 7", Seeds: []string{"https://site.to.crawl/"}, Settings: map[string]any{"contact": contact}})
//	for result, err := range m.Results(ctx, info.ID, 0) {
//		…
//	}
//
// A job is a directory below the Manager's: job.json describes it ([Info]), and job/ is what package job writes, for its readers and for
// the command amble.
package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	newPrefix = ".new-" // of directories that are being made or removed
)

var (
	// ErrNoJob is wrapped by the error for an ID that no job has.
	ErrNoJob = errors.New("jobs: no such job")
	// ErrHeld is wrapped by the error of Open for a directory that another process has opened.
	ErrHeld = errors.New("jobs: another process runs the jobs of this directory")
	// ErrKey is wrapped by the error of Start for a key that another request has.
	ErrKey = errors.New("jobs: another request has this key")
	// ErrFull is wrapped by the error of Start if too many jobs wait.
	ErrFull = errors.New("jobs: the queue is full")
	// ErrState is wrapped by the error for what is not possible in the state of a job.
	ErrState = errors.New("jobs: not possible in this state")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("jobs: closed")
)

// Program sets in c what settings cannot say, such as a Handler, before a job runs. args is from its [Request]. It is called each time
// the job is resumed. An error fails the job.
type Program func(args json.RawMessage, c *job.Config) error

// Config configures a Manager. The zero value is usable.
type Config struct {
	// Running is the number of jobs that run at a time; 0: 4.
	Running int
	// Queued limits the jobs that wait; 0: 10,000.
	Queued int
	// Concurrency limits the requests in flight of all jobs together, and InFlight the bytes of memory for their pages. A job gets an
	// equal share, of one request at least. 0: each job has what its settings say. The memory of queues and of robots.txt files is
	// that of four jobs if more run, and all share the files that the process may have open, without being told.
	Concurrency int
	InFlight    int64
	// Programs are the programs that requests may name.
	Programs map[string]Program
	// Check, if set, is called after the program, each time a job is configured: when it is asked for, and when it runs. It may
	// change c. An error refuses the request, and fails a job that is to run.
	Check func(q Request, c *job.Config) error
	// Send, if set, sends an [Event] in JSON to a webhook of a request; nil: none is told. It is called again, with pauses of 10 s to
	// 1 h, also by later processes, until it returns no error, or for 24 h: a webhook is told at least once. One call is made at a time;
	// it must end soon when its context does.
	Send func(ctx context.Context, url string, event []byte) error
	// State is the directory by which all processes of the user take turns at hosts: see [job.Config.State].
	State string
	// Note is called with messages for the operator: about a job, or with the ID "" about all. It is called concurrently. nil: none is.
	Note func(id, text string)
}

// Manager runs the jobs of a directory. Its methods are safe for concurrent use.
type Manager struct {
	config Config
	dir    string
	lock   *os.File
	ctx    context.Context // of the crawls
	cancel context.CancelFunc
	runs   sync.WaitGroup
	hooks  chan struct{}   // holds an entry when there is something to report to webhooks
	ending context.Context // ends the sender of events
	end    context.CancelFunc
	sender sync.WaitGroup

	mu      sync.Mutex // guards what follows
	jobs    map[string]*entry
	keys    map[string]*entry
	running int
	closed  bool
	alarm   alarm
	timed   map[string]*timed
}

// entry is a job in memory.
type entry struct {
	info    Info             // guarded by Manager.mu
	untold  []untold         // events that webhooks have not acknowledged
	lines   int64            // of its visits, that are final; -1: not counted yet
	asked   State            // Paused or Stopped if the client asked for it while the job runs, otherwise ""
	stop    chan struct{}    // closed when it shall stop; nil unless it runs
	crawl   *crawler.Crawler // that runs; nil: none does
	changed chan struct{}    // closed, and made anew, when anything changes
}

// Open opens a directory of jobs, which is made if it is missing. Jobs that ran or waited when its last process ended are queued again
// and resumed. The error wraps ErrHeld if another process has the directory open.
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
	m.hooks = make(chan struct{}, 1)
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

// load reads all jobs, and removes what a process that was killed left half made.
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
				continue // not one of ours
			}
			e := newEntry()
			var s stored
			if err == nil {
				err = json.Unmarshal(b, &s)
			}
			e.info, e.untold = s.Info, s.Untold
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
	Untold []untold `json:"untold,omitempty"`
}

// save stores what is known of a job, and wakes those that wait for a change.
func (m *Manager) save(e *entry) error {
	e.wake()
	s := stored{e.info, e.untold}
	if s.State == Running { // resumed unless somebody wants another state
		s.State = cmp.Or(e.asked, Queued)
		s.Untold = m.events(e, s.State) // if the process is killed before it has stopped
	}
	b, err := json.MarshalIndent(&s, "", "\t")
	if err == nil {
		err = durable.Replace(filepath.Join(m.dir, e.info.ID, infoName), append(b, '\n'))
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

// Close lets the requests in flight end and closes the directory; when ctx ends, it aborts them. Jobs that ran or wait go on when the
// directory is opened again.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	m.closed = true
	m.alarm.stop()
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

// byTime compares jobs by the time at which they were started.
func byTime(a, b *entry) int {
	return cmp.Or(a.info.Created.Compare(b.info.Created), strings.Compare(a.info.ID, b.info.ID))
}

// Temp makes a new directory beside the jobs, for temporary files of the caller. Open removes those that are left.
func (m *Manager) Temp() (string, error) { return os.MkdirTemp(m.dir, newPrefix+"temp-") }

// All returns all jobs, in the order in which they were started.
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

// watch sets what changes while a crawl runs; nil: none does. The caller does not hold the lock, which a crawl takes when it commits.
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

// Wait waits until a job is Done, Failed or Stopped, and describes it. The error is that of ctx, ErrClosed, or wraps ErrNoJob.
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

// stamp returns the time as it is stored.
func stamp() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
