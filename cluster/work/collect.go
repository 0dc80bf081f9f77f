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
	"github.com/amble-crawler/amble/frontier/disk"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
)

// Collecting says what to collect.
type Collecting struct {
	Engine cluster.Engine
	Name   string   // of the job
	Nodes  []string // directories of the nodes
	// Partial makes a job directory without segments that are missing, instead of none.
	Partial bool
}

// Collected is the result of [Collecting.Into].
type Collected struct {
	Report   *crawler.Report
	Segments int
	Missing  []string // what of which segments is not at hand, a sentence for each
	Visits   int      // committed in the segments that are missing
	LeftOut  []string // of Collecting.Nodes: what is no directory of a node
	End      string   // why the job is over, as cluster.LoadEnd returns it; "": it is not
}

// ErrMissing is wrapped by the error of [Collecting.Into] if segments are missing.
var ErrMissing = errors.New("not everything that was crawled is at hand")

// Into makes a job directory of what the nodes have committed. It changes nothing in the engine and in the nodes' directories,
// and may be called while the job runs: the result then holds everything committed until now.
func (c *Collecting) Into(ctx context.Context, dir string) (*Collected, error) {
	j, err := Load(ctx, c.Engine)
	if err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, &job.Error{Kind: job.Refused, Err: fmt.Errorf("directory %s is not empty: name another one", dir)}
	}
	all, err := c.survey(ctx, j, filepath.Dir(filepath.Clean(dir)))
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

// survey compares the contents of the journals with the files at hand.
type survey struct {
	res     *Collected
	sources []job.Source
	all     int // visits that were committed
}

// survey reads all journals. Queues are rebuilt in a temporary directory below near.
func (c *Collecting) survey(ctx context.Context, j *Job, near string) (*survey, error) {
	nodes, leftOut, err := nodeDirs(j, c.Nodes)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(near, 0o755); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(near, ".amble-collect-*")
	if err != nil {
		return nil, err
	}
	s := &survey{res: &Collected{Report: new(crawler.Report), LeftOut: leftOut}}
	if s.res.End, err = cluster.LoadEnd(ctx, c.Engine); err != nil {
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	q := &queues{c.Engine, tmp, disk.Config{Key: j.Config.Crawl.Canonical.Key}}
	for shard := range j.Shards {
		if err := s.add(ctx, q, nodes, shard); err != nil {
			return nil, errors.Join(err, os.RemoveAll(tmp))
		}
	}
	s.res.Report.Finish = finishOf(s.res.End, s.res.Report.Left)
	return s, os.RemoveAll(tmp)
}

func (s *survey) add(ctx context.Context, q *queues, nodes map[string]string, shard int) error {
	state, err := q.read(ctx, shard)
	if err != nil {
		return err
	}
	state.report.Left = state.left
	s.res.Report.Add(state.report)
	for _, g := range state.segments {
		src := job.Source{Segment: g, NodeDir: nodes[g.Node]}
		s.res.Segments++
		s.all += g.Visits
		if what := src.Missing(); what != "" {
			s.res.Missing = append(s.res.Missing, what)
			s.res.Visits += g.Visits
			continue
		}
		if src.NodeDir != "" {
			s.sources = append(s.sources, src)
		}
	}
	return nil
}

// nodeDirs returns the directories of nodes by the nodes' names, and what of dirs is no node's, such as a log or a job directory
// with a similar name.
func nodeDirs(j *Job, dirs []string) (nodes map[string]string, leftOut []string, err error) {
	nodes = map[string]string{}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err == nil && info.Mode().IsRegular() {
			leftOut = append(leftOut, dir)
			continue
		}
		there := err == nil
		m, err := readMark(dir)
		switch {
		case errors.Is(err, os.ErrNotExist) && there:
			leftOut = append(leftOut, dir)
			continue
		case errors.Is(err, os.ErrNotExist):
			return nil, nil, &job.Error{Kind: job.Refused, Err: fmt.Errorf("%s is not there: name the directories of the nodes", dir)}
		case err != nil:
			return nil, nil, err
		case m.Job != j.id():
			return nil, nil, &job.Error{Kind: job.Refused, Err: fmt.Errorf("%s is of another job", dir)}
		case nodes[m.Node] != "":
			return nil, nil, &job.Error{Kind: job.Refused, Err: fmt.Errorf("%s and %s are both of node %s: leave out the copy", nodes[m.Node], dir, m.Node)}
		}
		nodes[m.Node] = dir
	}
	if len(dirs) > 0 && len(nodes) == 0 {
		return nil, nil, &job.Error{Kind: job.Refused, Err: fmt.Errorf("%s is no directory of a node, which has a %s, and neither is any other that is named", dirs[0], job.NodeName)}
	}
	return nodes, leftOut, nil
}

// finishOf says how a job ended, in the words of a crawl.
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
