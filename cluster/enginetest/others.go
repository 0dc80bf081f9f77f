package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/amble-crawler/amble/cluster"
)

func oneStoreWins(k *kit) {
	rev := uint64(0)
	for round := range 4 {
		var mu sync.Mutex
		var calls sync.WaitGroup
		won, next, text := 0, uint64(0), ""
		for i := range 5 {
			e := k.job.Connect(k.t)
			calls.Go(func() {
				mine := fmt.Sprintf("round %d, node %d", round, i)
				r, err := e.Store(k.ctx, "budget", []byte(mine), rev)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won, next, text = won+1, r, mine
				} else {
					k.is("Store of who came later", err, cluster.ErrConflict)
				}
			})
		}
		calls.Wait()
		if won != 1 || next <= rev {
			k.Fatalf("round %d: %d won, revision %d behind %d", round, won, next, rev)
		}
		k.loaded("budget", text, next)
		rev = next
	}
}

// loaded checks the value and revision of a register. A read may be stale for a moment.
func (k *kit) loaded(name, want string, rev uint64) {
	k.Helper()
	k.soon("Load of "+name, func() bool {
		v, r, err := k.e.Load(k.ctx, name)
		return err == nil && string(v) == want && r == rev
	})
}

func storeNeedsRevision(k *kit) {
	if v, rev, err := k.e.Load(k.ctx, "node-a"); v != nil || rev != 0 || err != nil {
		k.Errorf("Load of nothing: %q, %d, %v", v, rev, err)
	}
	_, err := k.e.Store(k.ctx, "node-a", []byte("x"), 17)
	k.is("Store with the revision of nothing", err, cluster.ErrConflict)
	a, err := k.e.Store(k.ctx, "node-a", []byte("1"), 0)
	k.is("Store", err, nil)
	_, err = k.e.Store(k.ctx, "node-b", []byte("other"), 0)
	k.is("Store of another", err, nil)
	b, err := k.e.Store(k.ctx, "node-a", []byte("2"), a)
	k.is("Store", err, nil)
	for _, old := range []uint64{0, a, b + 100} {
		_, err = k.e.Store(k.ctx, "node-a", []byte("3"), old)
		k.is(fmt.Sprintf("Store with revision %d of %d", old, b), err, cluster.ErrConflict)
	}
	k.loaded("node-a", "2", b)
}

func oneClockWins(k *kit) {
	rev := uint64(0)
	for round := range 4 {
		var mu sync.Mutex
		var calls sync.WaitGroup
		won, next := 0, uint64(0)
		for i := range 5 {
			c := k.job.Connect(k.t).Clocks()
			if i == 0 {
				c = k.job.Beside(k.t).Clocks()
			}
			k.era(c)
			calls.Go(func() {
				r, err := c.StoreClock(k.ctx, "h:one.test:80", fmt.Appendf(nil, "round %d, node %d", round, i), rev, time.Hour)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won, next = won+1, r
				} else {
					k.is("StoreClock of who came later", err, cluster.ErrConflict)
				}
			})
		}
		calls.Wait()
		if won != 1 || next <= rev {
			k.Fatalf("round %d: %d won, revision %d behind %d", round, won, next, rev)
		}
		rev = next
	}
}

// era waits until the engine returns the era of the clocks. An engine that creates streams for them may have to elect leaders first.
func (k *kit) era(c cluster.ClockStore) (era uint64) {
	k.Helper()
	k.soon("Era", func() bool {
		var err error
		era, _, err = c.Era(k.ctx)
		return err == nil
	})
	return era
}

func clocksAreShared(k *kit) {
	mine, theirs := k.e.Clocks(), k.job.Beside(k.t).Clocks()
	was, is := k.era(mine), k.era(theirs)
	if is != was || was == 0 {
		k.Errorf("the era is %d and, for another job, %d", was, is)
	}
	const key = "a:2001:db8::1"
	rev, err := mine.StoreClock(k.ctx, key, []byte("x"), 0, time.Second)
	k.is("StoreClock", err, nil)
	seen := false
	k.soon("LoadClock by another job", func() bool {
		v, r, err := theirs.LoadClock(k.ctx, key)
		seen = seen || err == nil && string(v) == "x" && r == rev
		return seen || err == nil && r == 0 // on a slow machine, the clock may have expired before it was read
	})
	k.soon("the end of a clock", func() bool {
		v, r, err := theirs.LoadClock(k.ctx, key)
		return err == nil && v == nil && r == 0
	})
	if _, err = mine.StoreClock(k.ctx, key, []byte("y"), rev, time.Hour); !errors.Is(err, cluster.ErrConflict) {
		k.Errorf("StoreClock behind one that has ended: %v", err)
	}
	before := time.Now()
	now, err := mine.Now(k.ctx)
	k.is("Now", err, nil)
	if d := now.Sub(before); d < -time.Minute || d > time.Minute {
		k.Errorf("the clocks' time is %v", now)
	}
}

func robotsAreShared(k *kit) {
	mine, theirs := k.e.Clocks(), k.job.Beside(k.t).Clocks()
	if b, err := mine.LoadRobots(k.ctx, "a1"); b != nil || err != nil {
		k.Errorf("LoadRobots of nothing: %q, %v", b, err)
	}
	long := bytes.Repeat([]byte{0, 0xff}, 450<<10)
	for _, text := range [][]byte{[]byte("x"), long} {
		k.soon("StoreRobots", func() bool { return mine.StoreRobots(k.ctx, "a1", text, time.Hour) == nil })
		k.soon("LoadRobots by another job", func() bool {
			b, err := theirs.LoadRobots(k.ctx, "a1")
			return err == nil && bytes.Equal(b, text)
		})
	}
	if b, err := theirs.LoadRobots(k.ctx, "a2"); b != nil || err != nil {
		k.Errorf("LoadRobots of another name: %q, %v", b, err)
	}
	k.is("StoreRobots", mine.StoreRobots(k.ctx, "a2", []byte("y"), time.Second), nil)
	k.soon("the end of a file", func() bool {
		b, err := theirs.LoadRobots(k.ctx, "a2")
		return err == nil && b == nil
	})
}

func writtenIsRead(k *kit) {
	seqs := k.write(0, 3)
	k.soon("Last", func() bool {
		e, err := k.e.Last(k.ctx, 0)
		return err == nil && e.Seq == seqs[2] && string(e.Data) == "record 2"
	})
}

func nowIsOfEntries(k *kit) {
	last, before := uint64(0), time.Time{}
	for i := range 5 {
		last = k.append(0, fmt.Sprintf("record %d", i), last)
		now, err := k.e.Now(k.ctx)
		k.is("Now", err, nil)
		at := k.read(0, last-1)[0].At
		if at.Before(before) || now.Before(at) {
			k.Errorf("a record that was stored between %v and %v is of %v", before, now, at)
		}
		before = now
	}
}

func (k *kit) file(name, want string) {
	k.Helper()
	r, err := k.e.Get(k.ctx, name)
	if err != nil {
		k.Errorf("Get of %s: %v", name, err)
		return
	}
	b, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || string(b) != want {
		k.Errorf("%s has %d bytes, %v; want %d", name, len(b), err, len(want))
	}
}

func files(k *kit) {
	_, err := k.e.Get(k.ctx, "3/7")
	k.is("Get of nothing", err, cluster.ErrNotFound)
	k.is("Delete of nothing", k.e.Delete(k.ctx, "3/7"), nil)
	large := string(bytes.Repeat([]byte("0123456789abcdef"), 200<<10))
	for _, text := range []string{"small", large, ""} {
		k.is("Put", k.e.Put(k.ctx, "3/7", bytes.NewReader([]byte(text))), nil)
		k.file("3/7", text)
	}
	broken := io.MultiReader(bytes.NewReader([]byte(large)), failing{})
	if err := k.e.Put(k.ctx, "3/8", broken); !errors.Is(err, errRead) {
		k.Errorf("Put of what cannot be read: %v", err)
	}
	_, err = k.e.Get(k.ctx, "3/8")
	k.is("Get of what was put in part", err, cluster.ErrNotFound)
	k.is("Delete", k.e.Delete(k.ctx, "3/7"), nil)
	_, err = k.e.Get(k.ctx, "3/7")
	k.is("Get of what was deleted", err, cluster.ErrNotFound)
}

var errRead = errors.New("enginetest: a reader that fails")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errRead }

func questions(k *kit) {
	_, err := k.e.Ask(k.ctx, 1, []byte("who?"))
	k.is("Ask when nobody answers", err, cluster.ErrNoAnswer)
	other := k.job.Connect(k.t)
	stop, err := other.Answer(1, func(q []byte) []byte { return append([]byte("one: "), q...) })
	k.is("Answer", err, nil)
	stop2, err := k.e.Answer(2, func([]byte) []byte { return nil })
	k.is("Answer", err, nil)
	defer stop2()
	k.soon("Ask", func() bool {
		a, err := k.e.Ask(k.ctx, 1, []byte("who?"))
		return string(a) == "one: who?" && err == nil
	})
	k.soon("Ask with an empty answer", func() bool {
		a, err := other.Ask(k.ctx, 2, nil)
		return len(a) == 0 && err == nil
	})
	stop()
	k.soon("Ask when nobody answers any more", func() bool {
		_, err = k.e.Ask(k.ctx, 1, []byte("who?"))
		return errors.Is(err, cluster.ErrNoAnswer)
	})
}

func callsEnd(k *kit) {
	ctx, cancel := context.WithTimeout(k.ctx, time.Second)
	cancel()
	_, err := k.e.Append(ctx, 0, nonce(), nil, 0)
	k.is("Append with an ended context", err, context.Canceled)
	_, err = k.e.Store(ctx, "job", nil, 0)
	k.is("Store with an ended context", err, context.Canceled)
	_, err = k.e.Now(ctx)
	k.is("Now with an ended context", err, context.Canceled)
	k.is("Send with an ended context", k.e.Send(ctx, 0, "1", nil), context.Canceled)
	for _, err = range k.e.Read(ctx, 0, 0) {
		break
	}
	k.is("Read with an ended context", err, context.Canceled)
	k.holds("the journal", k.read(0, 0))
	k.holds("the inbox", k.inbox(0, 0))
}
