package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/amble-crawler/amble/cluster"
)

func oneAppendWins(k *kit) {
	last, history := uint64(0), []string{}
	for round := range 5 {
		var mu sync.Mutex
		var calls sync.WaitGroup
		winners, next := []string{}, uint64(0)
		for i := range 6 {
			e := k.job.Connect(k.t)
			calls.Go(func() {
				text := fmt.Sprintf("round %d, node %d", round, i)
				seq, err := e.Append(k.ctx, 3, nonce(), []byte(text), last)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					winners, next = append(winners, text), seq
				} else {
					k.is("Append of who came later", err, cluster.ErrFenced)
				}
			})
		}
		calls.Wait()
		if len(winners) != 1 || next <= last {
			k.Fatalf("round %d: %q won", round, winners)
		}
		last, history = next, append(history, winners...)
	}
	k.holds("the journal", k.read(3, 0), history...)
}

func oldExpectationIsFenced(k *kit) {
	seqs := k.write(0, 3)
	for _, last := range []uint64{0, seqs[0], seqs[1]} {
		_, err := k.e.Append(k.ctx, 0, nonce(), []byte("too late"), last)
		k.is(fmt.Sprintf("Append behind %d of %v", last, seqs), err, cluster.ErrFenced)
	}
	k.holds("the journal", k.read(0, 0), "record 0", "record 1", "record 2")
}

func journalsAreApart(k *kit) {
	a := k.append(1, "a1", 0)
	b := k.append(2, "b1", 0)
	a = k.append(1, "a2", a)
	k.append(9, "c1", 0) // an engine may store shard 9 apart from the other shards
	k.append(2, "b2", b)
	k.append(1, "a3", a)
	k.holds("journal 1", k.read(1, 0), "a1", "a2", "a3")
	k.holds("journal 2", k.read(2, 0), "b1", "b2")
	k.holds("journal 9", k.read(9, 0), "c1")
	k.holds("journal 4", k.read(4, 0))
	if e, err := k.e.Last(k.ctx, 4); err != nil || e.Seq != 0 {
		k.Errorf("Last of an empty journal: %d, %v", e.Seq, err)
	}
}

// moreShards uses the greatest shard number, and a shard that an engine might store together with the first one.
func moreShards(k *kit) {
	k.append(0, "first", 0)
	for _, shard := range []int{16, 1023} {
		name := fmt.Sprint(shard)
		seq := k.append(shard, name, 0)
		k.append(shard, name+" again", seq)
		_, err := k.e.Append(k.ctx, shard, nonce(), []byte("too late"), seq)
		k.is("Append behind an old record", err, cluster.ErrFenced)
		k.is("Send", k.e.Send(k.ctx, shard, "1", []byte("to "+name)), nil)
		k.is("Put", k.e.Put(k.ctx, name+"/1", bytes.NewReader([]byte(name))), nil)
		k.is("PutAside", k.e.PutAside(k.ctx, shard, cluster.Entry{Seq: 7, Data: []byte("aside")}), nil)
		k.holds("journal "+name, k.read(shard, 0), name, name+" again")
		k.holds("inbox "+name, k.inbox(shard, 0), "to "+name)
	}
	k.holds("journal 0", k.read(0, 0), "first")
	k.holds("inbox 0", k.inbox(0, 0))
}

func restartKeeps(k *kit) {
	if k.job.Restart == nil {
		k.Skipf("Job.Restart: the engine cannot be restarted")
	}
	seqs := k.write(0, 5)
	rev, err := k.e.Store(k.ctx, "job", []byte("settings"), 0)
	k.is("Store", err, nil)
	k.is("Send", k.e.Send(k.ctx, 0, "1", []byte("offer")), nil)
	k.is("Put", k.e.Put(k.ctx, "0/5", bytes.NewReader([]byte("snapshot"))), nil)
	k.job.Restart(k.t)
	k.e = k.job.Connect(k.t)
	k.holds("the journal", k.read(0, 0), "record 0", "record 1", "record 2", "record 3", "record 4")
	k.holds("the inbox", k.inbox(0, 0), "offer")
	if v, r, err := k.e.Load(k.ctx, "job"); string(v) != "settings" || r != rev || err != nil {
		k.Errorf("Load: %q, %d, %v; want revision %d", v, r, err, rev)
	}
	k.file("0/5", "snapshot")
	k.append(0, "next", seqs[4])
}

func nonceIsStoredOnce(k *kit) {
	n := nonce()
	first, err := k.e.Append(k.ctx, 0, n, []byte("once"), 0)
	k.is("Append", err, nil)
	again := func(when string) {
		k.Helper()
		seq, err := k.e.Append(k.ctx, 0, n, []byte("once"), 0)
		if seq != first || err != nil {
			k.Errorf("the same Append again, %s: %d, %v; want %d", when, seq, err, first)
		}
	}
	again("at once")
	k.append(0, "twice", first)
	again("behind another")
	other := k.job.Connect(k.t)
	if seq, err := other.Append(k.ctx, 0, n, []byte("once"), 0); seq != first || err != nil {
		k.Errorf("the same Append of another connection: %d, %v; want %d", seq, err, first)
	}
	k.holds("the journal", k.read(0, 0), "once", "twice")
}

// unknownOutcome checks appends without an outcome: one node appends through a bad connection and repeats the calls without an outcome;
// from time to time another node takes the journal over. The journal must have exactly the records that were acknowledged to either.
func unknownOutcome(k *kit) {
	var want []string
	last, fenced := uint64(0), 0
	e := k.flaky()
	for i := range 30 {
		if i%7 == 6 { // the other node takes over, with a possibly stale view
			text := fmt.Sprintf("other %d", i)
			last = k.append(0, text, last)
			want = append(want, text)
			if _, err := k.decide(e, nonce(), "overtaken", last-1); err == nil {
				k.Fatalf("an Append behind %d was not fenced", last-1)
			} else {
				k.is("Append of who was overtaken", err, cluster.ErrFenced)
			}
			fenced++
		}
		text := fmt.Sprintf("owner %d", i)
		seq, err := k.decide(e, nonce(), text, last)
		if err != nil {
			k.Fatalf("Append %d: %v", i, err)
		}
		last, want = seq, append(want, text)
	}
	if fenced == 0 {
		k.Fatalf("nobody was fenced")
	}
	k.holds("the journal", k.read(0, 0), want...)
}

// flaky returns a connection on which some calls have no outcome.
func (k *kit) flaky() cluster.Engine {
	if k.job.Flaky != nil {
		return k.job.Flaky(k.t)
	}
	return impatient{k.job.Connect(k.t)}
}

// impatient cancels some calls before they are answered.
type impatient struct{ cluster.Engine }

func (i impatient) Append(ctx context.Context, shard int, n cluster.Nonce, data []byte, last uint64) (uint64, error) {
	if n[0]%2 == 0 {
		short, cancel := context.WithTimeout(ctx, time.Duration(n[1])*10*time.Microsecond)
		defer cancel()
		ctx = short
	}
	return i.Engine.Append(ctx, shard, n, data, last)
}

// decide repeats an Append until it has an outcome, finally through a good connection.
func (k *kit) decide(e cluster.Engine, n cluster.Nonce, text string, last uint64) (uint64, error) {
	var err error
	for try := range 50 {
		var seq uint64
		if seq, err = e.Append(k.ctx, 0, n, []byte(text), last); err == nil || errors.Is(err, cluster.ErrFenced) {
			return seq, err
		}
		if k.job.Flaky == nil || try >= 10 {
			e = k.e
		}
	}
	k.Fatalf("50 Appends had no outcome, the last because of %v", err)
	return 0, nil
}

func readIsInOrder(k *kit) {
	seqs := k.write(5, 20)
	k.write(4, 3)
	for _, n := range []int{0, 1, 10, 20} {
		after, want := uint64(0), []string{}
		if n > 0 {
			after = seqs[n-1]
		}
		for i := n; i < 20; i++ {
			want = append(want, fmt.Sprintf("record %d", i))
		}
		k.holds(fmt.Sprintf("the journal behind record %d", n), k.read(5, after), want...)
	}
	for _, err := range k.e.Read(k.ctx, 5, 0) {
		k.is("Read of the first record", err, nil)
		break // a reader may stop early
	}
	k.append(5, "last", seqs[19])
	if all := k.read(5, 0); len(all) != 21 || string(all[20].Data) != "last" {
		k.Errorf("%d records, want 21: what was acknowledged before is missing", len(all))
	}
}

func readOfTrimmed(k *kit) {
	seqs := k.write(0, 6)
	k.is("Trim", k.e.Trim(k.ctx, 0, seqs[3]), nil)
	k.holds("the journal behind the trimmed", k.read(0, seqs[2]), "record 3", "record 4", "record 5")
	for _, after := range []uint64{0, seqs[0], seqs[1]} {
		var err error
		for _, err = range k.e.Read(k.ctx, 0, after) {
			break
		}
		k.is(fmt.Sprintf("Read behind %d, trimmed below %d", after, seqs[3]), err, cluster.ErrTrimmed)
	}
	k.is("Trim of what is gone", k.e.Trim(k.ctx, 0, seqs[1]), nil)
	k.holds("the journal", k.read(0, seqs[2]), "record 3", "record 4", "record 5")
}

func recordIsWhole(k *kit) {
	before := time.Now().Add(-time.Minute)
	n, data := nonce(), bytes.Repeat([]byte{0, 255, '\n'}, 300<<10)
	seq, err := k.e.Append(k.ctx, 0, n, data, 0)
	k.is("Append of 900 KiB", err, nil)
	check := func(what string, e cluster.Entry) {
		k.Helper()
		if e.Seq != seq || e.Nonce != n || !bytes.Equal(e.Data, data) || e.At.Before(before) || e.At.After(time.Now().Add(time.Minute)) {
			k.Errorf("%s: sequence %d, nonce %x, %d bytes, at %v; want %d, %x, %d bytes, now", what, e.Seq, e.Nonce, len(e.Data), e.At, seq, n, len(data))
		}
	}
	for _, e := range k.read(0, 0) {
		check("Read", e)
	}
	e, err := k.e.Last(k.ctx, 0)
	k.is("Last", err, nil)
	check("Last", e)
	if seq, err = k.e.Append(k.ctx, 0, nonce(), nil, seq); err != nil || seq == 0 {
		k.Errorf("Append of nothing: %d, %v", seq, err)
	}
}

func trimKeepsLast(k *kit) {
	seqs := k.write(0, 4)
	for _, below := range []uint64{seqs[3], seqs[3] + 1, seqs[3] + 1000} {
		k.is("Trim", k.e.Trim(k.ctx, 0, below), nil)
		k.holds("the journal", k.read(0, seqs[2]), "record 3")
		if _, err := k.e.Append(k.ctx, 0, nonce(), nil, 0); !errors.Is(err, cluster.ErrFenced) {
			k.Errorf("Append that expects nothing, behind a Trim below %d: %v, want ErrFenced", below, err)
		}
	}
	k.append(0, "next", seqs[3])
	k.is("Trim of an empty journal", k.e.Trim(k.ctx, 7, 100), nil)
	k.append(7, "first", 0)
}

func wentBack(k *kit) {
	if k.job.GoBack == nil {
		k.Skipf("Job.GoBack: the engine cannot lose what it acknowledged")
	}
	seqs := k.write(0, 3)
	k.job.GoBack(k.t, 0)
	_, err := k.e.Append(k.ctx, 0, nonce(), []byte("next"), seqs[2])
	k.is("Append behind a record that is lost", err, cluster.ErrWentBack)
	k.holds("the journal", k.read(0, 0), "record 0", "record 1")
}
