package work

import (
	"context"
	"fmt"
	"os"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
)

// Checked is the result of [Collecting.Check].
type Checked struct {
	Shards   int      `json:"shards"`
	Segments int      `json:"segments"`
	Visits   int      `json:"visits"`          // that were committed
	Faults   []string `json:"faults"`          // a sentence for each
	Damaged  int      `json:"visits_affected"` // visits in segments with a fault
}

// Check reads every journal from its beginning, or from its latest snapshot, and compares the directories of nodes with what was
// committed. With no directories it only reads the journals. Nothing is changed.
func (c *Collecting) Check(ctx context.Context) (*Checked, error) {
	j, err := Load(ctx, c.Engine)
	if err != nil {
		return nil, err
	}
	nodes, err := nodeDirs(j, c.Nodes)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "amble-check-*")
	if err != nil {
		return nil, err
	}
	res := &Checked{Shards: j.Shards, Faults: []string{}}
	q := &queues{engine: c.Engine, dir: tmp}
	q.config.Key = j.crawl.Canonical.Key
	for shard := range j.Shards {
		s := &survey{res: &Collected{Report: new(crawler.Report)}}
		if err := s.add(ctx, q, nodes, shard); err != nil {
			if ctx.Err() != nil {
				break
			}
			res.Faults = append(res.Faults, cli.Printable(fmt.Sprintf("shard %d: %v", shard, err)))
			continue
		}
		res.Segments += s.res.Segments
		res.Visits += s.all
		if len(c.Nodes) > 0 {
			res.Faults = append(res.Faults, s.res.Missing...)
			res.Damaged += s.res.Visits
		}
	}
	if err := os.RemoveAll(tmp); err != nil {
		return nil, err
	}
	return res, ctx.Err()
}
