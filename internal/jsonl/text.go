package jsonl

import (
	"encoding/binary"
	"math/bits"
)

const ones, highs = 0x0101010101010101, 0x8080808080808080 // the lowest and the highest bit of each of eight bytes

// Quote returns the position of the first quote or backslash; len(b) if there is none. It examines eight bytes at a time, which for such
// texts costs less than two calls of bytes.IndexByte.
func Quote(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, backslash := x^'"'*ones, x^'\\'*ones
		// The lowest bit set belongs to the first matching byte; bits above it may be set by the borrow.
		if found := ((quote-ones)&^quote | (backslash-ones)&^backslash) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' {
			return i
		}
	}
	return i
}
