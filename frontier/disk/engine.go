package disk

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// engineFormat is the engine's own format. It is named, not the newest, so that a newer engine does
// not make directories that this version cannot open.
const engineFormat = pebble.FormatTableFormatV6

// maxTableSize is how large a table grows. A table's filter is built, read and kept as a whole: in the
// engine's own sizes, of up to 128 MiB, that of a table of hashes is 10 MiB, read again whenever the cache
// had to let it go, and took 70 MiB to build. maxFilterSize is that of a table of hashes of this size.
const (
	maxTableSize  = 8 << 20
	maxFilterSize = maxTableSize / 16
)

// openEngine opens the database.
func (s *Store) openEngine(fs vfs.FS, readOnly bool) error {
	s.cache = newCache(s.c.CacheSize, s.c.MemTableSize)
	defer s.cache.engine.Unref() // the database has its own reference
	return s.guarded(func() (err error) {
		o := s.options(fs)
		o.ReadOnly = readOnly
		if n := s.c.MaxTables; n > 0 { // the engine's own option has a least value of 64
			o.FileCache = pebble.NewFileCache(min(runtime.GOMAXPROCS(0), n), n)
			defer o.FileCache.Unref() // the database has its own reference
		}
		s.db, err = pebble.Open(s.dir, o)
		return err
	})
}

func (s *Store) options(fs vfs.FS) *pebble.Options {
	o := &pebble.Options{
		FS:                    guard{fs, s},
		Lock:                  s.lock,
		Logger:                engineLog{s},
		FormatMajorVersion:    engineFormat,
		Cache:                 s.cache.engine,
		MemTableSize:          uint64(s.c.MemTableSize),
		L0CompactionThreshold: 8,
		L0StopWritesThreshold: 24,
		EventListener:         &pebble.EventListener{BackgroundError: s.background, DataCorruption: s.corrupt},
	}
	for i := range o.Levels {
		// Half of all links are new: a filter says so without reading, the lowest level's as well.
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(8)
		o.Levels[i].BlockSize = 8 << 10
	}
	for i := range o.TargetFileSizes {
		o.TargetFileSizes[i] = min(int64(2<<20)<<i, maxTableSize)
	}
	// The lowest level, where nearly all lies, is worth the better compression: a sixth less for hashes, a
	// third less for queued paths.
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionBalanced })
	return o
}

// engineLog is silent. What the engine cannot survive ends the store, not the process.
type engineLog struct{ s *Store }

func (engineLog) Infof(string, ...any)  {}
func (engineLog) Errorf(string, ...any) {}

// Fatalf must not return: the engine would go on as if nothing had happened. Nor must it end the
// goroutine, which may have unlocked what it is to unlock again as it ends.
func (l engineLog) Fatalf(format string, args ...any) {
	text, causes := fmt.Sprintf(format, args...), []error(nil)
	for _, a := range args {
		if err, ok := a.(error); ok {
			causes = append(causes, err)
		}
	}
	l.s.breakDown(&engineError{text, causes})
	select {}
}

// background is told of flushes and compactions that failed: the disk is full or broken. The engine
// would try again and let writes wait, for ever perhaps.
func (s *Store) background(err error) {
	if !errors.Is(err, pebble.ErrCancelledCompaction) {
		s.breakDown(err)
	}
}

// corrupt is told of a file that is not what was written. Whoever reads it gets the error.
func (s *Store) corrupt(info pebble.DataCorruptionInfo) { _ = s.fail(info.Details) }

// breakDown fails the store and notes that the engine may hang.
func (s *Store) breakDown(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.failLocked(err)
	if s.broken {
		return
	}
	s.broken = true
	for o := range s.unanswered { // nobody else may: the engine may never come back to the writer
		s.answer(o, s.err)
	}
	close(s.gone)
}

// fail makes err, if it is the first, the answer to this call and all later ones.
func (s *Store) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failLocked(err)
}

func (s *Store) failLocked(err error) error {
	if s.err == nil {
		s.err = s.failed(err)
	}
	for _, o := range s.inbox {
		s.answer(o, s.err)
	}
	s.inbox = nil
	s.notify()
	return s.err
}

// apply makes b visible; it is durable when b.SyncWait returns. The engine panics when it cannot
// write its log, and is not to be used after that.
func (s *Store) apply(b *pebble.Batch) (err error) {
	defer s.survive(&err)
	return s.db.ApplyNoSyncWait(b, pebble.Sync)
}

// survive, deferred, makes a panic of the engine an error.
func (s *Store) survive(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the engine gave up: %v", r)
		if cause, ok := r.(error); ok {
			*err = fmt.Errorf("the engine gave up: %w", cause)
		}
		s.breakDown(*err)
	}
}

// guarded calls f, which uses the engine, and does not wait for it if the engine hangs.
func (s *Store) guarded(f func() error) error {
	ended := make(chan error, 1)
	go func() {
		var err error
		defer func() { ended <- err }()
		defer s.survive(&err)
		err = f()
	}()
	select {
	case err := <-ended:
		return err
	case <-s.gone:
		return s.failure()
	}
}

// closeEngine waits for the engine unless that may be for ever.
func (s *Store) closeEngine() error {
	if s.isBroken() {
		return s.failure()
	}
	return s.guarded(s.db.Close)
}

func (s *Store) isBroken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

// get is a copy of the value of key, nil if there is none.
func (s *Store) get(key []byte) ([]byte, error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v = append(make([]byte, 0, len(v)), v...)
	return v, closer.Close()
}
