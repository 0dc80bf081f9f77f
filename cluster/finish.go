package cluster

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"time"
)

// finisher is an attempt to find out that the job is over, in two rounds. In each a probe is sent to every inbox, and the
// last record of every shard must say that it is idle and has read that probe. If no shard has written a group between the
// rounds, nothing was under way between shards: an offer is sent before its sender's commit, so its sender was not idle.
// What proves it are writes of the owners; an answer that is stale cannot have read a probe.
type finisher struct {
	round  int // 0: none is under way
	since  time.Time
	probes []uint64 // of this round, by shard
	marks  []uint64 // of the first round
}

// doneText is what the register end has when everything is crawled.
const doneText = "done"

// finish ends the job if it is done. The owner of shard 0 tries.
func (n *Node) finish(ctx context.Context) {
	f := &n.finisher
	s := n.shard(0)
	if s == nil || f.round > 0 && time.Since(f.since) > 3*n.job.TTL {
		*f = finisher{}
	}
	if s == nil {
		return
	}
	if f.round == 0 {
		if idle, _ := s.idle(); idle {
			n.probe(ctx, 1)
		}
		return
	}
	marks, all, busy := n.probed(ctx)
	switch {
	case busy:
		*f = finisher{}
	case !all:
	case f.round == 1:
		f.marks = marks
		n.probe(ctx, 2)
	default:
		if slices.Equal(f.marks, marks) {
			n.end(ctx)
		}
		*f = finisher{}
	}
}

// shard returns a shard that this node owns, nil if it does not.
func (n *Node) shard(number int) *Shard {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h := n.owned[number]; h != nil {
		return h.shard
	}
	return nil
}

// probe begins a round.
func (n *Node) probe(ctx context.Context, round int) {
	f := &n.finisher
	f.round, f.since, f.probes = round, time.Now(), make([]uint64, n.job.Shards)
	for i := range f.probes {
		id := newNonce()
		f.probes[i] = binary.BigEndian.Uint64(id[:]) | 1
		m := message{probe: f.probes[i]}
		if err := n.engine.Send(ctx, i, hex.EncodeToString(id[:]), m.encode()); err != nil {
			*f = finisher{}
			return
		}
	}
}

// probed looks for the answers to a round's probes: all says that every shard is idle, busy that one is not.
func (n *Node) probed(ctx context.Context) (marks []uint64, all, busy bool) {
	for shard, probe := range n.finisher.probes {
		last, err := n.engine.Last(ctx, shard)
		if err != nil {
			return nil, false, false
		}
		r, err := decodeRecord(last.Data)
		if err != nil || r.kind != kindBeat {
			return nil, false, false
		}
		x, err := decodeBeat(r.body)
		switch {
		case err != nil || x.probe != probe:
			return nil, false, false
		case !x.idle:
			return nil, false, true
		}
		marks = append(marks, x.mark)
	}
	return marks, true, false
}

// end stores that the job is done. If it cannot, the next attempt does.
func (n *Node) end(ctx context.Context) {
	if _, rev, err := n.engine.Load(ctx, registerEnd); err == nil {
		_, _ = n.engine.Store(ctx, registerEnd, []byte(doneText), rev)
	}
}

// Stop ends a job for all its nodes. What is left remains in its queues: see [Resume].
func Stop(ctx context.Context, e Registers) error { return setEnd(ctx, e, "stopped") }

// Resume lets nodes continue a job that was stopped, or is done.
func Resume(ctx context.Context, e Registers) error { return setEnd(ctx, e, "") }

func setEnd(ctx context.Context, e Registers, to string) error {
	_, rev, err := e.Load(ctx, registerEnd)
	if err != nil {
		return err
	}
	_, err = e.Store(ctx, registerEnd, []byte(to), rev)
	return err
}
