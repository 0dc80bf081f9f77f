package disk

import (
	"context"
	"encoding/binary"
	"maps"

	"github.com/cockroachdb/pebble/v2"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/packed"
)

// offsets is those that were committed, by owner and name.
type offsets map[string]map[string]int64

func (o offsets) set(owner, name string, offset int64) {
	if o[owner] == nil {
		o[owner] = map[string]int64{}
	}
	o[owner][name] = offset
}

// appendOwned appends to dst the beginning of the keys of an owner, whose names follow. The owner "" has the keys of stores that
// were made when there was one owner only.
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

func (s *Store) loadOffsets() error {
	err := s.scanPrefix([]byte(tagOffset), func(key, value []byte) (bool, error) {
		offset, err := readOffset(value)
		s.offsets.set("", string(key[len(tagOffset):]), offset)
		return err == nil, err
	})
	if err != nil {
		return err
	}
	return s.scanPrefix([]byte(tagOwnedOffset), func(key, value []byte) (bool, error) {
		owner, name, ok := packed.CutString(key[len(tagOwnedOffset):])
		if !ok {
			return false, errCorrupt
		}
		offset, err := readOffset(value)
		s.offsets.set(string(owner), string(name), offset)
		return err == nil, err
	})
}

// Offsets implements frontier.Durable.
func (s *Store) Offsets(owner string) map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]int64, len(s.offsets[owner]))
	maps.Copy(all, s.offsets[owner])
	return all
}

// Value implements frontier.Durable. The error is frontier.ErrClosed, the context's or the disk's.
func (s *Store) Value(ctx context.Context, owner, name string) ([]byte, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	v, err := s.get(appendValue(nil, owner, name))
	if err != nil {
		return nil, s.fail(err)
	}
	return v, nil
}

// Values implements frontier.Durable. f must not close the Store. The error is f's, or as of Value.
func (s *Store) Values(ctx context.Context, owner, prefix string, f func(name string, value []byte) error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.scanValues(owner, prefix, f)
}

func (s *Store) scanValues(owner, prefix string, f func(name string, value []byte) error) error {
	name := len(appendValue(nil, owner, ""))
	return s.scanPrefix(appendValue(nil, owner, prefix), func(key, value []byte) (bool, error) {
		err := f(string(key[name:]), value)
		return err == nil, err
	})
}

func (s *Store) begin(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enter(ctx)
}

// values writes what an op carries besides URLs.
func (g *group) values(c *frontier.Checkpoint) error {
	for name, offset := range c.Offsets {
		g.key = appendOffset(g.key[:0], c.Owner, name)
		g.value = binary.BigEndian.AppendUint64(g.value[:0], uint64(offset))
		if err := g.batch.Set(g.key, g.value, nil); err != nil {
			return err
		}
	}
	for name, value := range c.Values {
		g.key = appendValue(g.key[:0], c.Owner, name)
		if err := set(g.batch, g.key, value); err != nil {
			return err
		}
	}
	return nil
}

// set sets a key, or deletes it if value is nil.
func set(b *pebble.Batch, key, value []byte) error {
	if value == nil {
		return b.Delete(key, nil)
	}
	return b.Set(key, value, nil)
}
