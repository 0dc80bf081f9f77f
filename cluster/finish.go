package cluster

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
)

// finisher attempts to prove that the job is over, in two rounds. In each round, it sends a probe to every inbox, and every shard must
// write a record that it is idle and has read that probe. The attempt fails when a shard gets a new owner that has not read the probe,
// because only the previous owner may have read it. If no shard has written a group between its two records, no link was on its way between
// shards: a shard sends an offer before it commits, so it was not idle, and the offer is in its inbox before the second probe. Stale
// answers are harmless, because only owners write the records, and a stale one cannot have the probe. A sender from outside the job
// ([Adder]) stores the register registerEnd after sending: if it did so since the first probe was sent, the attempt fails.
type finisher struct {
	end   uint64 // revision of registerEnd before the first probe
	round int    // 0: no attempt is in progress
	since time.Time
	asked []question // questions of the current round, by shard
	marks []uint64   // answers of the first round: the sequence of each shard's last group
}

// question is a probe and the answer of its shard.
type question struct {
	probe    uint64
	sent     time.Time // zero: not sent yet
	epoch    uint64    // epoch of the first record read from the shard; 0: none read yet
	answered bool
	mark     uint64
}

// finish ends the job if all shards are done. Only the owner of shard 0 tries.
func (n *Node) finish(ctx context.Context) {
	f := &n.finisher
	s := n.shard(0)
	if s == nil || time.Since(f.since) > 6*n.job.TTL {
		*f = finisher{}
	}
	if s == nil {
		return
	}
	if f.round == 0 {
		if idle, _ := s.idle(); !idle {
			return
		}
	}
	f.step(ctx, n.engine, n.job.Shards)
}

// step continues the attempt, or begins one. If it is complete, it ends the job and returns true.
func (f *finisher) step(ctx context.Context, e Engine, shards int) (done bool) {
	if f.round == 0 {
		why, rev, err := e.Load(ctx, registerEnd)
		if err != nil || len(why) > 0 {
			return false
		}
		f.end = rev
		f.begin(1, shards)
	}
	all := true
	for shard := range f.asked {
		answered, busy := f.asked[shard].ask(ctx, e, shard)
		if busy {
			*f = finisher{}
			return false
		}
		all = all && answered
	}
	switch {
	case !all:
	case f.round == 1:
		f.marks = f.answers()
		f.begin(2, shards)
	default:
		if done = slices.Equal(f.marks, f.answers()); done {
			_, err := e.Store(ctx, registerEnd, []byte(EndDone), f.end)
			done = err == nil
		}
		*f = finisher{}
	}
	return done
}

func (f *finisher) begin(round, shards int) {
	f.round, f.since, f.asked = round, time.Now(), make([]question, shards)
	for i := range f.asked {
		id := newNonce()
		f.asked[i].probe = binary.BigEndian.Uint64(id[:]) | 1
	}
}

func (f *finisher) answers() (marks []uint64) {
	for _, q := range f.asked {
		marks = append(marks, q.mark)
	}
	return marks
}

// shard returns a shard that this node owns, otherwise nil.
func (n *Node) shard(number int) *Shard {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h := n.owned[number]; h != nil {
		return h.shard
	}
	return nil
}

// timeToRead is the time that a new owner has to read a shard's inbox before an attempt to end the job is given up.
const timeToRead = 10 * time.Second

// ask sends the probe if it is not sent yet, and looks for the answer. busy means that the shard is not idle, or that a new owner has not
// read the probe in time.
func (q *question) ask(ctx context.Context, e Engine, shard int) (answered, busy bool) {
	if q.sent.IsZero() {
		m := message{probe: q.probe}
		if e.Send(ctx, shard, fmt.Sprintf("probe-%x", q.probe), m.encode()) != nil {
			return false, false // try again in the next step
		}
		q.sent = time.Now()
	}
	if q.answered {
		return true, false
	}
	last, err := e.Last(ctx, shard)
	if err != nil {
		return false, false
	}
	r, err := decodeRecord(last.Data)
	if err != nil {
		return false, false
	}
	q.epoch = cmp.Or(q.epoch, r.epoch)
	if r.kind != kindBeat {
		return false, false
	}
	x, err := decodeBeat(r.body)
	if err != nil || x.probe != q.probe {
		return false, err == nil && r.epoch > q.epoch && time.Since(q.sent) > timeToRead
	}
	q.answered, q.mark = x.idle, x.mark
	return x.idle, !x.idle
}

// end stores why the job is over. If this fails, a later call tries again.
func (n *Node) end(ctx context.Context, why string) {
	if b, rev, err := n.engine.Load(ctx, registerEnd); err == nil && len(b) == 0 {
		_, _ = n.engine.Store(ctx, registerEnd, []byte(why), rev)
	}
}

// setRegister replaces a register of a job, whatever its value.
func setRegister(ctx context.Context, e Registers, name, to string) error {
	for {
		_, rev, err := e.Load(ctx, name)
		if err != nil {
			return err
		}
		if _, err = e.Store(ctx, name, []byte(to), rev); !errors.Is(err, ErrConflict) || ctx.Err() != nil {
			return err
		}
	}
}
