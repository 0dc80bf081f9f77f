package frontier

import "encoding/binary"

// A delta is a record as what it does not share with another, its model: runs of bytes of its own, each
// behind its length less 1, and pieces of the model, each as its length less 4, with the top bit set,
// and where in the model it begins, as uvarint. Only the first bytes of a model are used: as many as a URL
// has that is queued by default.
const (
	pieceLeast = 4
	pieceMost  = pieceLeast + 127
	ownMost    = 128
	pieceFlag  = 0x80
	modelMost  = 2 << 10
)

// deltas makes deltas. It remembers the model it was last asked for: most links of a page have one.
type deltas struct {
	model *byte // its first byte; the bytes of a model do not change
	// Where in the model four bytes are, plus 1, by their hash.
	at [1 << hashBits]uint16
}

const hashBits = 10

// append appends to dst the delta by which appendWhole makes rec of model, which must not be empty. What
// follows the model in its memory may be taken for a part of it, as long as it stays there.
func (d *deltas) append(dst, model, rec []byte) []byte {
	model = model[:min(len(model), modelMost)]
	if d.model != &model[0] {
		d.learn(model)
	}
	own := 0 // from here on nothing is written yet
	for i := 0; i+pieceLeast <= len(rec); {
		from := int(d.at[fourHash(rec[i:])]) - 1
		n := 0
		if from >= 0 {
			n = common(model[from:], rec[i:])
		}
		if n < pieceLeast {
			i++
			continue
		}
		dst = append(appendOwn(dst, rec[own:i]), pieceFlag|byte(n-pieceLeast))
		dst = binary.AppendUvarint(dst, uint64(from))
		i += n
		own = i
	}
	return appendOwn(dst, rec[own:])
}

func (d *deltas) learn(model []byte) {
	d.model, d.at = &model[0], [1 << hashBits]uint16{}
	for i := 0; i+pieceLeast <= len(model); i++ {
		d.at[fourHash(model[i:])] = uint16(i + 1)
	}
}

func fourHash(b []byte) uint32 {
	return binary.LittleEndian.Uint32(b) * 2654435761 >> (32 - hashBits)
}

// common is how many first bytes a and b have in common, as many as one piece may have.
func common(a, b []byte) (n int) {
	most := min(len(a), len(b), pieceMost)
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

func appendOwn(dst, b []byte) []byte {
	for len(b) > 0 {
		n := min(len(b), ownMost)
		dst = append(append(dst, byte(n-1)), b[:n]...)
		b = b[n:]
	}
	return dst
}

// appendWhole appends to dst the record of a delta that deltas made.
func appendWhole(dst, model, delta []byte) []byte {
	for len(delta) > 0 {
		n := int(delta[0])
		if n < pieceFlag {
			dst = append(dst, delta[1:n+2]...)
			delta = delta[n+2:]
			continue
		}
		from, size := binary.Uvarint(delta[1:])
		dst = append(dst, model[from:int(from)+n-pieceFlag+pieceLeast]...)
		delta = delta[1+size:]
	}
	return dst
}
