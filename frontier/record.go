package frontier

import (
	"encoding/binary"
	"fmt"

	"github.com/amble-crawler/amble/frontier/internal/packed"
)

// A record is a queued Request as bytes, without what is kept elsewhere: the name of its host, its
// priority, its depth (in seen) and what it shares with the rest of its batch (its origin). It is the
// number of the origin as uvarint, and a packed.Item.
type record []byte

// appendRecord appends the record of r to dst.
func appendRecord(dst []byte, host string, r *Request, origin uint32) []byte {
	dst = binary.AppendUvarint(dst, uint64(origin))
	return packed.AppendItem(dst, host, packed.Item{URL: r.URL, Hops: r.Hops, Meta: r.Meta, Beyond: r.Beyond})
}

func (r record) origin() uint32 {
	n, _ := binary.Uvarint(r)
	return uint32(n)
}

// decode sets the fields of the Request that the record holds.
func (r record) decode(host string, into *Request) error {
	_, n := binary.Uvarint(r)
	it, err := packed.ReadItem(host, r[n:])
	if err != nil {
		return fmt.Errorf("frontier: a queued URL is lost: %w", err)
	}
	into.URL, into.Hops, into.Meta, into.Beyond = it.URL, it.Hops, it.Meta, it.Beyond
	return nil
}
