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

// Action is something that an operator did while a crawl ran. Each is a [Change] in the manifest, with its time.
type Action = string

// The actions.
const (
	ActionPause    Action = "pause"
	ActionResume   Action = "resume"
	ActionDrain    Action = "drain"
	ActionLeaveOut Action = "leave-out"
	ActionSlower   Action = "slower" // To is the host and its delay

	// Those of a job that many processes share.
	ActionOptOut Action = "opt-out" // To are the hosts of a list
	ActionRetry  Action = "retry"   // hosts that were given up are requested again
	ActionSet    Action = "set"     // To is KEY=VALUE
	ActionAdd    Action = "add"     // To says which seeds: a file's name, their number, and the hash of the file
)

// Pause is [crawler.Crawler.Pause], recorded in the manifest. A pause ends with the process: a job that is resumed runs.
//
// Like all actions it takes effect even if the manifest cannot be written, which the error says; it does nothing, without an
// error, once the crawl has ended.
func (j *Job) Pause() error {
	j.crawler.Pause()
	return j.record(ActionPause, "")
}

// Resume is [crawler.Crawler.Resume], recorded in the manifest.
func (j *Job) Resume() error {
	j.crawler.Resume()
	return j.record(ActionResume, "")
}

// Drain is [crawler.Crawler.Drain], recorded in the manifest: the crawl ends when the requests in flight have ended, and can be
// resumed later.
func (j *Job) Drain() error {
	j.crawler.Drain()
	return j.record(ActionDrain, "")
}

// LeaveOut is [crawler.Crawler.LeaveOut], recorded in the manifest. It holds for the rest of the job, over all processes.
func (j *Job) LeaveOut(host string) error {
	if err := j.crawler.LeaveOut(host); err != nil {
		return &Error{Kind: Refused, Err: err}
	}
	return j.record(ActionLeaveOut, host)
}

// Slower is [crawler.Crawler.Slower], recorded in the manifest, and for the check of the ledger. It holds for the rest of the
// job, over all processes.
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

// noteSlower adds a delay to those that the ledger is checked against.
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
	if name := hostmatch.Name(hostmatch.Exactly(host)); name != "" { // as the ledger has it
		host = name
	}
	return []audit.HostDelay{{Match: hostmatch.Exactly(host), Delay: delay.Seconds(), Since: c.At}}
}

// slower reads the action.
func (c *Change) slower() (host string, delay time.Duration, err error) {
	host, text, _ := strings.Cut(c.To, " ")
	delay, err = time.ParseDuration(text)
	return host, delay, err
}

// slowed returns the delays that all such actions add to the ledger check, newest first.
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

// record notes an action that has taken effect.
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

// again makes the orders hold that an operator gave before, in an earlier process.
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
		if err := j.crawler.Slower(host, delay); err != nil && !errors.Is(err, politeness.ErrShorter) { // the job's own delay is longer now
			return err
		}
	}
	return nil
}
