package jobs

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/durable"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// Request describes a job to start.
type Request struct {
	// Key identifies the request: a second request with the same key and contents starts nothing, and returns the same job. "": each
	// request starts a job.
	Key string `json:"key,omitempty"`
	// Seeds are the start URLs.
	Seeds []string `json:"seeds"`
	// Settings are keys of a job file with their values in JSON.
	Settings map[string]any `json:"settings,omitempty"`
	// Program names one of Config.Programs; "": none. Args are its arguments.
	Program string          `json:"program,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	// Priority decides which queued job runs next: the one with the highest priority, and among equal ones the first. It may be negative.
	Priority int `json:"priority,omitempty"`
	// Webhooks are URLs that are called when the job is paused, done, stopped or failed: see Config.Send.
	Webhooks []string `json:"webhooks,omitempty"`
	// Owner names the user, for services with several users. The Manager only stores it.
	Owner string `json:"owner,omitempty"`
}

// State is the state of a job.
type State string

// The states.
const (
	Queued  State = "queued"  // the job waits for other jobs to end
	Running State = "running" // the job makes requests
	Paused  State = "paused"  // the job does nothing until [Manager.Resume], even after a restart
	Done    State = "done"    // nothing is left, or a limit was reached: see Info.Finish
	Stopped State = "stopped" // ended by [Manager.Stop] or because of too little disk space; [Manager.Resume] continues the job
	Failed  State = "failed"  // Info.Error has the reason; [Manager.Resume] tries again
)

var states = []State{Queued, Running, Paused, Done, Stopped, Failed}

// States returns all states.
func States() []State { return slices.Clone(states) }

// Ended reports whether a job in this state does nothing more by itself and is not paused.
func (s State) Ended() bool { return s == Done || s == Stopped || s == Failed }

// Info describes a job. It is stored in job.json.
type Info struct {
	ID string `json:"id"`
	Request
	State   State     `json:"state"`
	Created time.Time `json:"created"`
	Started time.Time `json:"started,omitzero"` // time of the last start
	Ended   time.Time `json:"ended,omitzero"`   // time when the job last stopped running
	// Finish, Pages, Requests and Left are from the report of its last run. While it runs, the numbers are current.
	Finish   crawler.Finish `json:"finish,omitempty"`
	Pages    int            `json:"pages"`
	Requests int            `json:"requests"`
	Left     int            `json:"left"`
	Error    string         `json:"error,omitempty"`
	// Dir is the job directory, for package job and the command. It is created when the job runs.
	Dir string `json:"-"`
}

// SeedError is the error for a seed that is not a URL which can be requested.
type SeedError struct {
	Index int    // in Request.Seeds
	Seed  string // without passwords
	Err   error  // of [weburl.Parse]
}

// Error names the seed and says what is wanted.
func (e *SeedError) Error() string {
	return fmt.Sprintf("jobs: seed %q: want a whole URL without password, such as https://site.to.crawl/", e.Seed)
}

// Unwrap returns Err.
func (e *SeedError) Unwrap() error { return e.Err }

// Start queues a job and returns it. If an equal request with the same key has already started a job, it returns that job. The job is
// durable when Start returns. The error wraps ErrKey, ErrFull or ErrClosed, a [*job.KeyError] for a setting, or is a [*SeedError].
func (m *Manager) Start(q Request) (Info, error) {
	if _, err := m.configure(&q); err != nil {
		return Info{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.start(q)
}

func (m *Manager) start(q Request) (Info, error) {
	if m.closed {
		return Info{}, ErrClosed
	}
	if e := m.keys[q.Key]; q.Key != "" && e != nil {
		if !same(&q, &e.info.Request) {
			return Info{}, fmt.Errorf("%w: %q is the key of job %s", ErrKey, q.Key, e.info.ID)
		}
		return e.info, nil
	}
	waiting := 0
	for _, e := range m.jobs {
		if e.info.State == Queued {
			waiting++
		}
	}
	if waiting >= m.config.Queued {
		return Info{}, fmt.Errorf("%w: %d jobs wait", ErrFull, waiting)
	}
	e := newEntry()
	now := stamp()
	e.info = Info{ID: now.Format("20060102-150405-") + strings.ToLower(rand.Text()[:8]), Request: q, State: Queued, Created: now}
	if err := m.create(e); err != nil {
		return Info{}, err
	}
	m.add(e)
	m.fill()
	return e.info, nil
}

// create makes the directory of a job in one durable step.
func (m *Manager) create(e *entry) error {
	temp := filepath.Join(m.dir, newPrefix+e.info.ID)
	err := os.Mkdir(temp, 0o755)
	if err == nil {
		err = write(filepath.Join(temp, infoName), &e.info)
	}
	if err == nil {
		err = os.Rename(temp, filepath.Join(m.dir, e.info.ID))
	}
	if err == nil {
		err = durable.Dir(m.dir)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	return nil
}

// nested reports whether a JSON value is nested deeper than maxNested.
func nested(b json.RawMessage) bool {
	d, depth := json.NewDecoder(bytes.NewReader(b)), 0
	for {
		switch t, err := d.Token(); {
		case err != nil:
			return false
		case t == json.Delim('['), t == json.Delim('{'):
			depth++
		case t == json.Delim(']'), t == json.Delim('}'):
			depth--
		}
		if depth > maxNested {
			return true
		}
	}
}

// maxNested limits the nesting of Request.Args: each level adds a tab to each of their lines in job.json.
const maxNested = 32

// same reports whether two requests are equal.
func same(a, b *Request) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// configure returns the configuration for a request.
func (m *Manager) configure(q *Request) (job.Config, error) {
	var none job.Config
	if len(q.Seeds) == 0 {
		return none, errors.New("jobs: a request without seeds: give at least one URL")
	}
	for i, s := range q.Seeds {
		if _, err := weburl.Parse(s); err != nil {
			return none, &SeedError{Index: i, Seed: job.WithoutSecrets(s), Err: err}
		}
	}
	program, known := m.config.Programs[q.Program]
	if q.Program != "" && !known {
		names := make([]string, 0, len(m.config.Programs))
		for name := range m.config.Programs {
			names = append(names, name)
		}
		slices.Sort(names)
		return none, fmt.Errorf("jobs: no program is called %q: want one of %q", q.Program, names)
	}
	if _, has := q.Settings[job.KeyURLs]; has {
		return none, errors.New("jobs: seeds are no setting: give them as Seeds")
	}
	if nested(q.Args) {
		return none, fmt.Errorf("jobs: args are nested deeper than %d", maxNested)
	}
	text, err := json.Marshal(q.Settings) // a job file is YAML, and JSON is valid YAML
	if err != nil {
		return none, fmt.Errorf("jobs: %w", err)
	}
	f, err := job.ParseFile("settings", text)
	if err != nil {
		return none, err
	}
	all, err := f.Settings()
	if err != nil {
		return none, err
	}
	c, err := all.Config()
	if err != nil {
		return none, err
	}
	if program != nil {
		if err := program(q.Args, &c); err != nil {
			return none, fmt.Errorf("jobs: program %s: %w", q.Program, err)
		}
	}
	if m.config.Check != nil {
		if err := m.config.Check(*q, &c); err != nil {
			return none, err
		}
	}
	return c, nil
}
