// Package work runs crawls with the settings of package job on a cluster: it creates cluster jobs, works on them, and collects the
// nodes' files into one job directory.
//
//	at := nats.Config{URLs: urls, Job: "shops", Shards: work.DefaultShards}
//	err := nats.Create(ctx, at) // once
//	engine, err := nats.Connect(ctx, at)
//	err = work.Create(ctx, engine, &work.Spec{Config: config, Seeds: seeds}) // once
//	…
//	node := &work.Node{Engine: engine, Name: "n1", Dir: "n1", JobName: "shops"}
//	err = node.Run(ctx) // runs on each machine until the job is over
//	…
//	collecting := &work.Collecting{Engine: engine, Name: "shops", Nodes: []string{"n1", "n2"}}
//	all, err := collecting.Into(ctx, "shops")
package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// DefaultShards is the default number of shards of a job.
const DefaultShards = 64

// Spec is a job to be created.
type Spec struct {
	// Config may have fields that no setting can express, such as a Handler: then each node needs a Node.Program that sets the same fields. It
	// must not have Items: results of a Handler are in visits.jsonl of the collected job.
	Config job.Config
	Seeds  []weburl.URL

	Shards  int           // number of shards; 0: DefaultShards
	Lease   time.Duration // see cluster.Job.TTL
	MaxSkew time.Duration // see cluster.Job.MaxSkew
}

// Job is a job in an engine.
type Job struct {
	cluster.Job
	Config job.Config
	Seeds  []weburl.URL
	// Program lists the fields that no setting can express and that Node.Program must set, as named by job.Config.Program.
	Program []string

	crawl crawler.Config
}

// settings holds the part of the crawl's configuration that the nodes of a job know.
type settings struct {
	Schema  string    `json:"schema"`
	Created time.Time `json:"created"`
	File    string    `json:"file"` // settings in the form of a job file
	Program []string  `json:"program,omitempty"`
}

// Forms of settings. Version 0.2.0 knows only the first form, and refuses to work on a job of the second: see cluster.Job.Form.
const (
	oldSettings    = "amble.cluster/1"
	settingsSchema = "amble.cluster/2"
)

// maxSettings limits the total bytes of settings and seeds: together they are one value in the engine, which accepts at most 1 MiB.
const maxSettings = 700 << 10

// ErrTooManySeeds means that the settings and seeds of a new job are too large: [Operator.Add] adds any number of seeds later.
var ErrTooManySeeds = errors.New("too many settings and seeds to create a job with")

// Check returns the job that the spec describes, or an error if the spec is invalid. It changes nothing.
func (s *Spec) Check() (cluster.Job, error) {
	if err := checkItems(&s.Config); err != nil {
		return cluster.Job{}, err
	}
	c := withBrowser(s.Config)
	cfg, err := c.Shared(s.Seeds)
	if err != nil {
		return cluster.Job{}, err
	}
	file, err := s.Config.File(s.Seeds)
	if err != nil {
		return cluster.Job{}, err
	}
	if len(file) > maxSettings {
		return cluster.Job{}, fmt.Errorf("%w: they have %d bytes, and a cluster job has room for %d", ErrTooManySeeds, len(file), maxSettings)
	}
	b, err := json.Marshal(settings{settingsSchema, time.Now().UTC(), string(file), s.Config.Program()})
	if err != nil {
		return cluster.Job{}, fmt.Errorf("work: %w", err)
	}
	j := cluster.Job{Shards: s.Shards, TTL: s.Lease, MaxSkew: s.MaxSkew, Delay: max(0, cfg.Politeness.Delay), Settings: b}
	if j.Shards == 0 {
		j.Shards = DefaultShards
	}
	l := cfg.Limits
	j.Limits = cluster.Limits{
		Pages: int64(max(0, l.Pages)), Bytes: int64(max(0, l.Bytes)), Failed: int64(max(0, l.Errors)), Time: l.Time,
	}
	j.Rate = cfg.Politeness.Rate
	return j, nil
}

// Create stores a new job in an engine. The error is about the spec, or cluster.ErrJobExists, or the engine's.
func Create(ctx context.Context, e cluster.Registers, s *Spec) error {
	j, err := s.Check()
	if err != nil {
		return err
	}
	return cluster.Create(ctx, e, j)
}

// Load reads the job of an engine. It reads no files and no environment variables, even if the settings name them. The error is
// cluster.ErrNoJob, is about the settings, or is the engine's.
func Load(ctx context.Context, e cluster.Registers) (*Job, error) {
	c, err := cluster.LoadJob(ctx, e)
	if err != nil {
		return nil, err
	}
	var s settings
	if err := json.Unmarshal(c.Settings, &s); err != nil || s.Schema != settingsSchema && s.Schema != oldSettings {
		return nil, fmt.Errorf("the job was created by another program, or another version: its settings are of the form %q, and this program knows %s and %s", s.Schema, oldSettings, settingsSchema)
	}
	j := &Job{Job: c, Program: s.Program}
	f, err := job.ParseFile("the job's settings", []byte(s.File))
	if err != nil {
		return nil, err
	}
	all, err := f.Settings()
	if err != nil {
		return nil, err
	}
	if j.Config, err = all.Config(); err != nil {
		return nil, err
	}
	for _, text := range f.URLs() {
		u, err := weburl.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("the job's seed %s: %w", text, err)
		}
		j.Seeds = append(j.Seeds, u)
	}
	if len(j.Seeds) == 0 {
		return nil, errors.New("the job has no seeds")
	}
	return j, nil
}
