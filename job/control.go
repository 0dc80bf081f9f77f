package job

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/weburl/hostmatch"
)

// Action is an operation by the operator while a crawl ran. Each is a [Change] in the manifest, with its time.
type Action = string

// The actions.
const (
	ActionPause    Action = "pause"
	ActionResume   Action = "resume"
	ActionDrain    Action = "drain"
	ActionLeaveOut Action = "leave-out"
	ActionSlower   Action = "slower" // To is the host and its delay

	// Actions of a job that many processes share.
	ActionOptOut Action = "opt-out" // To holds the hosts of a list
	ActionRetry  Action = "retry"   // hosts that were given up are requested again
	ActionSet    Action = "set"     // To is KEY=VALUE
	ActionAdd    Action = "add"     // To describes the seeds: the file's name, their number, and the file's hash
)

// Pause calls [crawler.Crawler.Pause] and records it in the manifest. A pause ends with the process: a resumed job runs.
//
// Like all actions it takes effect even if the manifest cannot be written, which the error reports. Once the crawl has ended it
// does nothing and returns nil.
func (j *Job) Pause() error {
	j.crawler.Pause()
	return j.record(ActionPause, "")
}

// Resume calls [crawler.Crawler.Resume] and records it in the manifest.
func (j *Job) Resume() error {
	j.crawler.Resume()
	return j.record(ActionResume, "")
}

// Drain calls [crawler.Crawler.Drain] and records it in the manifest: the crawl ends when the requests in flight have ended, and
// can be resumed later.
func (j *Job) Drain() error {
	j.crawler.Drain()
	return j.record(ActionDrain, "")
}

// LeaveOut calls [crawler.Crawler.LeaveOut] and records it in the manifest. It holds for the rest of the job, across processes.
func (j *Job) LeaveOut(host string) error {
	if err := j.crawler.LeaveOut(host); err != nil {
		return &Error{Kind: Refused, Err: err}
	}
	return j.record(ActionLeaveOut, host)
}

// Slower calls [crawler.Crawler.Slower] and records it in the manifest and for the ledger check. It holds for the rest of the
// job, across processes.
func (j *Job) Slower(host string, delay time.Duration) error {
	j.recording.Lock()
	defer j.recording.Unlock()
	if err := j.crawler.Slower(host, delay); err != nil {
		return &Error{Kind: Refused, Err: err}
	}
	host = strings.ToLower(host)
	if j.ended {
		return nil
	}
	c := Change{Key: ActionSlower, To: host + " " + delay.String(), At: time.Now().UTC()}
	return firstOf(j.noteSlower(c), j.recordLocked(c))
}

// noteSlower adds a delay to the settings that the ledger is checked against.
func (j *Job) noteSlower(c Change) error {
	cfg, err := readAuditConfig(j.files.root.Name())
	if err != nil {
		return err
	}
	cfg.HostDelays = slices.Concat(c.hostDelays(), cfg.HostDelays)
	return writeAudit(j.files.plainDir, &cfg)
}

// hostDelays returns the entries for the ledger check that correspond to the action.
func (c *Change) hostDelays() []audit.HostDelay {
	host, delay, err := c.slower()
	if err != nil {
		return nil
	}
	if name := hostmatch.Name(hostmatch.Exactly(host)); name != "" { // the host's name in the form that the ledger uses
		host = name
	}
	return []audit.HostDelay{{Match: hostmatch.Exactly(host), Delay: delay.Seconds(), Since: c.At}}
}

// slower returns the host and the delay of a Slower action.
func (c *Change) slower() (host string, delay time.Duration, err error) {
	host, text, _ := strings.Cut(c.To, " ")
	delay, err = time.ParseDuration(text)
	return host, delay, err
}

// slowed returns the delays that all Slower actions add to the ledger check, newest first.
func (m *Manifest) slowed() (all []audit.HostDelay) {
	for _, run := range m.Runs {
		for i := range run.Changes {
			if c := &run.Changes[i]; c.Key == ActionSlower {
				all = append(c.hostDelays(), all...)
			}
		}
	}
	return all
}

// record writes an action that has taken effect to the manifest.
func (j *Job) record(what Action, host string) error {
	j.recording.Lock()
	defer j.recording.Unlock()
	if j.ended {
		return nil
	}
	return j.recordLocked(Change{Key: what, To: host, At: time.Now().UTC()})
}

func (j *Job) recordLocked(c Change) error {
	run := j.manifest.Last()
	run.Changes = append(run.Changes, c)
	return outputError(j.manifest.write(j.files.plainDir))
}

// again applies the orders that an operator gave to earlier processes of the job.
func (j *Job) again() error {
	for _, run := range j.manifest.Runs {
		for i := range run.Changes {
			if err := j.obey(&run.Changes[i]); err != nil {
				return damagedSettings(j.files.path(manifestName), err)
			}
		}
	}
	return nil
}

func (j *Job) obey(c *Change) error {
	switch c.Key {
	case ActionLeaveOut:
		return j.crawler.LeaveOut(c.To)
	case ActionSlower:
		host, delay, err := c.slower()
		if err != nil {
			return err
		}
		if err := j.crawler.Slower(host, delay); err != nil && !errors.Is(err, politeness.ErrShorter) { // ErrShorter: the configured delay is longer now
			return err
		}
	}
	return nil
}
