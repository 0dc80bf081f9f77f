package disk

import (
	"encoding/binary"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/packed"
)

// A queued Request is stored without its host, priority and depth, as
//
//	url hash 8, kind 1, time added 8 (Unix nanoseconds), form of via 1, via (length, text), packed.Item
const noVia = 255

func appendRequest(dst []byte, host string, r *frontier.Request, url uint64, queued time.Time) []byte {
	dst = binary.BigEndian.AppendUint64(dst, url)
	dst = append(dst, byte(r.Kind))
	if !r.Queued.IsZero() {
		queued = r.Queued
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(queued.UnixNano()))
	if r.Via.IsZero() {
		dst = append(dst, noVia)
	} else {
		form, text := packed.Split(host, r.Via)
		dst = packed.AppendString(append(dst, byte(form)), text)
	}
	return packed.AppendItem(dst, host, packed.Item{URL: r.URL, Hops: r.Hops, Meta: r.Meta, Beyond: r.Beyond})
}

// urlHash returns the URL hash of a stored Request.
func urlHash(b []byte) (uint64, error) {
	if len(b) < 18 {
		return 0, errCorrupt
	}
	return binary.BigEndian.Uint64(b), nil
}

// readRequest decodes a Request written by appendRequest. The error is errCorrupt or weburl's.
func readRequest(host string, b []byte) (r frontier.Request, err error) {
	if len(b) < 18 {
		return r, errCorrupt
	}
	r.Kind = frontier.Kind(b[8])
	r.Queued = time.Unix(0, int64(binary.BigEndian.Uint64(b[9:])))
	form, b := b[17], b[18:]
	if form != noVia {
		text, rest, ok := packed.CutString(b)
		if !ok {
			return r, errCorrupt
		}
		if r.Via, err = packed.Join(host, packed.Form(form), string(text)); err != nil {
			return r, err
		}
		b = rest
	}
	it, err := packed.ReadItem(host, b)
	r.URL, r.Hops, r.Meta, r.Beyond = it.URL, it.Hops, it.Meta, it.Beyond
	return r, err
}

// hostRecord is the stored record of a host. It counts claimed URLs as queued. URLs that waited until a time that has passed may still be
// counted as waiting.
type hostRecord struct {
	ready   int64 // Unix nanoseconds; 0: the host is ready at once
	queued  int
	waiting int
	name    string
}

func (r hostRecord) bytes(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.ready))
	dst = binary.AppendUvarint(dst, uint64(r.queued))
	dst = binary.AppendUvarint(dst, uint64(r.waiting))
	return append(dst, r.name...)
}

func readHost(b []byte) (r hostRecord, err error) {
	if len(b) < 8 {
		return r, errCorrupt
	}
	r.ready, b = int64(binary.BigEndian.Uint64(b)), b[8:]
	var queued, waiting uint64
	var ok bool
	if queued, b, ok = packed.CutUvarint(b); ok {
		waiting, b, ok = packed.CutUvarint(b)
	}
	r.queued, r.waiting, r.name = int(queued), int(waiting), string(b)
	if !ok || r.queued < 0 || r.waiting < 0 {
		return r, errCorrupt
	}
	return r, nil
}

// stored holds the counters of the state on disk. Once the store is open, only the writer uses them.
type stored struct {
	number   uint64 // number of the next arrival
	done     int
	rejected int
	pending  int // sum over all hosts; not stored
}

// urls returns the number of URLs that the store knows.
func (c stored) urls() int { return c.done + c.pending + min(c.rejected, maxRejected) }

func (c stored) bytes(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, c.number)
	dst = binary.BigEndian.AppendUint64(dst, uint64(c.done))
	return binary.BigEndian.AppendUint64(dst, uint64(c.rejected))
}

func readStored(b []byte) (stored, error) {
	if len(b) != 24 {
		return stored{}, errCorrupt
	}
	return stored{
		number:   binary.BigEndian.Uint64(b),
		done:     int(binary.BigEndian.Uint64(b[8:])),
		rejected: int(binary.BigEndian.Uint64(b[16:])),
	}, nil
}
