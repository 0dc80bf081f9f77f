// Package jsonl supports readers of JSON lines, such as ledgers and visits with millions of lines: parallel decoding, parsing of times in
// a fraction of the time that package time needs, and interning of frequent texts.
package jsonl

import "hash/maphash"

// Names interns short texts that were read recently, at most some hundred KiB of them. The zero Names is ready for use. It is not safe
// for concurrent use.
type Names struct {
	seed  maphash.Seed
	slots *[1 << 12]string
}

// maxName limits the length of interned texts.
const maxName = 128

// Of returns b as a string, without an allocation if it was read recently.
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

// Same is like Of for a text that usually equals *last. It updates *last.
func (n *Names) Same(b []byte, last *string) string {
	if *last != string(b) {
		*last = n.Of(b)
	}
	return *last
}
