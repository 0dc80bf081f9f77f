package job

import (
	"fmt"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Unfinished reports whether the last process has not ended in good order: it works on the job, or it was killed.
func (m *Manifest) Unfinished() bool { return m.Last().Ended.IsZero() }

// Standing describes the state of a job with manifest m in words: which process works on it, that the last one was killed, or
// how it ended.
func (r *Reader) Standing(m *Manifest) string {
	last := m.Last()
	switch {
	case m.Unfinished() && r.Running():
		return fmt.Sprintf("running, process %d on %s", last.PID, last.Host.Name)
	case m.Unfinished():
		return "killed"
	case last.Error != "":
		return "ended by an error"
	}
	return "ended " + last.Ended.Format(time.DateTime) + " UTC (" + string(last.Finish) + ")"
}

// Interim summarizes the files of a job that is [Manifest.Unfinished].
type Interim struct {
	// Report holds what ledger, visits and queue show: it lacks links, connections and the lower bound of the time. Ended is the
	// time of the last line written.
	Report *crawler.Report
	Facts  *digest.Facts
	Queue  error // error that makes Report.Left unknown; nil if Report.Left is known
}

// maxTypes limits the media types with a separate count.
const maxTypes = 200

// Interim summarizes the ledger and the visits like Facts, and counts queued URLs. It changes nothing, and does not hinder a
// process that works on the job.
func (r *Reader) Interim(m *Manifest, each ...func(*sink.Record)) (*Interim, error) {
	rep := &crawler.Report{Runs: len(m.Runs), Statuses: map[int]int{}, Errors: map[int]int{}, WallStatuses: map[int]int{}, Types: map[string]int{}, Outcomes: map[crawler.Outcome]int{}}
	facts, err := r.Facts(append(each, func(v *sink.Record) {
		if v.Status > 0 {
			rep.Statuses[v.Status]++
			if v.Reason == politeness.ReasonChallenge {
				rep.WallStatuses[v.Status]++
			}
		}
		if v.Outcome == string(crawler.Fetched) {
			name := v.Type
			if _, known := rep.Types[name]; !known && len(rep.Types) >= maxTypes {
				name = "other"
			}
			rep.Types[name]++
			if v.Status >= 400 {
				rep.Errors[v.Status]++
			}
		}
		if v.Terms != nil {
			if u, err := weburl.Parse(v.URL); err == nil {
				rep.AddTerms(u.Host(), v.Terms)
			}
		}
	})...)
	if err != nil {
		return nil, err
	}
	t := &facts.Total
	for o, n := range t.Outcomes {
		rep.Outcomes[crawler.Outcome(o)] = n
	}
	rep.Pages, rep.Requests, rep.Retries, rep.Bytes, rep.Reasons, rep.Usage = t.Pages(), t.Requests, t.Retries, t.Bytes, t.Reasons, t.Usage
	rep.Server.Duration, rep.TooMany, rep.ServerErrors, rep.Same, rep.Near = t.Server, t.TooMany, t.Classes[5], t.Same, t.Near
	rep.Walls, rep.LostToOthers.Duration = t.Walls, t.LostToOthers
	for i := range facts.Hosts {
		if facts.Hosts[i].Answers.Count > 0 {
			rep.Hosts++
		}
	}
	rep.Started, rep.Ended, rep.Elapsed.Duration = m.spans(facts)
	in := &Interim{Report: rep, Facts: facts}
	_, rep.Rejected, in.Queue = r.Queue(func(h disk.HostCount) error {
		rep.Left += h.Queued + h.Waiting
		return nil
	})
	return in, nil
}

// spans returns when the job began, when its last line was written, and how long its processes worked, as far as known.
func (m *Manifest) spans(f *digest.Facts) (from, to time.Time, worked time.Duration) {
	last := m.Last().Started
	to = last
	for _, at := range [...]time.Time{f.Last, f.Processed} {
		if at.After(to) {
			to = at
		}
	}
	for i := range m.Runs {
		if run := &m.Runs[i]; !run.Ended.IsZero() {
			worked += run.Ended.Sub(run.Started)
		}
	}
	return m.Runs[0].Started, to, worked + to.Sub(last)
}
