package frontier

import "encoding/binary"

// A delta encodes a record by its differences from another record, its model. It is a sequence of pieces: literal bytes, preceded by their
// number minus 1; and references to the model, each of which is a length minus 4, with the top bit set, and an offset in the model as
// uvarint. Only the first maxModel bytes of a model are used: the maximum length of a queued URL by default.
const (
	minPiece  = 4
	maxPiece  = minPiece + 127
	maxOwn    = 128
	pieceFlag = 0x80
	maxModel  = 2 << 10
)

// deltas encodes deltas. It caches the index of the last model, because most links of a page have the same model.
type deltas struct {
	model *byte // first byte of the indexed model, whose bytes never change
	// maps the hash of four bytes to their offset in the model, plus 1
	at [1 << hashBits]uint16
}

const hashBits = 10

// append appends to dst the delta of rec from model, which must not be empty; appendWhole decodes it. The delta may refer to bytes that
// follow the model in memory, so they must not change.
func (d *deltas) append(dst, model, rec []byte) []byte {
	model = model[:min(len(model), maxModel)]
	if d.model != &model[0] {
		d.learn(model)
	}
	own := 0 // the bytes of rec before this index are encoded
	for i := 0; i+minPiece <= len(rec); {
		from := int(d.at[fourHash(rec[i:])]) - 1
		n := 0
		if from >= 0 {
			n = common(model[from:], rec[i:])
		}
		if n < minPiece {
			i++
			continue
		}
		dst = append(appendOwn(dst, rec[own:i]), pieceFlag|byte(n-minPiece))
		dst = binary.AppendUvarint(dst, uint64(from))
		i += n
		own = i
	}
	return appendOwn(dst, rec[own:])
}

func (d *deltas) learn(model []byte) {
	d.model, d.at = &model[0], [1 << hashBits]uint16{}
	for i := 0; i+minPiece <= len(model); i++ {
		d.at[fourHash(model[i:])] = uint16(i + 1)
	}
}

func fourHash(b []byte) uint32 {
	return binary.LittleEndian.Uint32(b) * 2654435761 >> (32 - hashBits)
}

// common returns the length of the common prefix of a and b, at most the length of one reference.
func common(a, b []byte) (n int) {
	most := min(len(a), len(b), maxPiece)
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

func appendOwn(dst, b []byte) []byte {
	for len(b) > 0 {
		n := min(len(b), maxOwn)
		dst = append(append(dst, byte(n-1)), b[:n]...)
		b = b[n:]
	}
	return dst
}

// appendWhole appends to dst the record that a delta encodes.
func appendWhole(dst, model, delta []byte) []byte {
	for len(delta) > 0 {
		n := int(delta[0])
		if n < pieceFlag {
			dst = append(dst, delta[1:n+2]...)
			delta = delta[n+2:]
			continue
		}
		from, size := binary.Uvarint(delta[1:])
		dst = append(dst, model[from:int(from)+n-pieceFlag+minPiece]...)
		delta = delta[1+size:]
	}
	return dst
}
