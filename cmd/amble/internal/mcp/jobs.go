package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/jobs"
	"github.com/amble-crawler/amble/weburl"
)

// keepBody names the program of jobs that store the body of each response in the data of its visit.
const keepBody = "keep-body"

// maxKept limits a stored body to the size that RFC 9309 section 2.5 permits as a limit of robots.txt.
const maxKept = 500 << 10

// Programs returns the programs for jobs that tools start.
func Programs() map[string]jobs.Program {
	return map[string]jobs.Program{keepBody: func(_ json.RawMessage, c *job.Config) error {
		c.Crawl.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
			if v.Page == nil {
				return nil
			}
			return v.Emit(v.Page.Body[:min(len(v.Page.Body), maxKept)])
		})
		return nil
	}}
}

// request returns a request for a job with the given settings and those common to all jobs.
func (t *tools) request(program string, settings map[string]any, seeds ...string) jobs.Request {
	all := maps.Clone(t.Settings)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, settings)
	return jobs.Request{Seeds: seeds, Settings: all, Program: program, Owner: "mcp"}
}

// Limits on the jobs that are remembered: their number, and their age.
const (
	maxRecent = 10_000
	maxAge    = 24 * time.Hour
)

// run returns the job for a call and waits up to patience for its end. If the previous call of this kind ended without a result, it is the
// job of that call. Otherwise it is a job that was started within age and has not failed, or a new one.
func (t *tools) run(ctx context.Context, asked string, age time.Duration, q jobs.Request) (progress, jobs.Info, error) {
	id, err := t.start(asked, age, q)
	if err != nil {
		return progress{}, jobs.Info{}, err
	}
	p, info, err := t.await(ctx, id)
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.recent[asked]; ok && s.id == id && err == nil {
		s.owed = p.State == waiting
		t.recent[asked] = s
	}
	return p, info, err
}

// start starts a job, unless there is a usable one from an earlier call with the same arguments.
func (t *tools) start(asked string, age time.Duration, q jobs.Request) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if known, ok := t.recent[asked]; ok {
		info, err := t.Jobs.Info(known.id)
		if err == nil && info.State != jobs.Failed && (known.owed || !info.State.Ended() || now.Sub(known.at) < min(age, maxAge)) {
			return known.id, nil
		}
	}
	maps.DeleteFunc(t.recent, func(_ string, s started) bool { return now.Sub(s.at) > maxAge })
	if len(t.recent) >= maxRecent {
		return "", errors.New("too many different pages within a day: begin a crawl of them instead")
	}
	info, err := t.Jobs.Start(q)
	if err == nil {
		t.recent[asked] = started{id: info.ID, at: now}
	}
	return info.ID, err
}

// await waits for a job up to patience, and returns its progress.
func (t *tools) await(ctx context.Context, id string) (progress, jobs.Info, error) {
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	info, err := t.Jobs.Wait(patient, id)
	switch {
	case err == nil && info.State == jobs.Failed:
		return progress{State: failed, Why: info.Error, Job: id}, info, nil
	case err == nil:
		return progress{State: done, Job: id}, info, nil
	case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
		return progress{}, info, err
	}
	if info, err = t.Jobs.Info(id); err != nil {
		return progress{}, info, err
	}
	p := progress{State: waiting, Job: id}
	p.Retry, p.Why = comeBack(&info)
	return p, info, nil
}

// comeBack returns after how many seconds to call again about an unfinished job, and what the job waits for.
func comeBack(info *jobs.Info) (seconds int, why string) {
	const soon = 5
	switch info.State {
	case jobs.Queued:
		return soon, "other jobs run first"
	case jobs.Paused:
		return 60, "the operator has paused the job"
	}
	r, err := job.Read(info.Dir)
	if err != nil {
		return soon, "the job begins"
	}
	defer func() { _ = r.Close() }() // opened only for reading
	states, err := r.HostStates()
	u, err2 := weburl.Parse(info.Seeds[0])
	if err != nil || err2 != nil {
		return soon, "the job begins"
	}
	h := states(u.Host())
	if left := time.Until(h.NotBefore); left > 0 {
		return int(math.Ceil(left.Seconds())), "the host is owed a pause: " + h.Waits
	}
	return max(1, int(math.Ceil(h.Delay.Seconds()))), "the host is asked by others, or has not answered yet"
}
