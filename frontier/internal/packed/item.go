package packed

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/amble-crawler/amble/weburl"
)

// ErrCorrupt is returned for bytes that this package has not encoded.
var ErrCorrupt = errors.New("packed: corrupt bytes")

// Item has the fields of a Request that every store keeps together with its URL.
type Item struct {
	URL    weburl.URL
	Hops   []string
	Meta   []byte
	Beyond uint8 // at most MaxBeyond
}

// MaxBeyond is the largest Item.Beyond that fits into its three bits.
const MaxBeyond = 1<<3 - 1

// The bytes of an item are a tag, which has the URL's Form, two flags and Beyond; the number of hops and the hops, if a flag is set; the
// meta, if the other flag is set; and the URL's text without its length.
const (
	formMask    = 1<<3 - 1
	hasHops     = 1 << 3
	hasMeta     = 1 << 4
	beyondShift = 5
)

// AppendItem appends the bytes of it to dst. ReadItem must get exactly these bytes, because their end is not marked.
func AppendItem(dst []byte, host string, it Item) []byte {
	form, text := Split(host, it.URL)
	tag := byte(form) | min(it.Beyond, MaxBeyond)<<beyondShift
	if len(it.Hops) > 0 {
		tag |= hasHops
	}
	if len(it.Meta) > 0 {
		tag |= hasMeta
	}
	dst = append(dst, tag)
	if tag&hasHops != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(it.Hops)))
		for _, h := range it.Hops {
			dst = AppendString(dst, h)
		}
	}
	if tag&hasMeta != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(it.Meta)))
		dst = append(dst, it.Meta...)
	}
	return append(dst, text...)
}

// ReadItem returns a copy of the Item that AppendItem encoded in b. It returns ErrCorrupt, or the error of package weburl if the text is
// not a valid URL.
func ReadItem(host string, b []byte) (Item, error) {
	if len(b) == 0 {
		return Item{}, ErrCorrupt
	}
	tag, b := b[0], b[1:]
	it := Item{Beyond: tag >> beyondShift}
	var ok bool
	if tag&hasHops != 0 {
		if it.Hops, b, ok = cutStrings(b); !ok {
			return Item{}, ErrCorrupt
		}
	}
	if tag&hasMeta != 0 {
		var meta []byte
		if meta, b, ok = CutString(b); !ok {
			return Item{}, ErrCorrupt
		}
		it.Meta = append(it.Meta, meta...)
	}
	u, err := Join(host, Form(tag&formMask), string(b))
	if err != nil {
		return Item{}, fmt.Errorf("packed: a stored URL cannot be read back: %w", err)
	}
	it.URL = u
	return it, nil
}

// AppendString appends s with its length.
func AppendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// CutString returns the string that AppendString wrote at the beginning of b, and the remaining bytes.
func CutString(b []byte) (s, rest []byte, ok bool) {
	n, b, ok := CutUvarint(b)
	if !ok || n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// CutUvarint returns the number at the beginning of b and the remaining bytes.
func CutUvarint(b []byte) (n uint64, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, false
	}
	return n, b[size:], true
}

func cutStrings(b []byte) (all []string, rest []byte, ok bool) {
	n, b, ok := CutUvarint(b)
	if !ok || n > uint64(len(b)) {
		return nil, nil, false
	}
	all = make([]string, n)
	for i := range all {
		var s []byte
		if s, b, ok = CutString(b); !ok {
			return nil, nil, false
		}
		all[i] = string(s)
	}
	return all, b, true
}
