package job

import "time"

// Action is something that an operator did while a crawl ran. Each is a [Change] in the manifest, with its time.
type Action = string

// The actions.
const (
	ActionPause    Action = "pause"
	ActionResume   Action = "resume"
	ActionDrain    Action = "drain"
	ActionLeaveOut Action = "leave-out"
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

// record notes an action that has taken effect.
func (j *Job) record(what Action, host string) error {
	j.recording.Lock()
	defer j.recording.Unlock()
	if j.ended {
		return nil
	}
	run := j.manifest.Last()
	run.Changes = append(run.Changes, Change{Key: what, To: host, At: time.Now().UTC()})
	return outputError(j.manifest.write(j.files.plainDir))
}

// leaveOut leaves out the hosts that an operator left out before, in this process or an earlier one.
func (j *Job) leaveOut() error {
	for _, run := range j.manifest.Runs {
		for _, c := range run.Changes {
			if c.Key != ActionLeaveOut {
				continue
			}
			if err := j.crawler.LeaveOut(c.To); err != nil {
				return damagedSettings(j.files.path(manifestName), err)
			}
		}
	}
	return nil
}
