package disk

import (
	"encoding/binary"

	"github.com/amble-crawler/amble/frontier/internal/packed"
)

// State is what has happened to a URL so far.
type State uint8

// The states. Their numbers are stored.
const (
	Unknown State = iota
	Queued
	Waiting // put back, until a time to come
	Claimed
	Done
	Rejected // refused for want of room
)

// seen is the record of a URL. One that waits until a time that has passed is queued. The state on
// disk is never Claimed.
type seen struct {
	state   State
	depth   int
	attempt int
	due     int64 // Unix nanoseconds, if waiting
}

// small as depth means that depth and attempt follow. Nearly all records are one byte.
const small = 31

func (s seen) bytes(dst []byte) []byte {
	if s.state != Queued && s.state != Waiting {
		return append(dst, byte(s.state))
	}
	if s.depth < small && s.attempt == 0 {
		dst = append(dst, byte(s.state)|byte(s.depth)<<3)
	} else {
		dst = append(dst, byte(s.state)|small<<3)
		dst = binary.AppendUvarint(dst, uint64(s.depth))
		dst = binary.AppendUvarint(dst, uint64(s.attempt))
	}
	if s.state == Waiting {
		dst = binary.BigEndian.AppendUint64(dst, uint64(s.due))
	}
	return dst
}

func readSeen(b []byte) (s seen, err error) {
	if len(b) == 0 {
		return s, nil
	}
	s.state, s.depth, b = State(b[0]&7), int(b[0]>>3), b[1:]
	ok := s.state <= Rejected && s.state != Claimed
	if s.depth == small {
		var depth, attempt uint64
		if depth, b, ok = packed.CutUvarint(b); ok {
			attempt, b, ok = packed.CutUvarint(b)
		}
		s.depth, s.attempt = int(depth), int(attempt)
	}
	if ok && s.state == Waiting {
		if len(b) != 8 {
			return seen{}, errCorrupt
		}
		s.due = int64(binary.BigEndian.Uint64(b))
	}
	if !ok || s.depth < 0 || s.attempt < 0 {
		return seen{}, errCorrupt
	}
	return s, nil
}

// seen reads the record of a URL.
func (e *engine) seen(k urlKey) (seen, error) {
	var buf [17]byte
	b, err := e.get(appendSeen(buf[:0], k))
	if err != nil {
		return seen{}, err
	}
	return readSeen(b)
}
