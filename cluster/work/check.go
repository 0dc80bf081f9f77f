package work

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
)

// Checked is the result of [Collecting.Check].
type Checked struct {
	Shards   int      `json:"shards"`
	Segments int      `json:"segments"`
	Visits   int      `json:"visits"`             // number of committed visits
	Faults   []string `json:"faults"`             // one sentence for each fault
	Dead     int      `json:"dead_letters"`       // unreadable messages of inboxes, whose links are lost
	Damaged  int      `json:"visits_affected"`    // visits in segments with a fault
	LeftOut  []string `json:"left_out,omitempty"` // entries of Collecting.Nodes that are not directories of a node
	Unstored string   `json:"unstored,omitempty"` // why the engine stores nothing at present; "": it stores
}

// Check reads every journal from its beginning, or from its latest snapshot, and compares the directories of nodes with the commits. If
// c.Nodes is empty, it only reads the journals. It changes nothing in the job.
func (c *Collecting) Check(ctx context.Context) (*Checked, error) {
	j, err := Load(ctx, c.Engine)
	if err != nil {
		return nil, err
	}
	nodes, err := c.open(ctx, j)
	if err != nil {
		return nil, err
	}
	defer nodes.close()
	res := &Checked{Shards: j.Shards, Faults: []string{}, LeftOut: nodes.leftOut}
	if err := cluster.Probe(ctx, c.Engine); err != nil {
		res.Unstored = err.Error()
	}
	tmp, err := os.MkdirTemp("", "amble-check-*")
	if err != nil {
		return nil, err
	}
	q := newQueues(c.Engine, j, tmp)
	for shard := range j.Shards {
		if err := res.readAside(ctx, c.Engine, shard); err != nil {
			return nil, errors.Join(err, os.RemoveAll(tmp))
		}
		s := &survey{res: &Collected{Report: new(crawler.Report)}}
		state, err := q.read(ctx, shard)
		if err == nil {
			err = s.gather(ctx, nodes, s.add(state), filepath.Join(tmp, "segments"))
		}
		if err = errors.Join(err, os.RemoveAll(filepath.Join(tmp, "segments"))); err != nil {
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

// maxNamed limits the number of dead letters of a shard that are listed.
const maxNamed = 20

// readAside adds a fault for each unreadable message of a shard's inbox.
func (c *Checked) readAside(ctx context.Context, e cluster.DeadLetters, shard int) error {
	n := 0
	for x, err := range e.Aside(ctx, shard) {
		if err != nil {
			return err
		}
		if n++; n <= maxNamed {
			c.Faults = append(c.Faults, fmt.Sprintf("shard %d: message %d of its inbox (%s, put aside at %s) is damaged, or of a newer version: the links in it are lost",
				shard, x.Seq, cli.Plural(len(x.Data), "byte"), x.At.UTC().Format(time.RFC3339)))
		}
	}
	if n > maxNamed {
		c.Faults = append(c.Faults, fmt.Sprintf("shard %d: %d further messages of its inbox are damaged, or of a newer version: the links in them are lost", shard, n-maxNamed))
	}
	c.Dead += n
	return nil
}
