package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// Collecting configures the collection of a job's files.
type Collecting struct {
	Engine cluster.Engine
	Name   string // name of the job
	// Nodes has directories of nodes, and URLs of stores (see package stores/open). Of a URL, all nodes of the job below it count. Files that
	// are missing in a node's directory are looked up in the stores.
	Nodes []string
	// Partial makes a job directory even if segments are missing.
	Partial bool
}

// Collected is the result of [Collecting.Into].
type Collected struct {
	Report   *crawler.Report
	Segments int
	Commits  []uint64 // sequence of the last commit in each shard's journal, for [cluster.NoteCollected]
	Missing  []string // missing segments, one sentence each
	Visits   int      // committed visits in the missing segments
	LeftOut  []string // entries of Collecting.Nodes that are not directories of a node, and data of other jobs in stores
	End      string   // why the job ended, as returned by cluster.LoadEnd; "": it has not
}

// ErrMissing is wrapped by the error of [Collecting.Into] if segments are missing and Partial is not set.
var ErrMissing = errors.New("not everything that was crawled is at hand")

// Into makes a job directory from the commits of the nodes. It changes neither the engine nor the nodes' directories. It may be called
// while the job runs: then the result holds everything committed so far.
func (c *Collecting) Into(ctx context.Context, dir string) (_ *Collected, err error) {
	j, err := Load(ctx, c.Engine)
	if err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, &job.Error{Kind: job.Refused, Err: fmt.Errorf("directory %s is not empty: name another one", dir)}
	}
	tmp, err := beginTemp(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	all, err := c.survey(ctx, j, tmp)
	if err != nil {
		return nil, err
	}
	res := all.res
	if len(res.Missing) > 0 && !c.Partial {
		return res, fmt.Errorf("%w: %s in %s:\n  %s", ErrMissing, cli.Plural(res.Visits, "visit"), cli.Plural(len(res.Missing), "segment"), strings.Join(res.Missing, "\n  "))
	}
	a := &job.Assembly{Config: j.Config, Seeds: j.Seeds, Of: "cluster job " + c.Name, Sources: all.sources, Report: *res.Report, MaxSkew: j.MaxSkew}
	orders, err := cluster.LoadOrders(ctx, c.Engine)
	if err != nil {
		return nil, err
	}
	for _, o := range orders {
		a.Orders = append(a.Orders, job.Change{Key: o.What, From: o.By, To: o.To, At: o.At})
	}
	if err := job.Assemble(dir, a); err != nil {
		return res, err
	}
	res.Report = &a.Report
	return res, nil
}

// beginTemp makes a temporary directory beside dir, and first removes a directory that a killed process has left.
func beginTemp(dir string) (string, error) {
	dir = filepath.Clean(dir)
	tmp := filepath.Join(filepath.Dir(dir), ".amble-collect-"+filepath.Base(dir))
	return tmp, errors.Join(os.RemoveAll(tmp), os.MkdirAll(tmp, 0o755))
}

// survey lists the files that the journals require, and which of them are available.
type survey struct {
	res     *Collected
	sources []job.Source
	all     int // number of committed visits
}

// survey reads all journals. It rebuilds the shards' queues in the directory tmp, and copies files from stores to it.
func (c *Collecting) survey(ctx context.Context, j *Job, tmp string) (*survey, error) {
	nodes, err := c.open(ctx, j)
	if err != nil {
		return nil, err
	}
	defer nodes.close()
	s := &survey{res: &Collected{Report: new(crawler.Report), LeftOut: nodes.leftOut}}
	if s.res.End, err = cluster.LoadEnd(ctx, c.Engine); err != nil {
		return nil, err
	}
	var segments []job.Segment
	err = newQueues(c.Engine, j, filepath.Join(tmp, "queues")).each(ctx, func(state shardState) { segments = append(segments, s.add(state)...) })
	if err != nil {
		return nil, err
	}
	s.res.Report.Finish = finishOf(s.res.End, s.res.Report.Left)
	return s, s.gather(ctx, nodes, segments, filepath.Join(tmp, "segments"))
}

// add adds the counts from the journal of a shard to the result, and returns the shard's segments.
func (s *survey) add(state shardState) []job.Segment {
	state.report.Left = state.left
	s.res.Report.Add(state.report)
	s.res.Segments += len(state.segments)
	s.res.Commits = append(s.res.Commits, state.commit)
	return state.segments
}

// gather looks up the files of segments in directories and stores.
func (s *survey) gather(ctx context.Context, nodes *places, segments []job.Segment, tmp string) error {
	sources, err := job.Gather(ctx, segments, nodes.files, tmp)
	for _, src := range sources {
		s.all += src.Visits
		switch {
		case src.Lacks != "":
			s.res.Missing = append(s.res.Missing, src.Lacks)
			s.res.Visits += src.Visits
		case src.NodeDir != "":
			s.sources = append(s.sources, src)
		}
	}
	return err
}

// finishOf converts the end of a cluster job to the finish of a crawl.
func finishOf(end string, left int) crawler.Finish {
	switch end {
	case cluster.EndDone:
		return crawler.FinishDone
	case cluster.EndPages:
		if left == 0 {
			return crawler.FinishDone
		}
		return crawler.FinishPages
	case cluster.EndBytes:
		return crawler.FinishBytes
	case cluster.EndFailed:
		return crawler.FinishErrors
	case cluster.EndTime:
		return crawler.FinishTime
	}
	return crawler.FinishDrained
}
