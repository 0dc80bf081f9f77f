package frontier

import "math/bits"

// seen is the set of known URLs, identified by a keyed 64-bit hash of their Key, with a mark for each. It is a hash table with open
// addressing, in shards: the garbage collector has no pointers to follow, and a caller waits for the growth of one shard only. Shards
// grow by a quarter when they are 85 % full, so a URL takes 12 to 15 bytes.
//
// Of n URLs, an expected number of n²/2⁶⁵ are lost because they have the hash of another URL: 3·10⁻⁶ for ten million URLs.
type seen struct {
	shards [256]shard
	deep   map[uint64]int // depths that do not fit into a mark, keyed by hash
}

type shard struct {
	hashes []uint64 // 0 marks an empty place
	marks  []mark
	used   int
}

// mark holds a URL's state in three bits and its depth in thirteen.
type mark uint16

// state is the progress of a known URL.
type state uint8

const (
	stateQueued state = 1 + iota
	stateWaiting
	stateClaimed
	stateDone
	stateRejected
	stateBack // put back by Again: must not be raised
)

const (
	stateBits = 3
	maxDepth  = 1<<(16-stateBits) - 1 // a mark with this depth means that the depth is in seen.deep
)

func (m mark) state() state      { return state(m & (1<<stateBits - 1)) }
func (m *mark) setState(s state) { *m = *m&^(1<<stateBits-1) | mark(s) }

// find returns the mark of hash, or nil if hash is not known. The mark is valid until the next call of add.
func (s *seen) find(hash uint64) *mark {
	sh := &s.shards[hash>>56]
	if i, known := sh.search(hash); known {
		return &sh.marks[i]
	}
	return nil
}

// add adds hash, which must not be known, with its state and depth.
func (s *seen) add(hash uint64, st state, depth int) {
	sh := &s.shards[hash>>56]
	if (sh.used+1)*20 > len(sh.hashes)*17 {
		sh.grow()
	}
	i, _ := sh.search(hash)
	sh.hashes[i] = hash
	sh.used++
	sh.marks[i] = mark(st)
	s.setDepth(hash, &sh.marks[i], depth)
}

func (s *seen) depth(hash uint64, m *mark) int {
	if d := int(*m >> stateBits); d < maxDepth {
		return d
	}
	return s.deep[hash]
}

func (s *seen) setDepth(hash uint64, m *mark, depth int) {
	if int(*m>>stateBits) == maxDepth {
		delete(s.deep, hash)
	}
	if depth >= maxDepth {
		if s.deep == nil {
			s.deep = map[uint64]int{}
		}
		s.deep[hash] = depth
		depth = maxDepth
	}
	*m = mark(depth<<stateBits) | mark(m.state())
}

// search returns the index of hash, or the index at which to add it.
func (sh *shard) search(hash uint64) (i int, known bool) {
	n := uint64(len(sh.hashes))
	if n == 0 {
		return 0, false
	}
	at, _ := bits.Mul64(hash<<8, n) // without the top bits, which have selected the shard
	for {
		switch sh.hashes[at] {
		case hash:
			return int(at), true
		case 0:
			return int(at), false
		}
		if at++; at == n {
			at = 0
		}
	}
}

func (sh *shard) grow() {
	old := *sh
	n := max(8, len(old.hashes)+len(old.hashes)/4)
	sh.hashes, sh.marks = make([]uint64, n), make([]mark, n)
	for i, h := range old.hashes {
		if h != 0 {
			to, _ := sh.search(h)
			sh.hashes[to], sh.marks[to] = h, old.marks[i]
		}
	}
}
