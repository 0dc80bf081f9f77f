package live

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/metrics"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// Config describes the crawl to show.
type Config struct {
	Seeds  []string
	Agent  string
	Dir    string // job directory; "" if the crawl is not kept
	Limits crawler.Limits

	Source Source
	Digest *digest.Digest

	Crawler *crawler.Crawler // nil if the crawl does not run in this process
	Outlook *plan.Outlook    // set if Crawler is set
	Metrics *metrics.Metrics // set if Crawler is set
	Control Control          // accepts the viewers' orders; nil: the page is read-only
	// Space measures how much more the crawl may write. nil: the crawl is not kept in a directory.
	Space func() (job.Space, error)
	// Timeout is the limit on the time of a request, for [metrics.Metrics.Ready].
	Timeout time.Duration
	// State returns the state of a crawl that does not run in this process. It is nil if Crawler is set.
	State func() State
	// Why writes an explanation of a URL. nil: explanations are not available.
	Why func(url string, w io.Writer) error
	// Debug adds the profiles of net/http/pprof.
	Debug bool
}

// State is the state of a crawl that does not run in this process.
type State struct {
	Running bool
	Text    string // how the crawl ended, or which process works on it
	Left    int    // URLs still queued, if the crawl has ended
}

// Control accepts the orders of an operator. Each method may be called at any time.
type Control interface {
	Pause() error
	Resume() error
	Drain() error
	LeaveOut(host string) error
	Slower(host string, delay time.Duration) error
}

// Live watches a crawl. Its methods are safe for concurrent use.
type Live struct {
	config Config
	space  *space // nil if Config.Space is nil

	mu      sync.Mutex // guards the fields below
	began   bool
	recent  *recent
	growth  growth
	polled  time.Time
	broken  error // last error of the source; nil if the source can be read
	started time.Time

	stream  stream
	ordered chan struct{} // has an entry after an order of the operator
	size    atomic.Int64  // approximate size of the next snapshot
	asking  sync.Mutex    // serializes explanations, which may read the whole job
}

// New returns a Live. Nothing is read before Begin.
func New(c Config) *Live {
	l := &Live{config: c, recent: newRecent(), started: time.Now(), ordered: make(chan struct{}, 1)}
	l.stream.changed = make(chan struct{})
	l.recent.shared = c.Digest != nil && c.Digest.Shared()
	if c.Metrics != nil {
		c.Metrics.Audited(l.audit)
	}
	if c.Space != nil {
		l.space = &space{read: c.Space}
		if c.Metrics != nil {
			_ = c.Metrics.Add(l.space) // cannot fail, because no other metrics have these names
		}
	}
	return l
}

// Begin starts reading the source. It must be called after the job's files were truncated to the last commit.
func (l *Live) Begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.began = true
}

// Run reads the source every second, and at once after an order of the operator, and sends snapshots to viewers. It runs until ctx ends.
func (l *Live) Run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			l.stream.close()
			return
		case now := <-tick.C:
			l.step(now)
		case <-l.ordered:
			l.step(time.Now())
		}
	}
}

// step reads new data. If there are viewers, it also makes a snapshot.
func (l *Live) step(now time.Time) {
	l.mu.Lock()
	l.poll(now)
	l.mu.Unlock()
	if l.stream.watched() {
		if html, err := l.render(now); err == nil {
			l.stream.publish(html)
		}
	}
}

// take reads new data, if the lock is free: it is called by the crawl, which must not wait.
func (l *Live) take() {
	if l.mu.TryLock() {
		defer l.mu.Unlock()
		l.read()
	}
}

// read reads new data. The caller must hold the lock.
func (l *Live) read() {
	if !l.began || l.broken != nil {
		return
	}
	d := l.config.Digest
	l.broken = l.config.Source.Poll(func(e *ledger.Entry) {
		l.recent.line(e)
		d.Add(e)
	}, func(v *record) {
		l.recent.visit(v)
		d.AddVisit(v)
	})
}

// poll reads new data and the progress of the crawl. The caller must hold the lock.
func (l *Live) poll(now time.Time) {
	if !l.began || l.broken != nil {
		return
	}
	l.read()
	l.polled = now
	if c := l.config.Crawler; c != nil {
		p := c.Progress()
		f := p.Frontier
		l.growth.add(now, f.Queued+f.Waiting+f.Claimed+f.Done, p.Pages)
	}
}

// audit returns the findings of the ledger's audit so far, for the metrics.
func (l *Live) audit() metrics.Audit {
	l.mu.Lock()
	l.poll(time.Now())
	l.mu.Unlock()
	all := l.config.Digest.Totals()
	a := metrics.Audit{Early: all.Early, Pauses: map[string]time.Duration{}, Ratios: map[float64]uint64{}}
	for id, name := range digest.Clauses() {
		if name != "" {
			a.Pauses[name] = all.Pauses.Time[id]
		}
	}
	for i, n := range all.Pauses.Ratios {
		a.Count += uint64(n)
		if i < len(digest.Bounds) {
			a.Ratios[digest.Bounds[i]] = a.Count
		}
	}
	a.Sum = all.Pauses.Sum
	return a
}

// Ready returns an error if the crawl is stuck, or its files cannot be read.
func (l *Live) Ready() error {
	l.mu.Lock()
	broken := l.broken
	l.mu.Unlock()
	if broken != nil || l.config.Metrics == nil {
		return broken
	}
	return l.config.Metrics.Ready(time.Now(), l.config.Timeout)
}

// Healthy returns an error if the stores of the crawl have failed.
func (l *Live) Healthy() error {
	if l.config.Metrics == nil {
		return nil
	}
	return l.config.Metrics.Healthy()
}

var errReadOnly = errors.New("this page only shows the crawl: it is not in this process")
