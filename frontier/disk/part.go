package disk

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/amble-crawler/amble/frontier"
)

// Part selects those contents of a [Copy] that another store takes over.
type Part struct {
	// Host reports whether a host (weburl.URL.Host), with its queue and its known URLs, belongs to the part. The names of hosts without
	// pending URLs are unknown, so their known URLs are in every part.
	Host func(host string) bool
	// Value returns the value that the part has instead of a value of the owner "" (frontier.Durable.Values), or nil to leave it out.
	// nil: no values.
	Value func(name string, value []byte) []byte
	// Checkpoint has the offsets and values that an owner has in the part. The offsets and values that the owner has in the Copy are not
	// taken over.
	Checkpoint frontier.Checkpoint
}

// Part calls f with groups of about 4 MiB each, which f must not keep. A Copy to which all of them are applied in order has the contents
// of the part. This Copy does not change. Part returns the error of f or of the disk.
func (k *Copy) Part(p Part, f func(group []byte) error) error {
	return k.engine.guarded(func() error {
		names, counts, err := k.hosts(p.Host)
		if err != nil {
			return err
		}
		g := &grouper{k.engine.db.NewBatch(), f}
		if err := g.batch.DeleteRange([]byte{0}, []byte{0xff}, nil); err != nil {
			return err
		}
		of := stored{number: counts.number}
		keep := func(host uint64) bool { return names[host] == ours }
		if err := errors.Join(
			g.copyKeys(k.engine, []byte{tagHost}, func(key, _ []byte) bool { return keep(hostHash(key)) }),
			g.copyKeys(k.engine, []byte{tagQueue}, func(key, _ []byte) bool { return keep(hostHash(key)) }),
			g.copyKeys(k.engine, []byte{tagDue}, func(key, _ []byte) bool { return keep(dueHost(key)) }),
			g.copyKeys(k.engine, []byte{tagSeen}, func(key, value []byte) bool {
				at := names[hostHash(key)]
				st, err := readSeen(value)
				if err == nil && at == ours {
					of.count(st.state, 1)
				}
				return at == ours || at == nobodys && st.state == Done // rejected URLs are left out: they may be queued again as new ones
			}),
			g.copyKeys(k.engine, keySecret, nil),
			g.copyKeys(k.engine, keyTime, nil),
			g.copyValues(k.engine, p.Value),
		); err != nil {
			return err
		}
		if counts != (stored{}) {
			if err := g.batch.Set(keyCounters, of.bytes(nil), nil); err != nil {
				return err
			}
		}
		return errors.Join(g.checkpoint(p.Checkpoint), g.flush())
	})
}

// Drop removes the hosts for which gone returns true, with their queues and their known URLs, and then commits c. It appends each group
// of changes to j before it applies it. If it is interrupted, the groups so far stay in effect, and the next Drop removes the remaining
// hosts. After an error, which is that of j or of the disk, the Copy must be closed.
func (k *Copy) Drop(gone func(host string) bool, c frontier.Checkpoint, j Journal) error {
	return k.drop(gone, c, j, groupBytes)
}

func (k *Copy) drop(gone func(host string) bool, c frontier.Checkpoint, j Journal, size int) error {
	return k.engine.guarded(func() error {
		names, counts, err := k.hosts(gone)
		if err != nil {
			return err
		}
		g := &grouper{k.engine.db.NewBatch(), func(group []byte) error {
			m, err := j.Append(group)
			if err != nil {
				return err
			}
			return k.Apply(group, m)
		}}
		drop := func(key []byte) error {
			if err := g.batch.Delete(key, nil); err != nil || g.batch.Len() < size {
				return err
			}
			return errors.Join(g.batch.Set(keyCounters, counts.bytes(nil), nil), g.flush())
		}
		err = k.engine.scanPrefix([]byte{tagDue}, func(key, _ []byte) (bool, error) {
			if names[dueHost(key)] != ours {
				return true, nil
			}
			return true, drop(key)
		})
		for host, at := range names {
			if err != nil || at != ours {
				continue
			}
			err = errors.Join(
				k.engine.scanPrefix(appendHost(nil, tagSeen, host), func(key, value []byte) (bool, error) {
					if st, err := readSeen(value); err == nil {
						counts.count(st.state, -1)
					}
					return true, drop(key)
				}),
				k.engine.scanPrefix(appendHost(nil, tagQueue, host), func(key, _ []byte) (bool, error) { return true, drop(key) }),
				drop(appendHost(nil, tagHost, host)), // last, because Drop finds the host by its record
			)
		}
		if err == nil && counts != (stored{}) {
			err = g.batch.Set(keyCounters, counts.bytes(nil), nil)
		}
		return errors.Join(err, g.checkpoint(c), g.flush())
	})
}

// hostSet says to which part a host belongs.
type hostSet uint8

const (
	nobodys hostSet = iota // the host has no record, so its name is unknown
	ours
	others
)

// hosts returns, by hash, to which part each host with a record belongs, and the counters of the store. meant reports whether a host
// belongs to this part.
func (k *Copy) hosts(meant func(host string) bool) (names map[uint64]hostSet, counts stored, err error) {
	if counts, err = k.engine.loadCounters(); err != nil {
		return nil, counts, err
	}
	names = map[uint64]hostSet{}
	err = k.engine.scanPrefix([]byte{tagHost}, func(key, value []byte) (bool, error) {
		r, err := readHost(value)
		if err != nil || len(key) != 9 {
			return false, errors.Join(err, errCorrupt)
		}
		names[hostHash(key)] = others
		if meant(r.name) {
			names[hostHash(key)] = ours
		}
		return true, nil
	})
	return names, counts, err
}

// count counts n URLs in the state st.
func (c *stored) count(st State, n int) {
	switch st {
	case Done:
		c.done += n
	case Rejected:
		c.rejected += n
	}
}

// dueHost returns the host's hash in a d key, or 0 for a damaged key.
func dueHost(key []byte) uint64 {
	_, host, _, err := readDue(key)
	if err != nil {
		return 0
	}
	return host
}

// grouper collects changes into groups.
type grouper struct {
	batch *pebble.Batch
	f     func(group []byte) error
}

// copyKeys adds the keys with a prefix, and their values, for which keep returns true. A nil keep selects all.
func (g *grouper) copyKeys(e *engine, prefix []byte, keep func(key, value []byte) bool) error {
	return e.scanPrefix(prefix, func(key, value []byte) (bool, error) {
		if keep != nil && !keep(key, value) {
			return true, nil
		}
		return true, errors.Join(g.batch.Set(key, value, nil), g.grown())
	})
}

func (g *grouper) copyValues(e *engine, change func(name string, value []byte) []byte) error {
	if change == nil {
		return nil
	}
	return e.scanValues("", "", func(name string, value []byte) error {
		if value = change(name, value); value == nil {
			return nil
		}
		return errors.Join(g.batch.Set(appendValue(nil, "", name), value, nil), g.grown())
	})
}

// checkpoint adds the offsets and values of a checkpoint.
func (g *grouper) checkpoint(c frontier.Checkpoint) error { return (&group{batch: g.batch}).values(&c) }

// grown passes the group on if it has become large.
func (g *grouper) grown() error {
	if g.batch.Len() < groupBytes {
		return nil
	}
	return g.flush()
}

// flush passes the group on and begins the next one.
func (g *grouper) flush() error {
	err := g.f(g.batch.Repr())
	g.batch.Reset()
	return err
}
