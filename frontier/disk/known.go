package disk

import (
	"hash/maphash"
	"math"
	"slices"
	"sync"

	"github.com/amble-crawler/amble/weburl"
)

// known remembers a limited number of URLs that are in the store, so that a link on every page of a site does not reach the writer each
// time. Its entries stay true, because a URL stays in the store, its depth only decreases and its priority only increases. Only Revive
// and Rescore change them otherwise, and update the entry.
//
// known compares complete Keys, because a URL mistaken for another would be lost.
type known struct {
	seed maphash.Seed // secret, so that nobody can construct URLs that evict all others

	mu   sync.RWMutex
	sets []knownSet
}

// knownSet holds the keys with one hash, the latest first. The oldest key is dropped first.
type knownSet struct {
	keys   [knownWays]weburl.Key
	depths [knownWays]uint32 // depth of each key plus 1; 0: no key
	ranks  [knownWays]int8   // for each key, the highest priority that does not raise the URL
}

const knownWays = 4

func newKnown(urls int) *known {
	return &known{seed: maphash.MakeSeed(), sets: make([]knownSet, max(1, urls/knownWays))}
}

func (n *known) set(k *weburl.Key) *knownSet {
	return &n.sets[maphash.Bytes(n.seed, k[:])%uint64(len(n.sets))]
}

// has reports whether k was recorded with this depth or a smaller one, and this priority or a higher one.
func (n *known) has(k *weburl.Key, depth int, priority int8) bool {
	s := n.set(k)
	for i := range s.keys {
		if d := s.depths[i]; d != 0 && s.keys[i] == *k {
			return int64(depth) >= int64(d)-1 && priority <= s.ranks[i]
		}
	}
	return false
}

// note records k with a depth and a priority. It may replace another key.
func (n *known) note(k *weburl.Key, depth int, priority int8) {
	if uint64(depth) >= 1<<32-1 {
		return
	}
	s := n.set(k)
	i := 0
	for i < knownWays-1 && s.depths[i] != 0 && s.keys[i] != *k {
		i++
	}
	copy(s.keys[1:i+1], s.keys[:i])
	copy(s.depths[1:i+1], s.depths[:i])
	copy(s.ranks[1:i+1], s.ranks[:i])
	s.keys[0], s.depths[0], s.ranks[0] = *k, uint32(depth)+1, priority
}

// forget forgets k.
func (n *known) forget(k *weburl.Key) {
	s := n.set(k)
	for i := range s.keys {
		if s.keys[i] == *k {
			s.depths[i] = 0
		}
	}
}

// without returns the links that are not known.
func (n *known) without(links []link) []link {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return slices.DeleteFunc(links, func(l link) bool {
		if l.Score != 0 { // scores of known URLs are not remembered, so the writer must decide
			return n.has(&l.id, l.Depth, math.MaxInt8)
		}
		return n.has(&l.id, l.Depth, l.Priority)
	})
}

// tell sets told[i] to whether keys[i] was recorded with at most this depth, and at least this priority.
func (n *known) tell(keys []weburl.Key, depth int, priority int8, told []bool) {
	n.mu.RLock()
	defer n.mu.RUnlock()
	for i := range keys {
		told[i] = n.has(&keys[i], depth, priority)
	}
}

// noteGroup records the links of a group that has become durable.
func (n *known) noteGroup(g *group) {
	for _, o := range g.ops {
		for _, st := range o.steps {
			n.noteLinks(g, st.links)
		}
	}
}

func (n *known) noteLinks(g *group, links []link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range links {
		switch u := g.urls[links[i].key]; u.state {
		case Queued, Waiting:
			if u.rank < 0 { // a link without a score would raise the URL, so the writer must see it
				n.forget(&links[i].id)
				continue
			}
			n.note(&links[i].id, u.depth, u.highest())
		case Done:
			n.note(&links[i].id, 0, math.MaxInt8)
		}
	}
}
