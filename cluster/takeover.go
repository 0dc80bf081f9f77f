package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/amble-crawler/amble/frontier/disk"
)

// ErrJournal is wrapped by errors about an inconsistent journal, such as no correct engine can have.
var ErrJournal = errors.New("cluster: the journal contradicts itself")

// takeOver makes this node the owner of a shard whose last record is last. The error is ErrFenced if another node was first.
func takeOver(ctx context.Context, e Engine, shard int, node string, ttl time.Duration, last Entry) (*owner, error) {
	epoch := uint64(1)
	if last.Seq != 0 {
		r, err := decodeRecord(last.Data)
		if err != nil {
			return nil, fmt.Errorf("%w: shard %d at %d", err, shard, last.Seq)
		}
		epoch = r.epoch + 1
	}
	o := newOwner(ctx, e, shard, node, ttl, last.Seq, epoch)
	sent := time.Now()
	r := record{kind: kindOpen, epoch: epoch, node: node, at: sent}
	left := func(now time.Time) time.Duration { return o.lease.life - now.Sub(sent) }
	seq, err := insist(ctx, e, shard, newNonce(), r.encode(), last.Seq, left)
	if err != nil {
		return nil, err
	}
	o.appended(seq, sent)
	o.opened = seq
	return o, nil
}

// follow updates the copy in dir up to the record that made this node the owner. If dir is not a copy of this journal, it is replaced.
func (o *owner) follow(dir string, c disk.Config) error {
	k, err := o.followed(dir, c)
	if err != nil {
		return err
	}
	return k.Close()
}

// Follow updates the copy of a shard's queue in dir to the end of the shard's journal, without owning the shard. dir must be a copy made by
// Follow, or not exist. The copy has the state that the crawl has committed. The caller must close it.
func Follow(ctx context.Context, e Engine, shard int, dir string, c disk.Config) (*disk.Copy, error) {
	last, err := e.Last(ctx, shard)
	if err != nil {
		return nil, err
	}
	if last.Seq == 0 {
		return disk.OpenCopy(dir, c)
	}
	k, err := (&owner{ctx: ctx, engine: e, shard: shard, opened: last.Seq}).followed(dir, c)
	if err != nil {
		return nil, fmt.Errorf("cluster: shard %d: %w", shard, err)
	}
	return k, nil
}

// followed does the same as follow, but leaves the copy open and returns it.
func (o *owner) followed(dir string, c disk.Config) (*disk.Copy, error) {
	k, err := o.followFrom(dir, c)
	for range 8 { // try again with another snapshot: the pointer to the latest one may be stale
		if !errors.Is(err, errOtherCopy) && !errors.Is(err, disk.ErrDamaged) {
			break
		}
		if err := os.RemoveAll(dir); err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
		if rerr := restore(o.ctx, o.engine, o.shard, dir); rerr != nil {
			err = errors.Join(errOtherCopy, rerr)
			wait(o.ctx, retry)
			continue
		}
		k, err = o.followFrom(dir, c)
	}
	return k, err
}

// errOtherCopy means that the directory is not a copy of this journal, or that records after its state were trimmed.
var errOtherCopy = errors.New("cluster: not a copy of this journal")

func (o *owner) followFrom(dir string, c disk.Config) (*disk.Copy, error) {
	k, err := disk.OpenCopy(dir, c)
	if err != nil {
		return nil, err
	}
	f := follower{copy: k, at: k.Mark(), open: o.opened}
	err = f.read(o.ctx, o.engine, o.shard)
	o.mu.Lock()
	o.mark, o.bytes = k.Mark().Seq, f.bytes
	o.mu.Unlock()
	if err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

// follower applies a journal's groups to a copy.
type follower struct {
	copy  *disk.Copy
	at    disk.Mark // last group in the copy at the beginning
	open  uint64    // sequence of the last record to apply
	epoch uint64
	known bool // the copy's last group was found in the journal
	parts []byte
	bytes int64 // total bytes of the groups read
}

func (f *follower) read(ctx context.Context, e Engine, shard int) error {
	after := uint64(0)
	if f.at.Seq > 0 {
		after = f.at.Seq - 1 // read the last group of the copy again: its nonce shows whether the copy is of this journal
	}
	for x, err := range e.Read(ctx, shard, after) {
		if errors.Is(err, ErrTrimmed) {
			return errOtherCopy
		}
		if err != nil {
			return err
		}
		done, err := f.apply(x)
		if err != nil || done {
			return err
		}
	}
	if f.at.Seq > 0 && !f.known {
		return errOtherCopy
	}
	return fmt.Errorf("%w: shard %d ends before %d", ErrJournal, shard, f.open)
}

// apply applies one record and reports whether it is the last one to apply.
func (f *follower) apply(x Entry) (done bool, err error) {
	return x.Seq >= f.open, f.applyOne(x)
}

func (f *follower) applyOne(x Entry) error {
	r, err := decodeRecord(x.Data)
	if err != nil {
		return err
	}
	if f.at.Seq > 0 && !f.known {
		if x.Seq != f.at.Seq || x.Nonce != f.at.Nonce {
			return errOtherCopy
		}
		f.known, f.epoch = true, r.epoch
		return nil
	}
	switch {
	case r.kind == kindOpen && r.epoch == f.epoch+1:
		f.epoch, f.parts = r.epoch, nil
		return nil
	case r.epoch != f.epoch || r.kind == kindOpen:
		return fmt.Errorf("%w: at %d a record of epoch %d follows one of epoch %d", ErrJournal, x.Seq, r.epoch, f.epoch)
	case r.kind == kindPart:
		f.parts = append(f.parts, r.body...)
	case r.kind == kindGroup:
		return f.group(append(f.parts, r.body...), disk.Mark{Seq: x.Seq, Nonce: x.Nonce})
	}
	return nil
}

func (f *follower) group(b []byte, at disk.Mark) error {
	f.parts, f.bytes = nil, f.bytes+int64(len(b))
	group, err := join(b)
	if err != nil {
		return err
	}
	return f.copy.Apply(group, at)
}

// ErrOldNodes means that a node takes no shards yet, because nodes of version 0.2.0 or before may own some.
var ErrOldNodes = errors.New("cluster: nodes of version 0.2.0 or before may own shards of the job, and cannot see requests of this version: stop " +
	"them; this node waits until all have ended, and half a minute more")

// oldRest is the time that must pass after the last possible request by nodes of an earlier version before this version requests pages.
// Longer pauses of single hosts are stored with the queues.
const oldRest = 30 * time.Second

// upgrade reports whether no node of version 0.2.0 or before can own a shard. In those versions, the owners of shards kept the clocks of
// addresses and domains; now the engine does. If nodes of both kinds worked at once, each kind would keep the pauses only for itself.
//
// When no shard has had an owner for oldRest, upgrade takes over each shard and gives it back: nodes of the old versions cannot read the
// new record, so they do not take the shard. Only the journals decide. If an old node takes a shard meanwhile, the wait starts again.
func (n *Node) upgrade(ctx context.Context) bool {
	if n.upgraded {
		return true
	}
	old, quiet := map[int]Entry{}, true
	for shard := range n.job.Shards {
		last, err := n.engine.Last(ctx, shard)
		if err != nil {
			return false
		}
		rest := max(oldRest, n.job.Delay)
		if last.Seq != 0 {
			r, err := decodeRecord(last.Data)
			if err != nil {
				return false
			}
			if !r.old {
				continue
			}
			if r.kind != kindClose {
				rest += n.job.TTL
			}
		}
		old[shard] = last
		quiet = n.unchangedFor(shard, last.Seq) >= rest && quiet
	}
	if len(old) == 0 {
		n.upgraded = true
		return true
	}
	if !quiet {
		if n.Trace != nil && !n.told {
			n.Trace(Event{Shard: -1, What: Waits, Err: ErrOldNodes})
		}
		n.told = true
		return false
	}
	for shard, last := range old {
		o, err := takeOver(n.alive, n.engine, shard, n.Name, n.job.TTL, last) //nolint:contextcheck // it takes its time
		if err != nil || o.close() != nil {
			return false
		}
	}
	return false // the next call of the method look finds out whether all shards are upgraded
}
