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

// buffers provides memory for bodies that are being read. The zero value is ready to use.
type buffers struct {
	pools [classes]sync.Pool // of *[]byte with capacity minBuffer << index
}

// get returns an empty buffer that holds at least n bytes.
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

// put takes back a buffer that get has returned.
func (b *buffers) put(p []byte) {
	n := cap(p)
	if n < minBuffer || n > maxBuffer || n&(n-1) != 0 {
		return
	}
	p = p[:0]
	b.pools[bits.TrailingZeros(uint(n))-bits.TrailingZeros(uint(minBuffer))].Put(&p)
}

// grow returns p in a buffer of the given size, with room for at least one more byte.
func (b *buffers) grow(p []byte, size int) []byte {
	bigger := b.get(max(size, len(p)+1))
	bigger = append(bigger, p...)
	b.put(p)
	return bigger
}
