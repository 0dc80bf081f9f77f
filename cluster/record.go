package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/s2"
)

// kind is the type of a journal's record.
type kind uint8

// Kinds of records. Their numbers are stored.
const (
	kindOpen  kind = 1 // a node has become the owner
	kindGroup kind = 2 // a group of the shard's store, or the last part of a group
	kindPart  kind = 3 // a part of a group
	kindBeat  kind = 4 // a sign of life of the owner
	kindClose kind = 5 // the owner has given the shard back
)

// Versions of a record. Nodes of version 0.2.0 and before know only oldVersion. So they do not take a shard whose last record has the newer
// version: see [Node.upgrade].
const (
	oldVersion    = 1
	recordVersion = 2
)

// record is an entry of a journal.
type record struct {
	kind  kind
	epoch uint64 // epoch of the owner, starting at 1
	node  string
	at    time.Time // when the record was written, by the owner's clock
	body  []byte
	old   bool // whether the record has oldVersion
}

var errRecord = errors.New("cluster: a record of the journal is damaged, or a newer version wrote it")

func (r *record) encode() []byte {
	b := append(make([]byte, 0, 40+len(r.node)+len(r.body)), recordVersion, byte(r.kind))
	b = binary.AppendUvarint(b, r.epoch)
	b = appendText(b, r.node)
	b = binary.AppendVarint(b, r.at.UnixNano())
	return append(b, r.body...)
}

func decodeRecord(b []byte) (r record, err error) {
	d := decoder{b: b}
	version := d.byte()
	r.kind = kind(d.byte())
	r.epoch, r.node, r.at = d.uint(), d.text(), time.Unix(0, d.int())
	r.body, r.old = d.b, version == oldVersion
	if d.bad || version != recordVersion && !r.old || r.kind < kindOpen || r.kind > kindClose {
		return r, errRecord
	}
	return r, nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decoder decodes values from the front of b. If a value is missing, it sets bad, and all further values are zero.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) fail() {
	d.b, d.bad = nil, true
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail()
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) text() string {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail()
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

// partSize limits the bytes of a compressed group in one record.
const partSize = 512 << 10

// split compresses a group and cuts it into the bodies of records: the last becomes a kindGroup record, the others kindPart.
func split(group []byte) (bodies [][]byte) {
	b := s2.Encode(nil, group)
	for len(b) > partSize {
		bodies = append(bodies, b[:partSize])
		b = b[partSize:]
	}
	return append(bodies, b)
}

// maxGroup limits the decompressed size of a group that is read. A store writes at most 1 GiB in a call.
const maxGroup = 2 << 30

// join is the inverse of split.
func join(b []byte) ([]byte, error) {
	if n, err := s2.DecodedLen(b); err != nil || n > maxGroup {
		return nil, errRecord
	}
	group, err := s2.Decode(nil, b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	return group, nil
}

// beat is the body of a record with a sign of life.
type beat struct {
	mark  uint64 // sequence of the last record with a group
	idle  bool   // the shard has no URLs that are queued, waiting or claimed, and no unsent links
	probe uint64 // last probe read from the inbox
}

func (x beat) encode() []byte {
	idle := byte(0)
	if x.idle {
		idle = 1
	}
	return binary.AppendUvarint(append(binary.AppendUvarint(nil, x.mark), idle), x.probe)
}

func decodeBeat(b []byte) (x beat, err error) {
	d := decoder{b: b}
	x.mark = d.uint()
	x.idle = d.byte() == 1
	x.probe = d.uint()
	if d.bad {
		return x, errRecord
	}
	return x, nil
}
