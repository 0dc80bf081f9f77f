package cluster

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// A new keeper asks all nodes which of its clocks their shards have. When each shard of the job has answered, nothing else can
// be in use that an earlier keeper granted, and the new one grants:
//
//   - Earlier keepers grant nothing to who asks after that: they have closed or their leases have ended. A grant that was under
//     way when a shard answered does not count for that shard.
//   - Earlier owners of the shards have ended. What they had granted rests as long as the gates of their successors say, and
//     until the job's delay after the succession.
//
// A shard whose owner does not answer is waited for until whatever was granted must be over.

// holds are the clocks of keepers that the requests of a shard have.
type holds struct {
	mu     sync.Mutex
	listed map[int]uint64    // how often they were listed for the keeper of a shard
	held   map[string]uint64 // by key: who has it
}

func newHolds() *holds { return &holds{listed: map[int]uint64{}, held: map[string]uint64{}} }

// round returns what add expects of a grant that is requested from now on.
func (g *holds) round(keeper int) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.listed[keeper]
}

// add notes a grant, unless the keeper's shard has asked for all since it was requested: then another keeper has granted it.
func (g *holds) add(keeper int, round uint64, key string, who uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.listed[keeper] != round {
		return false
	}
	g.held[key] = who
	return true
}

func (g *holds) remove(key string, who uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held[key] == who {
		delete(g.held, key)
	}
}

// list adds those of a keeper to all.
func (g *holds) list(j *Job, keeper int, all map[string]uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listed[keeper]++
	for key, who := range g.held {
		if j.keeperOf(key) == keeper {
			all[key] = who
		}
	}
}

// granted lists the clocks of a shard that the shards of one node hold or let rest. A node answers the new keeper with it.
type granted struct {
	Shards map[int]time.Duration    `json:"shards"` // those that the node owns, and for how long it has
	Held   map[string]uint64        `json:"held"`   // by key: the request that has the clock
	Rests  map[string]time.Duration `json:"rests"`  // by key: how long the clock rests
	All    time.Duration            `json:"all"`    // how long those rest that are too many to be named
}

// maxRests limits how many clocks are named.
const maxRests = 5000

// granted returns what this node's shards have, or had, of the clocks of a shard.
func (n *Node) granted(keeper int) granted {
	type ownership struct {
		*Shard
		taken time.Time
	}
	var all []ownership
	n.mu.Lock()
	for _, h := range n.owned {
		if h.shard != nil {
			all = append(all, ownership{h.shard, h.taken})
		}
	}
	n.mu.Unlock()
	g := granted{Shards: map[int]time.Duration{}, Held: map[string]uint64{}, Rests: map[string]time.Duration{}}
	for _, s := range all {
		if s.answers() != nil || !s.crawls() {
			continue
		}
		s.holds.list(&n.job, keeper, g.Held)
		s.rests(keeper, &g)
		g.Shards[s.Number] = time.Since(s.taken)
	}
	return g
}

// crawls reports whether the shard's crawl has begun, and so its gate knows what an earlier owner's did.
func (s *Shard) crawls() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

// rests adds how long clocks of a keeper rest, as far as the crawl's gate knows.
func (s *Shard) rests(keeper int, to *granted) {
	s.mu.Lock()
	g := s.gate
	s.mu.Unlock()
	if g == nil {
		return
	}
	j := &s.node.job
	for _, r := range g.Resting() {
		key := restKey(r.Host, r.Domain, r.Addr.String())
		if j.keeperOf(key) != keeper || r.Host != "" && keeper == s.Number {
			continue
		}
		d := time.Until(r.Until)
		if _, known := to.Rests[key]; !known && len(to.Rests) >= maxRests {
			to.All = max(to.All, d)
			continue
		}
		to.Rests[key] = max(to.Rests[key], d)
	}
}

// restKey returns the key of the clock that a politeness.Rest is of.
func restKey(host, domain, addr string) string {
	switch {
	case host != "":
		return keyHost + host
	case domain != "":
		return keyDomain + domain
	}
	return keyAddress + addr
}

// learn has the keeper open as soon as the owners of all shards have said what was granted, until ctx ends.
func (s *Shard) learn(ctx context.Context) {
	if s.keeper.closed() == 0 {
		return
	}
	s.keeper.learns()
	heard, opens := map[int]bool{}, time.Time{}
	for ctx.Err() == nil && s.keeper.closed() > 0 {
		for shard := range s.node.job.Shards {
			if heard[shard] || ctx.Err() != nil {
				continue
			}
			g, err := s.askGranted(ctx, shard)
			if err != nil {
				continue // it has no owner just now
			}
			now := time.Now()
			s.keeper.learn(now, g)
			opens = later(opens, now.Add(g.All))
			for shard, owned := range g.Shards {
				heard[shard], opens = true, later(opens, now.Add(s.node.job.Delay-owned))
			}
		}
		if len(heard) == s.node.job.Shards {
			s.keeper.open(opens)
			return
		}
		wait(ctx, s.node.Poll)
	}
}

// askGranted asks the owner of a shard what its node's shards have of this keeper's clocks.
func (s *Shard) askGranted(ctx context.Context, shard int) (g granted, err error) {
	if s.node.shard(shard) != nil {
		return s.node.granted(s.Number), nil
	}
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	b, err := s.node.engine.Ask(short, shard, ask{what: askGranted, who: uint64(s.Number)}.encode())
	if err != nil {
		return g, err
	}
	return g, json.Unmarshal(b, &g)
}
