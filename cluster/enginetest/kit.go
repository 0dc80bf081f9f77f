package enginetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
)

// tb is the part of testing.TB that checks need. The suite's own tests implement it to observe that a check fails.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// kit is a job under test with helper functions for checks.
type kit struct {
	tb
	t   *testing.T
	job Job
	e   cluster.Engine
	ctx context.Context
}

func newKit(on tb, t *testing.T, job Job) *kit {
	return &kit{tb: on, t: t, job: job, e: job.Connect(t), ctx: t.Context()}
}

func nonce() (n cluster.Nonce) {
	_, _ = rand.Read(n[:])
	return n
}

// append appends a record, and fails the test on error.
func (k *kit) append(shard int, data string, last uint64) uint64 {
	k.Helper()
	seq, err := k.e.Append(k.ctx, shard, nonce(), []byte(data), last)
	if err != nil || seq <= last {
		k.Fatalf("Append of %q behind %d: %d, %v", data, last, seq, err)
	}
	return seq
}

// write appends n records and returns their sequences.
func (k *kit) write(shard, n int) (seqs []uint64) {
	k.Helper()
	last := uint64(0)
	for i := range n {
		last = k.append(shard, fmt.Sprintf("record %d", i), last)
		seqs = append(seqs, last)
	}
	return seqs
}

// read returns the records of a journal after the given sequence.
func (k *kit) read(shard int, after uint64) (all []cluster.Entry) {
	k.Helper()
	for e, err := range k.e.Read(k.ctx, shard, after) {
		if err != nil {
			k.Fatalf("Read of shard %d behind %d: %v", shard, after, err)
		}
		all = append(all, e)
	}
	return all
}

func (k *kit) inbox(shard int, after uint64) (all []cluster.Entry) {
	k.Helper()
	for e, err := range k.e.Inbox(k.ctx, shard, after) {
		if err != nil {
			k.Fatalf("Inbox of shard %d behind %d: %v", shard, after, err)
		}
		all = append(all, e)
	}
	return all
}

func (k *kit) aside(shard int) (all []cluster.Entry) {
	k.Helper()
	for e, err := range k.e.Aside(k.ctx, shard) {
		if err != nil {
			k.Fatalf("Aside of shard %d: %v", shard, err)
		}
		all = append(all, e)
	}
	return all
}

// holds checks the contents of entries.
func (k *kit) holds(what string, got []cluster.Entry, want ...string) {
	k.Helper()
	texts := []string{}
	for i, e := range got {
		texts = append(texts, string(e.Data))
		if e.Seq == 0 || i > 0 && e.Seq <= got[i-1].Seq {
			k.Errorf("%s: sequence %d behind %d", what, e.Seq, got[max(0, i-1)].Seq)
		}
	}
	if fmt.Sprint(texts) != fmt.Sprint(want) {
		k.Errorf("%s: %q, want %q", what, texts, want)
	}
}

func (k *kit) is(what string, err, want error) {
	k.Helper()
	if !errors.Is(err, want) {
		k.Errorf("%s: %v, want %v", what, err, want)
	}
}

// soon waits until ok returns true. Where reads may be stale, this may take a moment.
func (k *kit) soon(what string, ok func() bool) {
	k.Helper()
	for range 100 {
		if ok() {
			return
		}
		t := time.NewTimer(50 * time.Millisecond)
		<-t.C
	}
	k.Errorf("%s: not within 5 s", what)
}
