package disk

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// engineFormat is the version of the engine's own format. It is fixed, so that a newer engine does not make
// directories that this version cannot open.
const engineFormat = pebble.FormatTableFormatV6

// maxTableSize is the maximum size of a table. A table's filter is built, read and kept as a whole. With the engine's default sizes, of
// up to 128 MiB, the filter of a table of hashes has 10 MiB, needs 70 MiB to be built, and is read again whenever it has been evicted
// from the cache. maxFilterSize is the size of the filter of a table of hashes that has maxTableSize.
const (
	maxTableSize  = 8 << 20
	maxFilterSize = maxTableSize / 16
)

// engine is the database of a store. It is safe for concurrent use, but only the writer calls apply and flush.
type engine struct {
	db      *pebble.DB
	lock    *pebble.Lock
	cache   *cache
	failure *failure
}

// openEngine opens the database in failure.dir, which lock holds.
func openEngine(fs vfs.FS, c Config, lock *pebble.Lock, failure *failure, readOnly bool) (*engine, error) {
	e := &engine{lock: lock, cache: newCache(c.CacheSize, c.MemTableSize), failure: failure}
	defer e.cache.engine.Unref() // the database keeps its own reference to the cache
	err := e.guarded(func() (err error) {
		o := e.options(guard{fs, e.failure, c.NoURLs}, c.MemTableSize)
		o.ReadOnly = readOnly
		if n := c.MaxTables; n > 0 { // not by the engine's own option, which has a minimum of 64
			o.FileCache = pebble.NewFileCache(min(runtime.GOMAXPROCS(0), n), n)
			defer o.FileCache.Unref() // the database keeps its own reference to the file cache
		}
		e.db, err = pebble.Open(failure.dir, o)
		return err
	})
	return e, err
}

func (e *engine) options(fs guard, memTable int) *pebble.Options {
	o := &pebble.Options{
		FS:                    fs,
		Lock:                  e.lock,
		Logger:                engineLog{e.failure},
		FormatMajorVersion:    engineFormat,
		Cache:                 e.cache.engine,
		MemTableSize:          uint64(memTable),
		L0CompactionThreshold: 8,
		L0StopWritesThreshold: 24,
		EventListener:         &pebble.EventListener{BackgroundError: e.background, DataCorruption: e.corrupt},
	}
	for i := range o.Levels {
		// Half of all links are new. Filters tell that without reading tables, so the lowest level needs them, too.
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(8)
		o.Levels[i].BlockSize = 8 << 10
	}
	for i := range o.TargetFileSizes {
		o.TargetFileSizes[i] = min(int64(2<<20)<<i, maxTableSize)
	}
	// Only one compaction runs at a time, and the next one may begin when it ends. The engine's default scheduler also checks ten times a
	// second whether more may run.
	o.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	// The lowest level, which has nearly all data, gets the better compression: it saves a sixth for hashes and a third for queued paths.
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionBalanced })
	return o
}

// engineLog drops messages. A fatal error of the engine ends the store, not the process.
type engineLog struct{ failure *failure }

func (engineLog) Infof(string, ...any)  {}
func (engineLog) Errorf(string, ...any) {}

// Fatalf must not return, because the engine would continue as if nothing had happened. It must not end the goroutine either, because
// deferred calls might release locks that the goroutine has already released.
func (l engineLog) Fatalf(format string, args ...any) {
	text, causes := fmt.Sprintf(format, args...), []error(nil)
	for _, a := range args {
		if err, ok := a.(error); ok {
			causes = append(causes, err)
		}
	}
	l.failure.breakDown(&engineError{text, causes})
	select {}
}

// background is called when a flush or a compaction has failed, because the disk is full or broken. The engine itself would try again and
// block writes, perhaps for ever.
func (e *engine) background(err error) {
	if !errors.Is(err, pebble.ErrCancelledCompaction) {
		e.failure.breakDown(err)
	}
}

// corrupt is called for a file whose contents are damaged. Reads of the file return the error.
func (e *engine) corrupt(info pebble.DataCorruptionInfo) { _ = e.failure.fail(info.Details) }

// apply makes b visible to readers. If sync is set, b is durable when b.SyncWait returns. The engine panics if it cannot write its log;
// it must not be used after that.
func (e *engine) apply(b *pebble.Batch, sync bool) (err error) {
	defer e.survive(&err)
	if !sync {
		return e.db.Apply(b, pebble.NoSync)
	}
	return e.db.ApplyNoSyncWait(b, pebble.Sync)
}

// flush waits until all writes are in files. The engine keeps a batch that is too large for a memtable in memory, and up to two more of
// them before it blocks writes.
func (e *engine) flush() {
	flushed, err := e.db.AsyncFlush()
	if err != nil {
		return // the next write will fail with the same error
	}
	select {
	case <-flushed:
	case <-e.failure.hung:
	}
}

// survive turns a panic of the engine into an error. It must be called by a defer statement.
func (e *engine) survive(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the engine gave up: %v", r)
		if cause, ok := r.(error); ok {
			*err = fmt.Errorf("the engine gave up: %w", cause)
		}
		e.failure.breakDown(*err)
	}
}

// guarded calls f, which uses the engine. It returns an error without waiting for f if the engine hangs.
func (e *engine) guarded(f func() error) error {
	ended := make(chan error, 1)
	go func() {
		var err error
		defer func() { ended <- err }()
		defer e.survive(&err)
		err = f()
	}()
	select {
	case err := <-ended:
		return err
	case <-e.failure.hung:
		return e.failure.err()
	}
}

// close closes the engine. It does not wait for it if the engine may hang for ever.
func (e *engine) close() error {
	if e.failure.mayHang() {
		return e.failure.err()
	}
	return e.guarded(e.db.Close)
}

// get returns a copy of the value of key, or nil if there is none.
func (e *engine) get(key []byte) ([]byte, error) {
	v, closer, err := e.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v = append(make([]byte, 0, len(v)), v...)
	return v, closer.Close()
}

// scan calls f with the keys from start to end (exclusive), in order, until f returns false. The arguments of f are valid until f
// returns.
func (e *engine) scan(start, end []byte, f func(key, value []byte) (bool, error)) error {
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: end})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err == nil {
			ok, err = f(it.Key(), value)
		}
		if err != nil || !ok {
			return errors.Join(err, it.Close())
		}
	}
	return it.Close() // Close returns the error that ended the iteration, if any
}

func (e *engine) scanPrefix(prefix []byte, f func(key, value []byte) (bool, error)) error {
	n := len(prefix)
	for prefix[n-1] == 0xff { // ends, because no tag consists of 0xff
		n--
	}
	end := bytes.Clone(prefix[:n])
	end[n-1]++
	return e.scan(prefix, end, f)
}
