package cluster

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// keeping is a keeper with a time that the test sets.
type keeping struct {
	*testing.T
	k   *keeper
	now time.Time
}

func (x *keeping) ask(what byte, who uint64, rest time.Duration) reply {
	return x.k.answer(x.now, ask{what, who, rest, "a:192.0.2.1"})
}

func (x *keeping) is(what string, got reply, yes bool, in time.Duration) {
	x.Helper()
	if got != (reply{yes, in}) {
		x.Errorf("%s: %+v, want %t, %v", what, got, yes, in)
	}
}

func (x *keeping) pass(d time.Duration) { x.now = x.now.Add(d) }

func newKeeping(t *testing.T, first bool) *keeping {
	now := time.Now()
	return &keeping{t, newKeeper(now, &Job{TTL: DefaultTTL, Delay: time.Second}, first), now}
}

func TestKeeperGrantsToOneAtATime(t *testing.T) {
	x := newKeeping(t, true)
	x.is("the first", x.ask(askTake, 1, 0), true, 0)
	x.is("the same again", x.ask(askTake, 1, 0), true, 0)
	x.is("another", x.ask(askTake, 2, 0), false, time.Second)
	x.is("a third has a turn of its own", x.ask(askTake, 3, 0), false, 2*time.Second)
	x.pass(5 * time.Second)
	x.is("hold", x.ask(askHold, 1, 0), true, 0)
	x.is("hold of who has it not", x.ask(askHold, 2, 0), false, 0)
	x.is("done", x.ask(askDone, 1, 4*time.Second), true, 0)
	x.is("it rests", x.ask(askTake, 2, 0), false, 4*time.Second)
	x.is("done again, late, shortens nothing", x.ask(askDone, 1, 0), true, 0)
	x.pass(4*time.Second - 1)
	x.is("nearly over", x.ask(askTake, 9, 0), false, 4*time.Second+1)
	x.pass(1)
	x.is("over", x.ask(askTake, 2, 0), true, 0)
}

func TestKeeperForgetsWhoIsSilent(t *testing.T) {
	x := newKeeping(t, true)
	x.ask(askTake, 1, 0)
	x.pass(20 * time.Second)
	x.ask(askHold, 1, 0)
	x.pass(DefaultTTL - 1)
	if x.ask(askTake, 2, 0).yes {
		t.Error("taken while it is held")
	}
	x.pass(1)
	x.is("it rests, and another waits", x.ask(askTake, 3, 0), false, 2*time.Second-1)
	x.is("hold, too late", x.ask(askHold, 1, 0), false, 0)
	x.pass(time.Second)
	x.is("free", x.ask(askTake, 3, 0), true, 0)
}

// A clock is not held for longer than a shard is by an owner of which nothing is heard.
func TestHoldTimeFollowsTheLease(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{MinTTL: MinTTL, DefaultTTL: DefaultTTL, time.Hour: 30 * time.Second} {
		j := &Job{TTL: ttl}
		if j.holdTime() != want || 2*j.holdEvery() > j.holdLost() || j.holdLost()+j.holdEvery() > j.holdTime() {
			t.Errorf("TTL %v: held for %v, want %v; heard of each %v, broken off after %v", ttl, j.holdTime(), want, j.holdEvery(), j.holdLost())
		}
	}
}

// A keeper that takes over grants nothing until what was granted before it must be over, and learns who holds what.
func TestNewKeeperLearns(t *testing.T) {
	x := newKeeping(t, false)
	x.is("closed", x.ask(askTake, 1, 0), false, DefaultTTL+time.Second)
	x.pass(DefaultTTL)
	x.is("hold of a request from before", x.ask(askHold, 7, 0), true, 0)
	x.pass(time.Second)
	x.is("open, and held", x.ask(askTake, 1, 0), false, time.Second)
	x.is("done", x.ask(askDone, 7, 50*time.Second), true, 0)
	x.pass(50 * time.Second)
	x.is("free", x.ask(askTake, 1, 0), true, 0)
}

// The requests of the shard's own crawl wait for those of others to a host, and others wait for both.
func TestKeeperOfAHost(t *testing.T) {
	x := newKeeping(t, true)
	const key = "a:192.0.2.1"
	var last time.Time
	own := func(who uint64, shared bool) (r reply) {
		r, last = x.k.takeOwn(x.now, key, who, shared)
		return r
	}
	x.is("own", own(1, false), true, 0)
	x.pass(time.Hour)
	x.is("another while it is under way, however long", x.ask(askTake, 2, 0), false, time.Second)
	x.k.doneOwn(x.now, key, 1, 3*time.Second)
	x.is("own again: its gate sees to the pause", own(3, false), true, 0)
	x.k.doneOwn(x.now, key, 3, 3*time.Second)
	x.is("another, whose turn comes after that of who asked before", x.ask(askTake, 2, 0), false, 4*time.Second)
	x.pass(3 * time.Second)
	x.is("another, later", x.ask(askTake, 2, 0), true, 0)
	x.is("own meanwhile", own(4, false), false, time.Second)
	x.ask(askDone, 2, 5*time.Second)
	x.is("own after another", own(4, false), false, 5*time.Second)
	x.pass(5 * time.Second)
	x.is("own, later", own(4, false), true, 0)
	if ago := x.now.Sub(last); ago != 5*time.Second {
		t.Errorf("another's request is %v ago, want 5s", ago)
	}
	x.k.doneOwn(x.now, key, 4, 0)

	x = newKeeping(t, false)
	x.is("own of a host that only this shard requests", own(1, false), true, 0)
	x.k.doneOwn(x.now, key, 1, 0)
	x.is("own of another host, which others may be requesting", own(2, true), false, DefaultTTL+time.Second)
	x.ask(askHold, 7, 0)
	x.pass(DefaultTTL + time.Second - 1)
	x.ask(askHold, 7, 0)
	x.pass(1)
	x.is("own while another says that it is under way", own(2, true), false, time.Second)
	x.ask(askDone, 7, time.Second)
	x.pass(time.Second)
	x.is("own after that", own(2, true), true, 0)
	if ago := x.now.Sub(last); ago != time.Second {
		t.Errorf("another's request is %v ago, want 1s", ago)
	}
}

// The rate of all requests gives a token each gap, and none soon after a change of keeper: an earlier one's may be in use.
func TestKeeperOfTheRate(t *testing.T) {
	now := time.Now()
	for _, first := range []bool{true, false} {
		x := &keeping{t, newKeeper(now, &Job{Rate: 4}, first), now}
		given, last := 0, time.Time{}
		for who := range uint64(400) {
			if x.k.answer(x.now, ask{what: askTake, who: who + 1, key: keyRate}).yes {
				if !last.IsZero() && x.now.Sub(last) < 250*time.Millisecond {
					t.Fatalf("two tokens within %v", x.now.Sub(last))
				}
				given, last = given+1, x.now
			}
			x.pass(50 * time.Millisecond)
		}
		want := 80 // in 20 s
		if !first {
			want = 75 // in 18.75 s
		}
		if given != want {
			t.Errorf("first %t: %d tokens in 20 s, want %d", first, given, want)
		}
	}
}

func TestKeeperIsBounded(t *testing.T) {
	k, now := newKeeper(time.Now(), &Job{Delay: time.Second}, true), time.Now()
	for i := range 20_000 {
		a := ask{what: askTake, who: uint64(i) + 1, key: fmt.Sprint("a:", i)}
		k.answer(now, a)
		a.what = askDone
		k.answer(now, a)
		now = now.Add(10 * time.Millisecond)
	}
	if n := len(k.clocks); n > 3000 {
		t.Errorf("%d clocks are remembered of 20,000 that are free", n)
	}
}

// I5: whoever asks, in whatever order, with answers that are lost and holders that die: a clock has one holder, and a
// request never begins before the pause after the one before is over.
func TestKeeperModel(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		x := newKeeping(t, true)
		type request struct{ began, heard time.Time }
		running := map[uint64]*request{}
		var free time.Time
		next := uint64(1)
		for range 400 {
			x.pass(time.Duration(rng.ExpFloat64() * float64(2*time.Second)))
			lost := (&Job{TTL: DefaultTTL}).holdLost()
			for who, r := range running { // a request that is not heard is broken off
				if x.now.Sub(r.heard) >= lost {
					delete(running, who)
					free = later(free, r.heard.Add(lost))
				}
			}
			who := uint64(0)
			for w := range running {
				who = w
			}
			switch rng.IntN(4) {
			case 0, 1:
				next++
				if x.ask(askTake, next, 0).yes && rng.IntN(5) > 0 { // or the answer is lost
					if len(running) > 0 || x.now.Before(free) {
						t.Fatalf("seed %d: granted while %d requests run, %v too early", seed, len(running), free.Sub(x.now))
					}
					running[next] = &request{x.now, x.now}
				}
			case 2:
				if who != 0 && x.ask(askHold, who, 0).yes {
					running[who].heard = x.now
				}
			case 3:
				if who != 0 {
					rest := time.Duration(rng.IntN(20)) * time.Second
					delete(running, who)
					if rng.IntN(5) > 0 {
						x.ask(askDone, who, rest)
						free = x.now.Add(rest)
					}
				}
			}
		}
	}
}
