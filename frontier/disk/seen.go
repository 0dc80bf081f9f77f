package disk

import (
	"encoding/binary"

	"github.com/amble-crawler/amble/frontier/internal/packed"
)

// State is the progress of a URL.
type State uint8

// The states. Their numbers are stored.
const (
	Unknown State = iota
	Queued
	Waiting // put back until a time in the future
	Claimed
	Done
	Rejected // not queued, because a limit was reached
)

// seen is the record of a URL. A URL that waited until a time that has passed counts as queued. No URL is Claimed on disk.
type seen struct {
	state   State
	depth   int
	attempt int
	due     int64 // Unix nanoseconds until which the URL waits

	// The following fields are needed for F20.
	priority int8  // priority of a queued URL
	rank     int32 // rank of the URL's score
	fixed    bool  // must not be raised, because its Request has more information than a link
	raised   bool  // the queue may contain entries of the URL other than the entry at the place at
	at       place // place of the only valid entry, if the URL was raised and is not done
}

// extended, in place of a state, marks an extension: flags and priority, then the score if there is one, then the place if the URL was
// raised. The record follows in its short form.
const (
	extended   = 6
	flagFixed  = 1
	flagRaised = 2
	flagScored = 4 // three bytes with packed.Fine of the score follow the priority
)

// small, in place of the depth, means that depth and attempt follow. Nearly all records have one byte.
const small = 31

func (s seen) bytes(dst []byte) []byte {
	if s.state != Queued && s.state != Waiting {
		return append(dst, byte(s.state)|s.flags()<<3)
	}
	if s.priority != 0 || s.flags() != 0 || s.rank != 0 {
		dst = s.appendExtension(dst)
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

func (s seen) appendExtension(dst []byte) []byte {
	if s.rank == 0 {
		dst = append(dst, extended|s.flags()<<3, byte(s.priority))
	} else {
		fine := packed.Fine(s.rank)
		dst = append(dst, extended|(s.flags()|flagScored)<<3, byte(s.priority), byte(fine>>16), byte(fine>>8), byte(fine))
	}
	if s.raised {
		dst = appendPlace(dst, s.at)
	}
	return dst
}

func (s seen) flags() (f byte) {
	if s.fixed {
		f |= flagFixed
	}
	if s.raised {
		f |= flagRaised
	}
	return f
}

// cutExtension reads the extension of a record and returns the bytes after it.
func (s *seen) cutExtension(b []byte) ([]byte, error) {
	if len(b) < 2 || b[0]&7 != extended {
		return b, nil
	}
	flags := b[0] >> 3
	s.priority, s.fixed, s.raised, b = int8(b[1]), flags&flagFixed != 0, flags&flagRaised != 0, b[2:]
	if flags&flagScored != 0 {
		if len(b) < 3 {
			return nil, errCorrupt
		}
		s.rank, b = packed.RankOf(uint32(b[0])<<16|uint32(b[1])<<8|uint32(b[2])), b[3:]
	}
	if !s.raised {
		return b, nil
	}
	if len(b) < 9 {
		return nil, errCorrupt
	}
	s.at = readPlace(b)
	return b[9:], nil
}

func readSeen(b []byte) (s seen, err error) {
	if b, err = s.cutExtension(b); err != nil || len(b) == 0 {
		return seen{}, err
	}
	s.state, s.depth, b = State(b[0]&7), int(b[0]>>3), b[1:]
	ok := s.state <= Rejected && s.state != Claimed
	if ok && s.state != Queued && s.state != Waiting {
		s.raised, s.depth = byte(s.depth)&flagRaised != 0, 0
	}
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
