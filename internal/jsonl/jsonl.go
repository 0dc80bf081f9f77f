// Package jsonl has what the readers of JSON lines share, ledgers and visits of which there are millions: lines that are decoded
// in parallel, times at a fraction of the cost of package time, and one copy of texts that many lines have.
package jsonl

import "hash/maphash"

// Names keeps short texts that were read lately, at most some hundred KiB. The zero Names is ready for use. It must not be used
// concurrently.
type Names struct {
	seed  maphash.Seed
	slots *[1 << 12]string
}

// maxName is the maximum length of a text that is kept.
const maxName = 128

// Of returns b as a string, without an allocation if it was read lately.
func (n *Names) Of(b []byte) string {
	if len(b) == 0 || len(b) > maxName {
		return string(b)
	}
	if n.slots == nil {
		n.seed, n.slots = maphash.MakeSeed(), new([1 << 12]string)
	}
	slot := &n.slots[maphash.Bytes(n.seed, b)%uint64(len(n.slots))]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// Same is like Of for a text that is usually *last, which it sets.
func (n *Names) Same(b []byte, last *string) string {
	if *last != string(b) {
		*last = n.Of(b)
	}
	return *last
}
