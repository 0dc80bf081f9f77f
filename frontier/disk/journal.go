package disk

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Journal keeps the groups of a [Store] somewhere else, so that another process, on another machine too, can rebuild
// the same store from them: see [Copy].
//
// A store with a Journal waits for it and not for its own disk. Its directory is a copy that holds a prefix of the
// journal, after a crash of the machine too. A call of the store returns when its group is in the journal and in the
// directory.
type Journal interface {
	// Append makes a group durable behind all those before it and returns where it is. It must neither change group nor
	// keep it. A Store calls it from one goroutine. The first error ends the Store, with this error in that of every later
	// call; the group may then be in the journal or not, and is not in the directory.
	Append(group []byte) (Mark, error)
}

// Mark is a place in a [Journal]. The zero Mark is its beginning.
type Mark struct {
	Seq   uint64   // increases from group to group; 0 is before the first
	Nonce [16]byte // of the group at Seq: two journals that differ have different ones
}

// errCopy is wrapped by the error of [Open] for a directory that is the copy of a Journal and is opened without it, or
// the other way round.
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

// loadMark reads which group was applied last.
func (e *engine) loadMark() (Mark, error) {
	b, err := e.get(keyMark)
	if err != nil || b == nil {
		return Mark{}, err
	}
	return readMark(b)
}

// journaled appends a batch to the journal, if there is one, and notes in the batch where it is. So the mark and the
// batch take effect together.
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

// checkJournal reports a directory that is opened with a journal and was written without, or the other way round.
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
