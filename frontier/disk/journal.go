package disk

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Journal stores the groups of changes of a [Store] elsewhere, so that another process, possibly on another machine, can rebuild the
// store from them: see [Copy].
//
// A store with a Journal waits for the Journal, not for its own disk. Its directory contains a prefix of the journal's groups, even after
// a crash of the machine. A call of the store returns when its group is in the journal and in the directory.
type Journal interface {
	// Append makes a group durable after all earlier groups and returns its mark. It must neither change nor keep group. A Store calls it
	// from one goroutine. The first error ends the Store: every later call returns an error that wraps it. The group is then not in the
	// directory, but may be in the journal.
	Append(group []byte) (Mark, error)
}

// Mark identifies a place in a [Journal]. The zero Mark is the place before the first group.
type Mark struct {
	Seq   uint64   // number of the group, increasing; 0 is before the first
	Nonce [16]byte // random number of the group at Seq, which differs between journals
}

// errCopy is wrapped by the error of [Open] if a directory was written with a Journal and is opened without one, or vice versa.
var errCopy = errors.New("disk: the directory belongs to a journal")

func (m Mark) bytes(dst []byte) []byte {
	return append(binary.BigEndian.AppendUint64(dst, m.Seq), m.Nonce[:]...)
}

func readMark(b []byte) (m Mark, err error) {
	if len(b) != 8+len(m.Nonce) {
		return m, errCorrupt
	}
	m.Seq = binary.BigEndian.Uint64(b)
	copy(m.Nonce[:], b[8:])
	return m, nil
}

// loadMark reads the mark of the group that was applied last.
func (e *engine) loadMark() (Mark, error) {
	b, err := e.get(keyMark)
	if err != nil || b == nil {
		return Mark{}, err
	}
	return readMark(b)
}

// journaled appends a batch to the journal, if there is one. It adds the mark to the batch, so that mark and batch take effect together.
func (c *Config) journaled(dir string, b *pebble.Batch) error {
	if c.Journal == nil {
		return nil
	}
	mark, err := c.Journal.Append(b.Repr())
	if err != nil {
		return &storeError{fmt.Sprintf("disk: the journal of the crawl in %s: %s", dir, oneLine(err)), []error{err}}
	}
	return b.Set(keyMark, mark.bytes(nil), nil)
}

// checkJournal returns an error if the directory is opened with a journal and was written without one, or vice versa.
func (s *Store) checkJournal(written bool, m Mark) error {
	var text string
	switch {
	case s.c.Journal == nil && m != Mark{}:
		text = "it may lack the journal's end: open it with its journal"
	case s.c.Journal != nil && written && m == Mark{}:
		text = "it was written without one: name another directory"
	default:
		return nil
	}
	return &storeError{fmt.Sprintf("%v: %s: %s", errCopy, s.dir, text), []error{errCopy}}
}
