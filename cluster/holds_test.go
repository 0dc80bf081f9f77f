package cluster

import (
	"context"
	"encoding/json"
	"maps"
	"testing"
	"testing/synctest"
	"time"
)

// A grant that was under way while another keeper asked for all is of an earlier keeper: the new one has not heard of it.
func TestGrantUnderWayDoesNotCount(t *testing.T) {
	j := &Job{Shards: 4, Key: []byte("key")}
	h := newHolds()
	const key = "a:192.0.2.1"
	keeper := j.keeperOf(key)
	before := h.round(keeper)
	if !h.add(keeper, before, key, 1) {
		t.Error("a grant that nobody asked about does not count")
	}
	list := func(keeper int) map[string]uint64 {
		all := map[string]uint64{}
		h.list(j, keeper, all)
		return all
	}
	if got := list((keeper + 1) % 4); len(got) != 0 {
		t.Errorf("clocks of another keeper are listed: %v", got)
	}
	if got := list(keeper); !maps.Equal(got, map[string]uint64{key: 1}) {
		t.Errorf("listed: %v", got)
	}
	if h.add(keeper, before, key, 2) {
		t.Error("a grant counts that was under way when all were listed")
	}
	h.remove(key, 3)
	if len(list(keeper)) != 1 {
		t.Error("who has not the clock gives it back")
	}
	h.remove(key, 1)
	if !h.add(keeper, h.round(keeper), key, 3) || list(keeper)[key] != 3 {
		t.Error("the next grant does not count")
	}
}

// A keeper that was told what is held grants that to nobody else, nor what rests; who has given a clock back meanwhile has it not.
func TestNewKeeperIsToldWhatIsHeld(t *testing.T) {
	x := newKeeping(t, false)
	x.k.learns()
	x.is("closed, and soon open", x.ask(askTake, 1, 0), false, time.Second)
	x.ask(askDone, 8, 0)
	x.k.learn(x.now, granted{
		Held:  map[string]uint64{"a:192.0.2.1": 7, "a:192.0.2.2": 8},
		Rests: map[string]time.Duration{"a:192.0.2.3": 20 * time.Second},
	})
	x.k.open(x.now)
	x.is("held", x.ask(askTake, 1, 0), false, time.Second)
	x.is("hold", x.ask(askHold, 7, 0), true, 0)
	other := func(key string) reply { return x.k.answer(x.now, ask{what: askTake, who: 9, key: key}) }
	x.is("given back meanwhile", other("a:192.0.2.2"), true, 0)
	x.is("resting", other("a:192.0.2.3"), false, 20*time.Second)
	x.is("never granted", other("a:192.0.2.4"), true, 0)
	if r, _ := x.k.takeOwn(x.now, "a:192.0.2.3", 5, true); r.yes {
		t.Error("the shard's own crawl requests a host that rests for another shard")
	}
}

// answering is an engine whose nodes answer as the test wants.
type answering struct {
	Engine
	nodes []granted
}

func (e *answering) Ask(_ context.Context, shard int, _ []byte) ([]byte, error) {
	for _, n := range e.nodes {
		if _, owns := n.Shards[shard]; owns {
			return json.Marshal(n)
		}
	}
	return nil, ErrNoAnswer
}

// A new keeper opens when the owners of all shards have answered and the delay has passed since the last of them took its shard: an
// earlier owner may have requested something until then.
func TestNewKeeperWaitsForAllShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &answering{nodes: []granted{{Shards: map[int]time.Duration{0: time.Hour, 1: 300 * time.Millisecond}}}}
		n := &Node{job: Job{Shards: 3, TTL: DefaultTTL, Delay: time.Second}, engine: e, Config: Config{Poll: time.Second}}
		s := &Shard{Number: 0, node: n, keeper: newKeeper(time.Now(), &n.job, false)}
		go s.learn(t.Context())
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s.keeper.closed() == 0 {
			t.Error("open although a shard has not answered")
		}
		e.nodes = append(e.nodes, granted{Shards: map[int]time.Duration{2: 0}, All: 3 * time.Second})
		for s.keeper.closed() > 4*time.Second {
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		if got := s.keeper.closed(); got < 2900*time.Millisecond {
			t.Errorf("closed for %v more; some clocks rest for 3s", got)
		}

		e.nodes = []granted{{Shards: map[int]time.Duration{0: time.Hour, 1: time.Hour, 2: 200 * time.Millisecond}}}
		s.keeper = newKeeper(time.Now(), &n.job, false)
		s.learn(t.Context())
		if got := s.keeper.closed(); got != 800*time.Millisecond {
			t.Errorf("closed for %v more; a shard was taken 200ms ago and the delay is 1s", got)
		}
	})
}
