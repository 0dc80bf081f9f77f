package disk

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Copy is the directory of a [Store] with a [Journal] while no Store has it open. Apply brings it up to date with the journal, group by
// group, until a Store is opened in it. A Store opened in a directory to which the first n groups of a journal were applied in order has
// exactly the state of the journal's own Store after n groups.
//
// A Copy must not be used concurrently. After a failure of the disk, every call returns its error.
type Copy struct {
	engine *engine
	lock   *pebble.Lock
	mark   Mark
	noURLs bool
}

// OpenCopy opens the copy in dir, or creates one there: dir must be a copy's directory, or empty, or not exist. Of c, only NoURLs and the
// sizes of caches and tables are used. The errors are those of [Open].
func OpenCopy(dir string, c Config) (*Copy, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("disk: %w", err)
	}
	return openCopy(plainFS{vfs.Default}, dir, c)
}

func openCopy(fs vfs.FS, dir string, c Config) (*Copy, error) {
	lock, err := prepare(fs, dir)
	if err != nil {
		return nil, err
	}
	k := &Copy{lock: lock, noURLs: c.NoURLs}
	failure := newFailure(dir, func(error, bool) {})
	if k.engine, err = openEngine(fs, c.withDefaults(), lock, failure, false); err != nil {
		_ = lock.Close()
		return nil, describe(dir, err)
	}
	err = k.engine.guarded(func() (err error) {
		if k.mark, err = k.engine.loadMark(); err == nil && k.noURLs && k.mark != (Mark{}) {
			err = k.engine.db.Delete(keyMark, pebble.NoSync) // without URLs, the directory is no complete copy any more
		}
		return err
	})
	if err == nil && k.mark == (Mark{}) {
		err = k.checkEmpty(dir)
	}
	if err != nil {
		_ = k.Close()
		return nil, describe(dir, err)
	}
	return k, nil
}

// checkEmpty returns an error if the directory contains a crawl but no mark.
func (k *Copy) checkEmpty(dir string) error {
	b, err := k.engine.get(keySecret)
	if err == nil && b != nil {
		err = &storeError{fmt.Sprintf("%v: %s: it was written without one: name another directory", errCopy, dir), []error{errCopy}}
	}
	return err
}

// Mark returns the mark of the group that was applied last, or the zero Mark if there is none.
func (k *Copy) Mark() Mark { return k.mark }

// Apply applies the journal's next group, which has the mark at. group must be complete and unchanged; otherwise the directory is
// damaged.
func (k *Copy) Apply(group []byte, at Mark) error {
	if at.Seq <= k.mark.Seq {
		return fmt.Errorf("disk: group %d comes after group %d of the journal: a copy follows it in order", at.Seq, k.mark.Seq)
	}
	err := k.engine.guarded(func() error {
		b := k.engine.db.NewBatch()
		if err := b.SetRepr(bytes.Clone(group)); err != nil {
			return err
		}
		if k.noURLs {
			return k.applyRest(b)
		}
		if err := b.Set(keyMark, at.bytes(nil), nil); err != nil {
			return err
		}
		return k.engine.db.Apply(b, pebble.NoSync)
	})
	if err != nil {
		return k.engine.failure.fail(err)
	}
	k.mark = at
	return nil
}

// applyRest applies the changes of a group that do not concern URLs.
func (k *Copy) applyRest(group *pebble.Batch) error {
	b, n := k.engine.db.NewBatch(), uint32(0)
	for r := group.Reader(); ; n++ {
		kind, key, value, more, err := r.Next()
		switch {
		case err != nil || !more && n != group.Count():
			return errors.Join(err, errCorrupt)
		case !more:
			return k.engine.db.Apply(b, pebble.NoSync)
		case kind == pebble.InternalKeyKindRangeDelete:
			err = b.DeleteRange(key, value, nil)
		case len(key) > 0 && (key[0] == tagSeen || key[0] == tagQueue || key[0] == tagDue):
		case kind == pebble.InternalKeyKindSet:
			err = b.Set(key, value, nil)
		case kind == pebble.InternalKeyKindDelete:
			err = b.Delete(key, nil)
		default:
			err = errCorrupt
		}
		if err != nil {
			return err
		}
	}
}

// Offsets returns the offsets that an owner has committed (frontier.Durable.Offsets), keyed by name, as of the last group.
func (k *Copy) Offsets(owner string) (map[string]int64, error) {
	var all offsets
	if err := k.engine.guarded(func() error { return all.load(k.engine) }); err != nil {
		return nil, k.engine.failure.fail(err)
	}
	return all.get(owner), nil
}

// Values calls f with the values of an owner whose names begin with prefix (frontier.Durable.Values), as of the last group. f must not
// use the Copy. Values returns the error of f or of the disk.
func (k *Copy) Values(owner, prefix string, f func(name string, value []byte) error) error {
	return k.engine.guarded(func() error { return k.engine.scanValues(owner, prefix, f) })
}

// Hosts calls f with each host that has pending URLs, in no particular order, as of the last group.
func (k *Copy) Hosts(f func(HostCount)) error {
	return k.engine.guarded(func() error {
		return k.engine.scanHosts(func(c HostCount) bool {
			f(c)
			return true
		})
	})
}

// Close closes the directory, so that a Store or another Copy can be opened in it.
func (k *Copy) Close() error {
	err := k.engine.close()
	if !k.engine.failure.mayHang() {
		_ = k.lock.Close()
	}
	return describe(k.engine.failure.dir, err)
}
