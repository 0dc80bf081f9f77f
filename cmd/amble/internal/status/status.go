package status

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// maxHosts limits the number of hosts with URLs left that are examined one by one.
const maxHosts = 100_000

// States of a job.
const (
	Running = "running" // a process works on the job
	Killed  = "killed"  // the last process was killed before recording its end
	Stopped = "stopped" // the last process ended, and URLs are left
	Done    = "done"
)

// Status describes the state of a crawl. It is the output of "amble show --json".
type Status struct {
	Dir     string         `json:"dir"`
	State   string         `json:"state"`
	Finish  crawler.Finish `json:"finish,omitempty"` // how the last process ended
	Error   string         `json:"error,omitempty"`
	Now     time.Time      `json:"now"`
	Started time.Time      `json:"started"` // start of the first process
	Since   time.Time      `json:"since"`   // start of the last process
	Ended   time.Time      `json:"ended,omitzero"`
	Runs    int            `json:"runs"`
	PID     int            `json:"pid"`
	Machine string         `json:"machine"`
	// Collected names the cluster job from which this job was collected. Only that cluster job can be resumed.
	Collected string         `json:"collected,omitempty"`
	Pages     int            `json:"pages"`
	Requests  int            `json:"requests"`
	Outcomes  map[string]int `json:"outcomes"`
	Left      int            `json:"left"`  // URLs in the queue
	Retry     int            `json:"retry"` // of Left, URLs that have failed before
	Hosts     int            `json:"hosts"` // hosts with URLs left
	// Least is the minimum time for the URLs left, in seconds. By names what determines it: a host, an address or --rate. Both ignore limits
	// of the crawl, and URLs that are still to be found.
	Least   float64 `json:"least_s"`
	By      string  `json:"by,omitempty"`
	Waiting []Host  `json:"waiting"` // sorted by remaining time, longest first
	Note    string  `json:"note,omitempty"`
	// Space describes how much more the crawl may write; nil if no URLs are left. SpaceLasts is the time in seconds until the crawl reaches a
	// limit at its average rate, 0 if that is unknown.
	Space      *job.Space `json:"space,omitempty"`
	SpaceLasts float64    `json:"space_lasts_s,omitempty"`
	// NotShared is the reason why the last process does not share turns with other crawls of the user; "" if it does.
	NotShared string `json:"not_shared,omitempty"`
}

// Host is a host with URLs left.
type Host struct {
	Host     string    `json:"host"`
	Left     int       `json:"left"`
	Retry    int       `json:"retry,omitempty"`  // of Left, URLs that have failed before
	Requests int       `json:"requests"`         // requests made so far
	Waits    string    `json:"waits,omitempty"`  // a clause of the ledger, or one of the constants below; "" if the host may be requested
	Until    time.Time `json:"until,omitzero"`   // end of the wait, if known
	Detail   string    `json:"detail,omitempty"` // more about Waits; for "shared", the other crawl for which the last request waited
	Delay    float64   `json:"delay_s"`          // delay in force, in seconds
	Clause   string    `json:"delay_clause"`
	Trouble  string    `json:"trouble,omitempty"` // error or status of the last request, if it failed
	Least    float64   `json:"least_s"`           // minimum time for Left, in seconds
}

// Values of Host.Waits besides the clauses of the ledger.
const (
	InFlight = "in_flight" // a request is in flight
	GivenUp  = "given_up"  // the host will not be requested again; Detail is the reason
	Retry    = "retry"     // a failed URL waits for its next attempt
	Turn     = "turn"      // the host waits for other hosts, such as those at the same address
)

// Of returns the status of a job. Errors come from the job's files.
func Of(r *job.Reader, now time.Time) (*Status, error) {
	m, err := r.Manifest()
	if err != nil {
		return nil, err
	}
	last := m.Last()
	s := &Status{
		Dir: r.Dir(), State: stateOf(r, m), Finish: last.Finish, Error: last.Error, Now: now.UTC(), Started: m.Runs[0].Started, Since: last.Started,
		Ended: last.Ended, Runs: len(m.Runs), PID: last.PID, Machine: last.Host.Name, Collected: m.Collected, Outcomes: map[string]int{}, Waiting: []Host{}, NotShared: last.NotShared,
	}
	if s.State != Done {
		s.measure(r)
	}
	hosts, err := s.queue(r)
	if err != nil {
		return nil, err
	}
	lines, err := s.read(r, hosts)
	if err != nil {
		return nil, err
	}
	if len(hosts) == 0 {
		return s, nil
	}
	return s, s.judge(r, now, hosts, lines)
}

// measure sets Space and SpaceLasts. An error becomes a note.
func (s *Status) measure(r *job.Reader) {
	space, err := r.Space()
	if err != nil {
		s.Note = "how much space is left is unknown: " + err.Error()
		return
	}
	s.Space, s.SpaceLasts = &space, space.Lasts().Seconds()
}

func stateOf(r *job.Reader, m *job.Manifest) string {
	switch {
	case m.Finished():
		return Done
	case r.Running():
		return Running
	case m.Last().Ended.IsZero():
		return Killed
	}
	return Stopped
}

// queue reads from the queue which hosts have URLs left.
func (s *Status) queue(r *job.Reader) (map[string]*Host, error) {
	hosts := map[string]*Host{}
	_, _, err := r.Queue(func(c disk.HostCount) error {
		s.Left, s.Retry, s.Hosts = s.Left+c.Queued+c.Waiting, s.Retry+c.Waiting, s.Hosts+1
		if len(hosts) < maxHosts {
			hosts[c.Host] = &Host{Host: c.Host, Left: c.Queued + c.Waiting, Retry: c.Waiting, Until: c.Ready}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		s.Note = "there is no queue: what is left cannot be told"
		return nil, nil
	}
	if err != nil && s.State == Running {
		s.Note = "the queue cannot be read at the moment: " + err.Error()
		return nil, nil
	}
	return hosts, err
}

// judge determines what each host waits for, and the minimum time for all URLs left.
func (s *Status) judge(r *job.Reader, now time.Time, hosts map[string]*Host, l *lines) error {
	c, err := r.Config()
	if err != nil {
		return err
	}
	states, err := r.HostStates()
	if err != nil {
		return err
	}
	p := &c.Crawl.Politeness
	rest := addressRests{}
	at := map[string]int{} // number of hosts, by address
	for name, h := range hosts {
		info := states(name)
		h.judge(now, &info, l.hosts[name], p.Hours)
		at[l.hosts[name].addr]++
		rest.add(l.hosts[name].addr, h)
		s.Waiting = append(s.Waiting, *h)
	}
	loads := make([]plan.Load, len(s.Waiting))
	service := l.service()
	for i := range s.Waiting {
		h := &s.Waiting[i]
		addr := l.hosts[h.Host].addr
		rest.hold(addr, h)
		if h.Waits == Turn && addr != "" && at[addr] > 1 {
			h.Waits, h.Detail = ledger.ClauseAddress, ""
		}
		loads[i] = plan.Load{Host: h.Host, Addr: addr, Requests: h.Left, Delay: seconds(h.Delay), Wait: max(0, h.Until.Sub(now))}
		if h.Waits == GivenUp {
			loads[i].Requests = 0
		}
		least, _ := plan.Least(loads[i:i+1], service, 0)
		h.Least = least.Seconds()
	}
	least, by := plan.Least(loads, service, p.Rate)
	s.Least, s.By = least.Seconds(), by
	slices.SortFunc(s.Waiting, func(a, b Host) int { return cmp.Or(cmp.Compare(b.Least, a.Least), cmp.Compare(a.Host, b.Host)) })
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// judge determines what the host waits for. Before the call, Until has the time from the queue.
func (h *Host) judge(now time.Time, info *politeness.HostInfo, seen hostLines, hours politeness.Hours) {
	queued := h.Until
	h.Requests, h.Trouble = seen.requests, seen.trouble
	h.Delay, h.Clause, h.Until = info.Delay.Seconds(), info.Clause, time.Time{}
	opens := opening(hours, now)
	switch {
	case info.GivenUp != "":
		h.Waits, h.Detail = GivenUp, info.GivenUp
	case seen.open > 0:
		h.Waits = InFlight
	case opens.After(now) && opens.After(info.NotBefore):
		h.Waits, h.Until = ledger.ClauseQuiet, opens
	case info.NotBefore.After(now):
		h.Waits, h.Until = info.Waits, info.NotBefore
	case queued.After(now): // the ledger shows no wait, but the queue does
		h.Waits, h.Until = Turn, queued
		switch {
		case h.Retry == h.Left:
			h.Waits = Retry
		case seen.others:
			h.Waits, h.Detail = ledger.ClauseShared, seen.by
		}
	}
}

// opening returns the first time, not before now, at which the hours of the crawl allow requests.
func opening(hours politeness.Hours, now time.Time) time.Time {
	if len(hours) == 0 {
		return now
	}
	for m := range 24*60 + 1 {
		at := now
		if m > 0 {
			at = now.Truncate(time.Minute).Add(time.Duration(m) * time.Minute)
		}
		for _, w := range hours {
			if w.Contains(at) {
				return at
			}
		}
	}
	return now
}

// addressRests maps an address to the host whose last request determines how long the address rests.
type addressRests map[string]*Host

func (a addressRests) add(addr string, h *Host) {
	switch h.Waits {
	case ledger.ClauseDelay, ledger.ClauseHostDelay, ledger.ClauseLatency, ledger.ClauseCrawlDelay, ledger.ClauseRequestRate, ledger.ClauseBackoff:
		if other := a[addr]; addr != "" && (other == nil || h.Until.After(other.Until)) {
			a[addr] = h
		}
	}
}

func (a addressRests) hold(addr string, h *Host) {
	if by := a[addr]; by != nil && by.Host != h.Host && h.Waits != GivenUp && h.Waits != InFlight && by.Until.After(h.Until) {
		h.Waits, h.Until, h.Detail = ledger.ClauseAddress, by.Until, "shared with "+by.Host
	}
}

// Sorted returns the outcomes, the most frequent first.
func (s *Status) Sorted() []string { return cli.ByCount(s.Outcomes) }
