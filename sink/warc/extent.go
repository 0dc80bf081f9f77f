package warc

import (
	"crypto/sha256"
	"encoding"
	"hash"

	"github.com/amble-crawler/amble/sink"
)

// Extents is how far each archive file reaches that was written to since Extents was last called, in the order
// of their serial numbers; of a file that reaches no further than the last time nothing is said. What was
// synced before is durable that far. Indexes are left out: they say nothing that the archives do not.
func (w *Writer) Extents() []sink.Extent {
	all := w.extents
	w.extents = nil
	if w.cur != nil {
		all = w.cur.appendExtent(all)
	}
	return all
}

// appendExtent appends the extent of the file, unless it was asked for before.
func (s *segment) appendExtent(list []sink.Extent) []sink.Extent {
	if s.hash.told == s.size {
		return list
	}
	s.hash.told = s.size
	e := sink.Extent{File: s.name, Bytes: s.size, State: s.hash.state()}
	s.hash.Sum(e.SHA256[:0])
	return append(list, e)
}

// prefixHash is the hash of what a file has so far.
type prefixHash struct {
	hash.Hash
	told int64 // how many bytes the file had when it was last asked for
}

func newPrefixHash() prefixHash { return prefixHash{Hash: sha256.New()} }

func (h *prefixHash) add(b []byte) { _, _ = h.Write(b) } // a hash's Write does not fail

func (h *prefixHash) state() []byte {
	b, err := h.Hash.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil { // that of crypto/sha256 has none
		panic(err)
	}
	return b
}
