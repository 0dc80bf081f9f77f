package cluster

import (
	"context"
	"time"

	"github.com/amble-crawler/amble/frontier/disk"
)

// RunNode is Node.Run of a process that ends at once when alive does.
func RunNode(n *Node, ctx, alive context.Context) error { return n.run(ctx, alive) }

// MaxSkew returns the job's.
func (n *Node) MaxSkew() int64 { return int64(n.job.MaxSkew) }

// RegisterEnd is the register that says that a job is over.
const RegisterEnd = registerEnd

// Rebuild takes a shard over and opens its store, rebuilt in dir.
func Rebuild(ctx context.Context, e Engine, shard int, dir string, j Job) (*disk.Store, error) {
	last, err := e.Last(ctx, shard)
	if err != nil {
		return nil, err
	}
	o, err := takeOver(ctx, e, shard, "judge", j.TTL, last)
	if err != nil {
		return nil, err
	}
	if err := o.follow(dir, disk.Config{}); err != nil {
		return nil, err
	}
	return disk.Open(dir, disk.Config{Journal: o})
}

// RebuildIn is Rebuild of shard 0, by a node that lives until the process ends.
func RebuildIn(e Engine, dir string, j Job, c disk.Config) (*disk.Store, error) {
	ctx := context.Background()
	last, err := e.Last(ctx, 0)
	if err != nil {
		return nil, err
	}
	o, err := takeOver(ctx, e, 0, "n", j.TTL, last)
	if err != nil {
		return nil, err
	}
	o.lease.life = 1 << 60 // nobody renews it
	if err := o.follow(dir, c); err != nil {
		return nil, err
	}
	c.Journal = o
	return disk.Open(dir, c)
}

// Written is a record of a journal.
type Written struct {
	At          time.Time // when the engine stored it
	Epoch       uint64
	Open, Close bool
}

// ReadWritten reads records of a journal.
func ReadWritten(entries []Entry) (all []Written, err error) {
	for _, x := range entries {
		r, err := decodeRecord(x.Data)
		if err != nil {
			return nil, err
		}
		all = append(all, Written{x.At, r.epoch, r.kind == kindOpen, r.kind == kindClose})
	}
	return all, nil
}
