package frontier

import (
	"encoding/binary"
	"slices"
)

// lane is a first-in, first-out queue of records, stored in chunks that are freed when they have been read. Every groupSize-th record of
// a chunk is whole. The other records are deltas from the last whole record, their model, because the URLs of one host are similar.
type lane struct {
	head []byte   // chunk that is read, and that is also written as long as rest is empty
	rest [][]byte // further chunks, of which the last is written
	size int      // bytes of all chunks
	own  int32    // size of head, including the bytes that were already read

	read      int32  // offset in head of the next record
	readModel int32  // offset in head of the model of the next record
	lastModel int32  // offset of the current model in the chunk being written
	turn      uint64 // arrival number of the first record
	records   uint32
	priority  int8
	popped    uint8 // number of records read from head since the last whole record
	pushed    uint8 // number of records written to the last chunk since the last whole record
}

// chunkSize is the maximum size of a chunk. A lane wastes at most half a chunk; a short lane wastes an eighth of its size on average.
const chunkSize = 8 << 10

const groupSize = 32

func (l *lane) empty() bool { return len(l.head) == 0 }

// next returns the arrival number of the next record.
func (l *lane) next() uint64 { return l.turn + uint64(l.records) }

func (l *lane) push(rec record, d *deltas) {
	var scratch [256]byte
	last := l.last()
	if len(*last) == 0 {
		l.pushed = 0
	}
	enc := []byte(rec)
	if l.pushed > 0 {
		enc = d.append(scratch[:0], (*last)[l.lastModel:], rec)
	}
	if len(*last) > 0 && len(*last)+len(enc) > chunkSize {
		l.rest = append(l.rest, nil)
		last, enc, l.pushed = &l.rest[len(l.rest)-1], rec, 0
	}
	l.room(last, len(enc)+binary.MaxVarintLen32)
	*last = binary.AppendUvarint(*last, uint64(len(enc)))
	if l.pushed == 0 {
		l.lastModel = int32(len(*last))
	}
	*last = append(*last, enc...)
	l.pushed = (l.pushed + 1) % groupSize
}

// last returns the chunk that is written.
func (l *lane) last() *[]byte {
	if n := len(l.rest); n > 0 {
		return &l.rest[n-1]
	}
	return &l.head
}

// room ensures that b has capacity for n more bytes. It removes the part that was already read, and lets b grow by about a quarter.
func (l *lane) room(b *[]byte, n int) {
	if cap(*b)-len(*b) >= n {
		return
	}
	if b == &l.head {
		l.dropRead()
	}
	size := max(len(*b)+n, min(chunkSize, len(*b)+len(*b)/4))
	if b == &l.head {
		l.size += size - int(l.own)
		l.own = int32(size)
	} else {
		l.size += size - cap(*b)
	}
	*b = append(make([]byte, 0, size), *b...)
}

func (l *lane) dropRead() {
	from := l.read
	if l.popped > 0 {
		from = l.readModel
	}
	l.head = l.head[from:]
	l.read, l.readModel, l.lastModel = l.read-from, l.readModel-from, l.lastModel-from
}

// pop removes the first record and returns a copy.
func (l *lane) pop() record {
	n, size := binary.Uvarint(l.head[l.read:])
	at := l.read + int32(size)
	enc := l.head[at : at+int32(n)]
	l.read = at + int32(n)
	var rec record
	if l.popped == 0 {
		l.readModel, rec = at, slices.Clone(enc)
	} else {
		var scratch [256]byte
		rec = slices.Clone(appendWhole(scratch[:0], l.head[l.readModel:], enc))
	}
	l.popped = (l.popped + 1) % groupSize
	if int(l.read) == len(l.head) {
		l.nextChunk()
	}
	return rec
}

// nextChunk begins reading the next chunk.
func (l *lane) nextChunk() {
	l.size -= int(l.own)
	l.head, l.read, l.popped, l.own = nil, 0, 0, 0
	if len(l.rest) > 0 {
		l.head, l.rest[0] = l.rest[0], nil
		l.own = int32(cap(l.head))
		l.rest = l.rest[1:]
	}
}
