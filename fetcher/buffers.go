package fetcher

import (
	"math/bits"
	"sync"
)

// Buffers of these sizes, in powers of two, are kept for the next body; larger ones are rare and left
// to the garbage collector.
const (
	minBuffer = 1 << 14
	maxBuffer = 1 << 20
	classes   = 7
)

// buffers is memory for bodies that are being read. The zero value is ready.
type buffers struct {
	pools [classes]sync.Pool // of *[]byte with capacity minBuffer << index
}

// get is an empty buffer that holds at least n bytes.
func (b *buffers) get(n int) []byte {
	class := bits.Len(uint(max(n, minBuffer)-1)) - bits.Len(uint(minBuffer-1))
	if class >= classes {
		return make([]byte, 0, n)
	}
	if p, ok := b.pools[class].Get().(*[]byte); ok {
		return (*p)[:0]
	}
	return make([]byte, 0, minBuffer<<class)
}

// put takes a buffer of get back.
func (b *buffers) put(p []byte) {
	n := cap(p)
	if n < minBuffer || n > maxBuffer || n&(n-1) != 0 {
		return
	}
	p = p[:0]
	b.pools[bits.TrailingZeros(uint(n))-bits.TrailingZeros(uint(minBuffer))].Put(&p)
}

// grow is p in a buffer of that size, and with room for at least one byte.
func (b *buffers) grow(p []byte, size int) []byte {
	bigger := b.get(max(size, len(p)+1))
	bigger = append(bigger, p...)
	b.put(p)
	return bigger
}
