package disk

import (
	"context"
	"encoding/binary"
	"maps"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/amble-crawler/amble/frontier/internal/packed"
)

// offsets holds the committed offsets, keyed by owner and name.
type offsets struct {
	mu sync.Mutex
	of map[string]map[string]int64
}

// get returns a copy of the offsets of an owner.
func (o *offsets) get(owner string) map[string]int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[string]int64, len(o.of[owner]))
	maps.Copy(all, o.of[owner])
	return all
}

// publish adds the offsets that ops, which are durable, have committed.
func (o *offsets) publish(ops []*op) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, op := range ops {
		for name, offset := range op.checkpoint.Offsets {
			o.set(op.checkpoint.Owner, name, offset)
		}
	}
}

func (o *offsets) set(owner, name string, offset int64) {
	if o.of == nil {
		o.of = map[string]map[string]int64{}
	}
	if o.of[owner] == nil {
		o.of[owner] = map[string]int64{}
	}
	o.of[owner][name] = offset
}

// appendOwned appends to dst the prefix of an owner's keys, which a name follows: one for the owner "", whose keys are those of early
// stores with one owner, otherwise many and the owner.
func appendOwned(dst []byte, one, many, owner string) []byte {
	if owner == "" {
		return append(dst, one...)
	}
	return packed.AppendString(append(dst, many...), owner)
}

func appendOffset(dst []byte, owner, name string) []byte {
	return append(appendOwned(dst, tagOffset, tagOwnedOffset, owner), name...)
}

func appendValue(dst []byte, owner, name string) []byte {
	return append(appendOwned(dst, tagValue, tagOwnedValue, owner), name...)
}

func readOffset(b []byte) (int64, error) {
	if len(b) != 8 {
		return 0, errCorrupt
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}

// load reads the offsets of all owners.
func (o *offsets) load(e *engine) error {
	err := e.scanPrefix([]byte(tagOffset), func(key, value []byte) (bool, error) {
		offset, err := readOffset(value)
		o.set("", string(key[len(tagOffset):]), offset)
		return err == nil, err
	})
	if err != nil {
		return err
	}
	return e.scanPrefix([]byte(tagOwnedOffset), func(key, value []byte) (bool, error) {
		owner, name, ok := packed.CutString(key[len(tagOwnedOffset):])
		if !ok {
			return false, errCorrupt
		}
		offset, err := readOffset(value)
		o.set(string(owner), string(name), offset)
		return err == nil, err
	})
}

func (e *engine) scanValues(owner, prefix string, f func(name string, value []byte) error) error {
	name := len(appendValue(nil, owner, ""))
	return e.scanPrefix(appendValue(nil, owner, prefix), func(key, value []byte) (bool, error) {
		err := f(string(key[name:]), value)
		return err == nil, err
	})
}

// Checkpoint copies the present state of the store, with its [Mark], into dir, which must not exist. A [Copy] can be opened in it. Files
// that no longer change are linked, if the file system supports links, so the copy takes little time and, at first, little space. It may
// be called at any time. It returns frontier.ErrClosed, or an error of the context or the disk.
func (s *Store) Checkpoint(ctx context.Context, dir string) error {
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	err := s.engine.guarded(func() error { return s.engine.db.Checkpoint(dir, pebble.WithFlushedWAL()) })
	if err != nil {
		return s.engine.failure.fail(err)
	}
	return mark(s.fs, dir)
}
