package cluster

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/amble-crawler/amble/frontier/disk"
)

// RunNode is like Node.Run, but the process ends at once, as if it were killed, when alive is done.
func RunNode(n *Node, ctx, alive context.Context) error { return n.run(ctx, alive) }

// MaxSkew returns Job.MaxSkew of the job of the node.
func (n *Node) MaxSkew() int64 { return int64(n.job.MaxSkew) }

// CreateOld stores a new job as version 0.2.0 does.
func CreateOld(ctx context.Context, e Registers, j Job) error {
	if err := Create(ctx, e, j); err != nil {
		return err
	}
	j, err := loadCreated(ctx, e)
	if err != nil {
		return err
	}
	_, rev, err := e.Load(ctx, registerJob)
	if err != nil {
		return err
	}
	j.Form = 0
	return storeJSON(ctx, e, registerJob, j, rev)
}

// OldOwner represents an owner of a shard in a node of version 0.2.0.
type OldOwner struct {
	engine Engine
	shard  int
	epoch  uint64
	last   uint64
}

// TakeOld takes over a shard as version 0.2.0 does. It returns an error if that version cannot read the last record.
func TakeOld(ctx context.Context, e Engine, shard int) (*OldOwner, error) {
	last, err := e.Last(ctx, shard)
	if err != nil {
		return nil, err
	}
	o := &OldOwner{e, shard, 1, last.Seq}
	if last.Seq != 0 {
		r, err := decodeRecord(last.Data)
		if err != nil || !r.old {
			return nil, errRecord
		}
		o.epoch = r.epoch + 1
	}
	return o, o.append(ctx, kindOpen, nil)
}

// Beat appends a sign of life.
func (o *OldOwner) Beat(ctx context.Context) error { return o.append(ctx, kindBeat, beat{}.encode()) }

// Close gives the shard back.
func (o *OldOwner) Close(ctx context.Context) error { return o.append(ctx, kindClose, nil) }

func (o *OldOwner) append(ctx context.Context, k kind, body []byte) (err error) {
	b := (&record{kind: k, epoch: o.epoch, node: "old", at: time.Now(), body: body}).encode()
	b[0] = oldVersion
	o.last, err = o.engine.Append(ctx, o.shard, newNonce(), b, o.last)
	return err
}

// SignOld writes a sign of life as a node of version 0.2.0 does.
func SignOld(ctx context.Context, e Registers, name string, beat uint64) error {
	for {
		signs, rev, err := loadSigns(ctx, e)
		if err != nil {
			return err
		}
		signs[name] = sign{ID: name, Beat: beat, At: time.Now().UnixMilli()}
		if err := storeJSON(ctx, e, registerNodes, signs, rev); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// RegisterEnd is the name of the register that records that a job is over.
const RegisterEnd = registerEnd

// Rebuild takes over a shard, rebuilds its store from the journal in dir, and opens the store.
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

// FollowWhileBeating takes over shard 0, appends signs of life (beats), and then follows the journal. It returns the numbers of the record
// that made it the owner and of the last record that it read.
func FollowWhileBeating(ctx context.Context, e Engine, dir string, j Job, beats int) (opened, read uint64, err error) {
	noting := &reading{Engine: e}
	o, err := takeOver(ctx, noting, 0, "n", j.TTL, Entry{})
	if err != nil {
		return 0, 0, err
	}
	opened = o.last
	for range beats {
		if err := o.beat(false, 0, 0); err != nil {
			return 0, 0, err
		}
	}
	err = o.follow(dir, disk.Config{})
	return opened, noting.last, err
}

// reading is an engine that records the number of the last record read.
type reading struct {
	Engine
	last uint64
}

func (r *reading) Read(ctx context.Context, shard int, after uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for x, err := range r.Engine.Read(ctx, shard, after) {
			if r.last = x.Seq; !yield(x, err) {
				return
			}
		}
	}
}

// RebuildIn is like Rebuild, for shard 0 and a node that lives until the process ends.
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
	o.lease.life = 1 << 60 // the test never renews the lease
	if err := o.follow(dir, c); err != nil {
		return nil, err
	}
	c.Journal = o
	return disk.Open(dir, c)
}

// Written is a record of a journal, with the time at which the engine stored it.
type Written struct {
	At          time.Time // when the engine stored it
	Epoch       uint64
	Node        string
	Open, Close bool
}

// ReadWritten reads records of a journal.
func ReadWritten(entries []Entry) (all []Written, err error) {
	for _, x := range entries {
		r, err := decodeRecord(x.Data)
		if err != nil {
			return nil, err
		}
		all = append(all, Written{x.At, r.epoch, r.node, r.kind == kindOpen, r.kind == kindClose})
	}
	return all, nil
}

// Waiting returns the number of requests that [Adder.Add] has accepted but not yet sent.
func (a *Adder) Waiting() (n int) {
	for _, all := range a.waiting {
		n += len(all)
	}
	return n
}

// SetProcess sets the ID of the process that uses the clocks, and the ID of the earlier process that is proven to have ended.
func SetProcess(k *Clocks, id, gone string) { k.id, k.gone = id, gone }

// AskIdle returns a function that asks a shard whether it is idle. Each call looks for the answer once.
func AskIdle(e Engine, shard int, probe uint64) (ask func(ctx context.Context) (answered, busy bool)) {
	q := question{probe: probe}
	return func(ctx context.Context) (answered, busy bool) { return q.ask(ctx, e, shard) }
}
