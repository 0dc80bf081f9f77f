package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
)

// Growth is a doubling of the number of shards of a job.
type Growth struct {
	Shards int    // new number of shards: twice the present one, at most 1024
	By     string // name of the operator
	// Dir is a directory for temporary copies of the shards' queues, one at a time. It is empty afterwards.
	Dir   string
	Store disk.Config // configuration of these queues
	// Inherit returns the part of a value (see frontier.Durable.Values) that the crawl of a new shard inherits from the crawl that had its
	// hosts, nil for none. name is the name of the value, of the owner "". crawler.Inherit is such a function.
	Inherit func(name string, value []byte, ours func(host string) bool) []byte
	// Progress is called after each shard, with the number of finished shards. It may be nil.
	Progress func(done, of int)
}

// ErrAtWork is wrapped by the error of [Grow] if nodes may still work on the job, or an order was given meanwhile. The job is unchanged.
var ErrAtWork = errors.New("cluster: nodes may work on the job: its shards can be doubled after an order to drain, when all have ended")

// Grow doubles the number of shards of a job that was ended by OrderDrain. Of the hosts of shard p, some stay there and the others move
// to shard p plus the old number. If it is interrupted, the job is unchanged, and another call starts from the beginning; once it has
// succeeded, another call with the same number does nothing. The error is ErrAtWork, ErrOver for a job that has ended otherwise, wraps
// ErrValue for another number of shards, or comes from the engine or the disk: then it is unknown whether the job has grown, and the
// call can be repeated.
//
// When a node takes over a shard, it first stores the register of orders again, and so does Grow when it begins. The last step of Grow is
// to store an order, under the revision known from its beginning. So it succeeds only if no node can have owned a shard, and no other Grow
// has started, since all shards were taken from their last owners.
func Grow(ctx context.Context, e Engine, g Growth) error {
	orders, rev, err := holdOrders(ctx, e)
	if err != nil {
		return err
	}
	j, err := loadCreated(ctx, e)
	if j.grow(orders); err != nil || j.Shards == g.Shards {
		return err
	}
	if g.Shards != 2*j.Shards || g.Shards > maxShards {
		return fmt.Errorf("%w: %d shards: the job has %d, which can be doubled, up to %d", ErrValue, g.Shards, j.Shards, maxShards)
	}
	end, err := LoadEnd(ctx, e)
	switch {
	case err != nil:
		return err
	case end == "":
		return ErrAtWork
	case end != EndStopped:
		return fmt.Errorf("%w (%s)", ErrOver, end)
	}
	owners, errs := make([]*owner, j.Shards), make([]error, j.Shards)
	eachShard(j.Shards, func(i int) { owners[i], errs[i] = g.fence(ctx, e, &j, i) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, o := range owners {
		err := g.copy(ctx, e, &j, o)
		if errors.Is(err, ErrFenced) { // fenced by another call of Grow
			return ErrAtWork
		}
		if err != nil {
			return fmt.Errorf("cluster: shard %d: %w", i, err)
		}
		if g.Progress != nil {
			g.Progress(i+1, j.Shards)
		}
	}
	return g.order(ctx, e, orders, rev)
}

// holdOrders stores the orders again, unchanged, and returns them with the new revision. A later Store under that revision fails if another
// Grow has begun or a node has taken over a shard meanwhile.
func holdOrders(ctx context.Context, e Engine) (all []Order, rev uint64, err error) {
	for {
		if all, rev, err = loadOrders(ctx, e); err != nil {
			return nil, 0, err
		}
		b, err := json.Marshal(all)
		if err != nil {
			return nil, 0, fmt.Errorf("cluster: %w", err)
		}
		if rev, err = e.Store(ctx, registerOrders, b, rev); !errors.Is(err, ErrConflict) || ctx.Err() != nil {
			return all, rev, err
		}
	}
}

// order gives the order that doubles the number of shards.
func (g *Growth) order(ctx context.Context, e Engine, all []Order, rev uint64) error {
	now, err := e.Now(ctx)
	if err != nil {
		return err
	}
	o := Order{Number: len(all) + 1, At: now.UTC(), By: g.By, What: OrderGrow, To: fmt.Sprintf("%d shards", g.Shards), Value: float64(g.Shards)}
	if err = storeJSON(ctx, e, registerOrders, append(all, o), rev); errors.Is(err, ErrConflict) {
		return ErrAtWork
	}
	return err
}

// growPatience is the time for which Grow repeats an append that gets no answer.
const growPatience = 2 * time.Minute

// fence takes a shard from its last owner, and closes it again. Later appends of that owner fail.
func (g *Growth) fence(ctx context.Context, e Engine, j *Job, shard int) (*owner, error) {
	o, err := g.take(ctx, e, shard, func() (Entry, error) { return settled(ctx, e, j, shard) })
	if err != nil {
		return nil, err
	}
	return o, o.close()
}

// take takes over a shard. The function last returns the shard's last record.
func (g *Growth) take(ctx context.Context, e Engine, shard int, last func() (Entry, error)) (*owner, error) {
	for {
		x, err := last()
		if err != nil {
			return nil, err
		}
		o, err := takeOver(ctx, e, shard, g.By, growPatience, x)
		if !errors.Is(err, ErrFenced) || ctx.Err() != nil {
			return o, err
		}
		wait(ctx, retry) // the record was stale, or the owner has just appended
	}
}

// settled returns the last record of a shard once it has no owner. It waits as long as an owner may take to give the shard back. The error
// is ErrAtWork or the engine's.
func settled(ctx context.Context, e Engine, j *Job, shard int) (last Entry, err error) {
	begun := time.Now()
	since := begun
	for {
		x, err := e.Last(ctx, shard)
		if err != nil {
			return x, err
		}
		if x.Seq > last.Seq {
			last, since = x, time.Now()
		}
		if last.Seq == 0 {
			return last, nil
		}
		r, err := decodeRecord(last.Data)
		switch {
		case err != nil:
			return last, fmt.Errorf("%w: shard %d at %d", err, shard, last.Seq)
		case r.kind == kindClose, time.Since(since) >= j.TTL:
			return last, nil
		case time.Since(begun) > giveBackTime+2*j.TTL:
			return last, fmt.Errorf("%w: node %s still owns shard %d", ErrAtWork, r.node, shard)
		}
		if wait(ctx, j.TTL/12); ctx.Err() != nil {
			return last, ctx.Err()
		}
	}
}

// copy starts the journal of a new shard with the queues of its hosts, from the shard that had these hosts.
func (g *Growth) copy(ctx context.Context, e Engine, j *Job, from *owner) (err error) {
	dir := filepath.Join(g.Dir, "queue")
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	k, err := from.followed(dir, g.Store)
	if err != nil {
		return err
	}
	grown := *j
	grown.Shards *= 2
	to := from.shard + j.Shards
	ours := func(host string) bool { return grown.Shard(host) == to }
	p := disk.Part{Host: ours, Checkpoint: grown.shaped()}
	if g.Inherit != nil {
		p.Value = func(name string, value []byte) []byte { return g.Inherit(name, value, ours) }
	}
	o, err := g.take(ctx, e, to, func() (Entry, error) { return e.Last(ctx, to) }) // the shard's last record may be from an earlier attempt
	if err == nil {
		err = k.Part(p, func(group []byte) error {
			_, err := o.Append(group)
			return err
		})
	}
	if err == nil {
		err = o.close()
	}
	return errors.Join(err, k.Close())
}

// offsetShards is the name of the offset that holds the number of shards for which a shard's hosts were last selected.
const offsetShards = "shards"

// shaped returns the checkpoint that records that a shard has only the hosts that belong to it with the job's number of shards.
func (j *Job) shaped() frontier.Checkpoint {
	return frontier.Checkpoint{Owner: ownerName, Offsets: map[string]int64{offsetShards: int64(j.Shards)}}
}

// shed removes, from the copy in dir and from the journal, the hosts that belong to another shard since the shards were doubled.
func (o *owner) shed(dir string, c disk.Config, j *Job) error {
	if j.Doubled == 0 {
		return nil
	}
	k, err := disk.OpenCopy(dir, c)
	if err != nil {
		return err
	}
	offsets, err := k.Offsets(ownerName)
	if err == nil && k.Mark() != (disk.Mark{}) && offsets[offsetShards] != int64(j.Shards) {
		err = k.Drop(func(host string) bool { return j.Shard(host) != o.shard }, j.shaped(), o)
	}
	return errors.Join(err, k.Close())
}

// grow applies to j the orders that doubled the number of shards.
func (j *Job) grow(all []Order) {
	for i := range all {
		if all[i].What == OrderGrow && j.Shards <= maxShards/2 && all[i].Value == float64(2*j.Shards) {
			j.Shards, j.Doubled = 2*j.Shards, j.Doubled+1
		}
	}
}

// outgrown reports whether the orders have doubled the job's shards since it was loaded.
func (j Job) outgrown(all []Order) bool {
	now := j
	now.Shards, now.Doubled = j.Shards>>j.Doubled, 0
	now.grow(all)
	return now.Shards > j.Shards
}

// had reports whether a host belongs to a shard now, or belonged to it before the shards were doubled.
func (j *Job) had(shard int, host string) bool {
	h := j.hash(host)
	for d := range j.Doubled + 1 {
		if int(h%uint64(j.Shards>>d)) == shard {
			return true
		}
	}
	return false
}
