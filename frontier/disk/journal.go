package disk

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Journal stores the groups of a [Store] elsewhere, so that another process, possibly on another machine, can rebuild the same
// store from them: see [Copy].
//
// A store with a Journal waits for it and not for its own disk. Its directory is a copy that has a prefix of the journal, even
// after a crash of the machine. A call of the store returns when its group is in the journal and in the directory.
type Journal interface {
	// Append makes a group durable after all earlier groups and returns its place. It must neither change nor keep group. A Store
	// calls it from one goroutine. The first error ends the Store: every later call returns an error that wraps it. The group is
	// then not in the directory, but may be in the journal.
	Append(group []byte) (Mark, error)
}

// Mark is a place in a [Journal]. The zero Mark is its beginning.
type Mark struct {
	Seq   uint64   // increases from group to group; 0 is before the first
	Nonce [16]byte // of the group at Seq; different journals have different ones
}

// errCopy is wrapped by the error of [Open] for a directory with a Journal that is opened without one, or the reverse.
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

// journaled appends a batch to the journal, if there is one, and adds the mark to the batch, so that both take effect together.
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

// checkJournal reports a directory that is opened with a journal and was written without one, or the reverse.
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
