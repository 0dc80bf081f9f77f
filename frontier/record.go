package frontier

import (
	"encoding/binary"
	"fmt"

	"github.com/amble-crawler/amble/frontier/internal/urltext"
)

// A record is a queued Request as bytes, without what is kept elsewhere: its host's name, its
// priority, its depth (in seen) and what it shares with the rest of its batch (its origin).
//
//	length of the rest  uvarint
//	hash                8 bytes
//	tag                 urltext.Form, recHops, recMeta
//	origin              uvarint
//	hops                count and strings, if recHops
//	meta                length and bytes, if recMeta
//	text                what remains
type record []byte

const (
	formMask = 1<<3 - 1
	recHops  = 1 << 3
	recMeta  = 1 << 4
)

// encodeRecord appends the record of r to dst.
func encodeRecord(dst []byte, host string, r *Request, hash uint64, origin uint32) []byte {
	form, text := urltext.Split(host, r.URL)
	tag := byte(form)
	if len(r.Hops) > 0 {
		tag |= recHops
	}
	if len(r.Meta) > 0 {
		tag |= recMeta
	}
	dst = binary.LittleEndian.AppendUint64(dst, hash)
	dst = append(dst, tag)
	dst = binary.AppendUvarint(dst, uint64(origin))
	if tag&recHops != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(r.Hops)))
		for _, h := range r.Hops {
			dst = appendString(dst, h)
		}
	}
	if tag&recMeta != 0 {
		dst = appendString(dst, string(r.Meta))
	}
	return append(dst, text...)
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func (r record) hash() uint64 { return binary.LittleEndian.Uint64(r) }

func (r record) origin() uint32 {
	n, _ := binary.Uvarint(r[9:])
	return uint32(n)
}

// decode fills in what the record holds of the Request.
func (r record) decode(host string, into *Request) error {
	tag, b := r[8], r[9:]
	_, b = cutUvarint(b)
	if tag&recHops != 0 {
		var n uint64
		n, b = cutUvarint(b)
		into.Hops = make([]string, n)
		for i := range into.Hops {
			var hop []byte
			hop, b = cutString(b)
			into.Hops[i] = string(hop)
		}
	}
	if tag&recMeta != 0 {
		var meta []byte
		meta, b = cutString(b)
		into.Meta = append([]byte(nil), meta...)
	}
	u, err := urltext.Join(host, urltext.Form(tag&formMask), string(b))
	if err != nil {
		return fmt.Errorf("frontier: a queued URL cannot be read back: %w", err)
	}
	into.URL = u
	return nil
}

func cutUvarint(b []byte) (uint64, []byte) {
	v, n := binary.Uvarint(b)
	return v, b[n:]
}

func cutString(b []byte) (s, rest []byte) {
	n, b := cutUvarint(b)
	return b[:n], b[n:]
}
