package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/disk"
)

// Invariant I1: a journal in which the epoch of a record differs from that of the last OPEN record cannot be replayed.
func TestEpochsFollowEachOther(t *testing.T) {
	for name, all := range map[string][]record{
		"a group of the epoch before": {{kind: kindOpen, epoch: 1}, {kind: kindOpen, epoch: 2}, {kind: kindBeat, epoch: 1}},
		"an epoch is missing":         {{kind: kindOpen, epoch: 1}, {kind: kindOpen, epoch: 3}},
		"no OPEN":                     {{kind: kindBeat, epoch: 1}},
	} {
		f := follower{open: 9}
		var err error
		for i, r := range all {
			if _, err = f.apply(Entry{Seq: uint64(i) + 1, Data: r.encode()}); err != nil {
				break
			}
		}
		if !errors.Is(err, ErrJournal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// If the last group in a directory differs from the group at that place of the journal, the directory belongs to another journal.
func TestCopyOfAnotherJournalIsNotContinued(t *testing.T) {
	f := follower{at: disk.Mark{Seq: 2, Nonce: Nonce{1}}, open: 9}
	r := record{kind: kindGroup, epoch: 1}
	if _, err := f.apply(Entry{Seq: 2, Nonce: Nonce{2}, Data: r.encode()}); !errors.Is(err, errOtherCopy) {
		t.Errorf("another group at the place of the copy's: %v", err)
	}
	if _, err := f.apply(Entry{Seq: 2, Nonce: Nonce{1}, Data: r.encode()}); err != nil {
		t.Errorf("the copy's own group: %v", err)
	}
}

// If an owner left a group of records unfinished, its parts do not become part of the next owner's group.
func TestUnfinishedGroupIsVoid(t *testing.T) {
	k, err := disk.OpenCopy(t.TempDir(), disk.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	f := follower{copy: k, open: 9}
	for i, r := range []record{
		{kind: kindOpen, epoch: 1}, {kind: kindPart, epoch: 1, body: []byte("a part")}, {kind: kindOpen, epoch: 2},
	} {
		if _, err := f.apply(Entry{Seq: uint64(i) + 1, Data: r.encode()}); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.parts) > 0 {
		t.Errorf("%q is left of a group that was never finished", f.parts)
	}
}

// A beat, an owner's sign of life, says "idle" only if the owner has checked that since the last group of its journal.
func TestBeatOfAnEarlierGroupIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &recorder{}
		o := newOwner(t.Context(), e, 0, "n", DefaultTTL, 0, 1)
		o.lease.life = 1 << 60
		o.lease.renew(time.Now())
		if _, err := o.Append([]byte("group")); err != nil {
			t.Fatal(err)
		}
		before := o.marked()
		if _, err := o.Append([]byte("another")); err != nil {
			t.Fatal(err)
		}
		for mark, want := range map[uint64]bool{before: false, o.marked(): true} {
			if err := o.beat(true, 7, mark); err != nil {
				t.Fatal(err)
			}
			r, err := decodeRecord(e.data)
			if err != nil {
				t.Fatal(err)
			}
			if x, err := decodeBeat(r.body); err != nil || x.idle != want {
				t.Errorf("idle as of group %d of %d: %+v, %v", mark, o.marked(), x, err)
			}
		}
	})
}

// recorder is an engine that accepts every append.
type recorder struct {
	Engine
	seq  uint64
	data []byte
}

func (r *recorder) Append(_ context.Context, _ int, _ Nonce, data []byte, _ uint64) (uint64, error) {
	r.seq, r.data = r.seq+1, data
	return r.seq, nil
}

// A message is damaged if it has a link to a host of another shard: two shards would then request that host.
func TestOfferInAWrongInboxIsDamaged(t *testing.T) {
	j := Job{Shards: 2, Key: []byte("key")}
	u := parse(t, "http://a.test/")
	m := message{links: []frontier.Request{{URL: u}}}
	for shard := range j.Shards {
		s := &Shard{Number: shard, node: &Node{job: j}}
		if _, err := s.decode(m.encode()); (err == nil) != (shard == j.Shard(u.Host())) {
			t.Errorf("shard %d of %d: %v", shard, j.Shard(u.Host()), err)
		}
	}
}
