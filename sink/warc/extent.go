package warc

import (
	"crypto/sha256"
	"encoding"
	"hash"

	"github.com/amble-crawler/amble/sink"
)

// Extents returns the extent of each archive file that grew since Extents was last called, in the order of their
// serial numbers. What was synced before the call is durable up to these extents. Indexes are left out: all they say
// is in the archives.
func (w *Writer) Extents() []sink.Extent {
	all := w.extents
	w.extents = nil
	if w.cur != nil {
		all = w.cur.appendExtent(all)
	}
	return all
}

// appendExtent appends the extent of the file unless it is unchanged since the last call.
func (s *segment) appendExtent(list []sink.Extent) []sink.Extent {
	if s.hash.told == s.size {
		return list
	}
	s.hash.told = s.size
	e := sink.Extent{File: s.name, Bytes: s.size, State: s.hash.state()}
	s.hash.Sum(e.SHA256[:0])
	return append(list, e)
}

// prefixHash is the hash of what was written to a file so far.
type prefixHash struct {
	hash.Hash
	told int64 // length of the file when it was last reported
}

func newPrefixHash() prefixHash { return prefixHash{Hash: sha256.New()} }

func (h *prefixHash) add(b []byte) { _, _ = h.Write(b) } // Write of a hash never fails

func (h *prefixHash) state() []byte {
	b, err := h.Hash.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil { // never: crypto/sha256 returns none
		panic(err)
	}
	return b
}
