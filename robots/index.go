package robots

import (
	"slices"
	"strings"
)

// none is the index that stands for no rule or no entry.
const none = -1

// index finds, among any number of rules, the strongest Allow and the strongest Disallow that match a path.
//
// The literal rules, and the literal beginnings of those with "*" or "$", are sorted in heads; every entry refers to the longest other
// entry that is a prefix of it. The entries that are prefixes of a path then form one chain, whose end a binary search finds. The result
// of the literal rules of each chain is computed in advance, so that only rules with "*" or "$" whose beginning matches are tried one by
// one.
type index struct {
	heads   []string
	entries []entry
	wild    []wildcard
}

// entry has the rules of the head with the same index.
type entry struct {
	parent          int32 // index of the longest entry that is a proper prefix, or none
	allow, disallow int32 // the strongest literal rules of the entry and its parents, or none
	wildUp          int32 // the nearest of the entry and its parents that has wildcards, or none
	from, to        int32 // range of the entry's wildcards, the longest rules first
}

// wildcard is a rule with "*" or "$".
type wildcard struct {
	tail     string // pattern from the first star on
	rule     int32
	length   int32
	anchored bool
	allow    bool
	pairs    pairs // pairs of bytes that every match contains after the head
}

// newIndex sorts the rules. Equal heads stay in the order of the file.
func newIndex(rules []rule, d Dialect) index {
	order := make([]headed, 0, len(rules))
	for i := range rules {
		order = append(order, headed{headOf(&rules[i], d), int32(i)})
	}
	slices.SortFunc(order, func(a, b headed) int {
		if c := strings.Compare(a.head, b.head); c != 0 {
			return c
		}
		return int(a.rule - b.rule)
	})
	x := index{heads: make([]string, 0, len(order)), entries: make([]entry, 0, len(order))}
	for len(order) > 0 {
		n := 1
		for n < len(order) && order[n].head == order[0].head {
			n++
		}
		x.add(rules, order[:n], d)
		order = order[n:]
	}
	return x
}

type headed struct {
	head string
	rule int32
}

// headOf returns the part of the pattern before its first star.
func headOf(r *rule, d Dialect) string {
	if !d.wild() {
		return r.pattern
	}
	if i := strings.IndexByte(r.pattern, '*'); i >= 0 {
		return r.pattern[:i]
	}
	return r.pattern
}

// add appends the entry for rules that share a head. Heads must be added in sorted order.
func (x *index) add(rules []rule, group []headed, d Dialect) {
	head := group[0].head
	e := entry{parent: x.prefixOf(head), allow: none, disallow: none, wildUp: none, from: int32(len(x.wild))}
	for _, h := range group {
		r := &rules[h.rule]
		switch {
		case r.anchored || len(r.pattern) > len(head):
			x.wild = append(x.wild, newWildcard(r, h.rule, head))
		case r.allow && e.allow == none:
			e.allow = h.rule
		case !r.allow && e.disallow == none:
			e.disallow = h.rule
		}
	}
	e.to = int32(len(x.wild))
	slices.SortStableFunc(x.wild[e.from:e.to], func(a, b wildcard) int { return int(b.length - a.length) })
	x.inherit(&e, d)
	if e.from < e.to {
		e.wildUp = int32(len(x.entries))
	}
	x.heads = append(x.heads, head)
	x.entries = append(x.entries, e)
}

// prefixOf returns the longest entry so far that is a prefix of head, or none. It is on the chain of the last entry, because heads are
// added in sorted order.
func (x *index) prefixOf(head string) int32 {
	return x.chainEnd(int32(len(x.heads))-1, head)
}

// chainEnd returns the first entry of the chain of e that is a prefix of s, or none.
func (x *index) chainEnd(e int32, s string) int32 {
	if e == none {
		return none
	}
	common := commonPrefix(x.heads[e], s)
	for e != none && len(x.heads[e]) > common {
		e = x.entries[e].parent
	}
	return e
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// inherit completes the results of e with those of its parent's chain. If the longest rule decides, an entry's own rules take precedence
// over its parent's. If the first rule of the file decides, the earlier rules take precedence.
func (x *index) inherit(e *entry, d Dialect) {
	if e.parent == none {
		return
	}
	p := &x.entries[e.parent]
	e.allow = stronger(e.allow, p.allow, d)
	e.disallow = stronger(e.disallow, p.disallow, d)
	e.wildUp = p.wildUp
}

func stronger(own, parents int32, d Dialect) int32 {
	if own == none || d.firstWins() && parents != none && parents < own {
		return parents
	}
	return own
}

// find returns the strongest Allow and the strongest Disallow that match s, or none.
func (x *index) find(rules []rule, s string) (allow, disallow int32) {
	allow, disallow = none, none
	e := x.chainEnd(x.search(s), s)
	if e == none {
		return allow, disallow
	}
	allow, disallow = x.entries[e].allow, x.entries[e].disallow
	if e = x.entries[e].wildUp; e == none {
		return allow, disallow
	}
	return x.findWild(rules, s, e, allow, disallow)
}

// search returns the last entry whose head is not greater than s, or none.
func (x *index) search(s string) int32 {
	lo, hi := 0, len(x.heads)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if x.heads[mid] <= s {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return int32(lo) - 1
}

// findWild compares s with the wildcards of the chain that ends at e, as long as one of them could be stronger than the rules found so
// far.
func (x *index) findWild(rules []rule, s string, e, allow, disallow int32) (int32, int32) {
	have := pairsOf(s)
	best := [2]contender{{disallow, lengthOf(rules, disallow)}, {allow, lengthOf(rules, allow)}}
	for e != none {
		en := &x.entries[e]
		floor := min(best[0].length, best[1].length)
		for i := en.from; i < en.to; i++ {
			w := &x.wild[i]
			if w.length < floor {
				break
			}
			b := &best[b2i(w.allow)]
			if w.length < b.length || w.length == b.length && w.rule > b.rule {
				continue
			}
			if have.has(w.pairs) && glob(w.tail, s[len(x.heads[e]):], w.anchored) {
				*b = contender{w.rule, w.length}
				floor = min(best[0].length, best[1].length)
			}
		}
		if e = en.parent; e != none {
			e = x.entries[e].wildUp
		}
	}
	return best[1].rule, best[0].rule
}

// contender is the strongest rule found so far.
type contender struct{ rule, length int32 }

func lengthOf(rules []rule, i int32) int32 {
	if i == none {
		return -1
	}
	return int32(rules[i].length)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func newWildcard(r *rule, n int32, head string) wildcard {
	w := wildcard{tail: r.pattern[len(head):], rule: n, length: int32(r.length), anchored: r.anchored, allow: r.allow}
	for piece := range strings.SplitSeq(w.tail, "*") {
		w.pairs.add(piece)
	}
	return w
}

// pairs is a set of pairs of neighbouring bytes, hashed to 256 bits. A piece of a pattern can only occur in a path that contains all
// pairs of the piece, so one comparison of sets makes most searches unnecessary.
type pairs [4]uint64

func (p *pairs) add(s string) {
	for i := 1; i < len(s); i++ {
		h := s[i-1]*31 + s[i]
		p[h>>6] |= 1 << (h & 63)
	}
}

func pairsOf(s string) (p pairs) {
	p.add(s)
	return p
}

func (p *pairs) has(q pairs) bool {
	return q[0]&^p[0]|q[1]&^p[1]|q[2]&^p[2]|q[3]&^p[3] == 0
}
