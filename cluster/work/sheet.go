package work

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/weburl"
)

// Sheet describes the present crawl of a shard, as its owner reports it. Its size is limited for any number of hosts. Times are the
// owner's.
type Sheet struct {
	Shard    int                     `json:"shard"`
	Epoch    uint64                  `json:"epoch"`
	Node     string                  `json:"node"`
	Outcomes map[crawler.Outcome]int `json:"outcomes"`
	Requests int                     `json:"requests"`
	Troubled int                     `json:"troubled"` // responses with status 429 or 5xx
	Sites    []plan.Site             `json:"sites"`    // sites with URLs left, sorted by remaining time, longest first; at most 12
	More     int                     `json:"more"`     // number of further sites with URLs left
	Marks    []Mark                  `json:"marks"`    // requests of the last half minute, at most 48
	Troubles []Trouble               `json:"troubles"` // the last visits that failed or were refused, at most 6
}

// Mark is a request that has ended.
type Mark struct {
	Host   string    `json:"host"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Ready  time.Time `json:"ready"` // time from which the host may be requested again
	Robots bool      `json:"robots,omitempty"`
	Status int       `json:"status"` // 0: there was no response
}

// Trouble is a visit that ended without a page.
type Trouble struct {
	At      time.Time       `json:"at"`
	URL     string          `json:"url"`
	Outcome crawler.Outcome `json:"outcome"`
	Status  int             `json:"status"`
	Why     string          `json:"why"`
}

// Limits of a sheet. They are low, because all sheets of a job are read every second.
const (
	maxSheetSites    = 12
	maxSheetMarks    = 48
	maxSheetTroubles = 6
	maxSheetText     = 300
	sheetWindow      = 30 * time.Second
	sheetEvery       = time.Second / 2
)

// sheetMaker records the events of a shard's crawl. Its methods are safe for concurrent use.
type sheetMaker struct {
	look    *plan.Outlook
	shard   *cluster.Shard
	node    string
	crawler *crawler.Crawler

	mu       sync.Mutex
	marks    []Mark
	troubles []Trouble
	made     []byte
	at       time.Time
}

// watchShard adds a sheetMaker to a crawl that has not begun.
func watchShard(c *crawler.Config) *sheetMaker {
	m := &sheetMaker{look: plan.NewOutlook(0)}
	t := &crawler.Trace{Answered: m.answered, Visited: m.visited}
	m.look.Trace(t)
	c.Trace = crawler.JoinTraces(c.Trace, t)
	return m
}

// begin lets m answer the questions for the shard's sheet.
func (m *sheetMaker) begin(sh *cluster.Shard, node string, c *crawler.Crawler) {
	m.shard, m.node, m.crawler = sh, node, c
	m.look.Watch(sh.Frontier(), c.Gate())
	sh.Describe(m.sheet)
}

func (m *sheetMaker) answered(_ weburl.URL, a *fetcher.Answer) {
	x := Mark{Host: a.Permit.URL().Host(), Ready: a.Ready, Robots: a.Permit.Purpose().String() == "robots", End: time.Now()}
	x.Start = x.End
	var failed *fetcher.Error
	switch {
	case a.Page != nil:
		x.Start, x.End, x.Status = a.Page.Started, a.Page.Ended, a.Page.Status
	case errors.As(a.Err, &failed):
		x.Start, x.End = failed.Written, failed.Ended
	}
	if a.Aborted || x.Start.IsZero() { // nothing was sent
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marks = append(m.marks[max(0, len(m.marks)+1-maxSheetMarks):], x)
}

func (m *sheetMaker) visited(v *crawler.Visit) {
	status := v.Status()
	if v.Outcome != crawler.Failed && v.Outcome != crawler.Refused && status < 400 {
		return
	}
	url := v.URL.String()
	x := Trouble{At: time.Now(), URL: url[:min(len(url), maxSheetText)], Outcome: v.Outcome, Status: status}
	x.Why = cmp.Or(v.Detail, v.Reason)
	x.Why = x.Why[:min(len(x.Why), maxSheetText)]
	m.mu.Lock()
	defer m.mu.Unlock()
	m.troubles = append(m.troubles[max(0, len(m.troubles)+1-maxSheetTroubles):], x)
}

// sheet returns the encoded sheet. It computes it at most twice a second.
func (m *sheetMaker) sheet() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.made != nil && now.Sub(m.at) < sheetEvery {
		return m.made
	}
	p := m.crawler.Progress()
	x := Sheet{Shard: m.shard.Number, Epoch: m.shard.Epoch, Node: m.node, Outcomes: p.Outcomes, Requests: p.Requests, Troubled: p.Troubled, Troubles: m.troubles}
	sites, _ := m.look.Sites(now)
	x.Sites, x.More = sites[:min(len(sites), maxSheetSites)], max(0, max(len(sites), p.Frontier.Hosts)-maxSheetSites)
	x.Marks = slices.DeleteFunc(slices.Clone(m.marks), func(k Mark) bool { return now.Sub(k.End) > sheetWindow })
	b, err := json.Marshal(x)
	if err != nil {
		return nil
	}
	m.made, m.at = b, now
	return b
}

// View describes the present state of a job.
type View struct {
	*Summary
	Job    *Job
	At     time.Time
	Sheets []*Sheet // sheets of the shards whose owners answer
}

// Watcher reads the state of a job for many clients, the expensive parts every five seconds at most. It is safe for concurrent use.
type Watcher struct {
	Engine cluster.Engine

	mu     sync.Mutex
	job    *Job
	status *Summary
	read   time.Time
}

// statusEvery is the interval at which the state of all shards is read.
const statusEvery = 5 * time.Second

// Status returns the state of the job, at most five seconds old. The error is the engine's.
func (w *Watcher) Status(ctx context.Context) (*Summary, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status != nil && time.Since(w.read) < statusEvery {
		return w.status, nil
	}
	s, err := cluster.ReadStatus(ctx, w.Engine)
	if err != nil {
		return nil, err
	}
	w.read = time.Now()
	w.status = Summarize(&s, w.read)
	return w.status, nil
}

// Forget makes the next call read the state again, for example after an order.
func (w *Watcher) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = nil
}

// View returns the state of the job, with the sheets of the owners of its shards. The error is about the job, or the engine's.
func (w *Watcher) View(ctx context.Context) (*View, error) {
	s, err := w.Status(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	j := w.job
	w.mu.Unlock()
	if j == nil {
		if j, err = Load(ctx, w.Engine); err != nil {
			return nil, err
		}
		w.mu.Lock()
		w.job = j
		w.mu.Unlock()
	}
	v := &View{Summary: s, Job: j, At: time.Now()}
	for i, b := range cluster.ReadSheets(ctx, w.Engine, j.Shards) {
		x := new(Sheet)
		if json.Unmarshal(b, x) == nil && x.Shard == i {
			v.Sheets = append(v.Sheets, x)
		}
	}
	return v, nil
}

// Outcomes returns the sums of outcomes over all shards that answer.
func (v *View) Outcomes() map[crawler.Outcome]int {
	all := map[crawler.Outcome]int{}
	for _, s := range v.Sheets {
		for o, n := range s.Outcomes {
			all[o] += n
		}
	}
	return all
}
