package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/frontiertest"
	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/weburl"
)

func parse(t testing.TB, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// openMem opens a store in memory; it is closed at the end of the test.
func openMem(t *testing.T, c Config, tn tuning) *Store {
	t.Helper()
	s, err := open(vfs.NewMem(), "/crawl", c, tn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

const reopenDelay = 700 * time.Millisecond

func testConfig() Config {
	return Config{
		ClaimTimeout: 2 * time.Minute,
		HostSlots: func(host string) int {
			if host == frontiertest.WideHost {
				return 3
			}
			return 1
		},
		ReopenDelay:  reopenDelay,
		CacheSize:    4 << 20,
		MemTableSize: 256 << 10,
	}
}

// smallConfig has memtables so small that even a short crawl flushes, compacts and rotates its log.
func smallConfig() Config {
	c := victimConfig()
	c.MemTableSize = 32 << 10
	return c
}

// little allows so little memory that nearly everything is evicted and read from disk again.
func little() (Config, tuning) {
	c := testConfig()
	c.PrefetchSize = 1000
	return c, tuning{head: 3, read: 2, window: 4, ops: 3, links: 20, known: 8}
}

// crashable is an in-memory file system that may be used during CrashClone. Pebble's file system, up to v2.1.7, may deadlock
// then: ReuseForWrite locks a mutex twice while CrashClone waits for it (cockroachdb/pebble#5993).
type crashable struct{ *vfs.MemFS }

// ReuseForWrite implements vfs.FS.
func (c crashable) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := c.Rename(old, name); err != nil {
		return nil, err
	}
	return c.OpenReadWrite(name, category)
}

// lab opens stores in an in-memory file system that can crash.
type lab struct {
	c   Config
	t   tuning
	mu  sync.Mutex
	fs  map[frontier.Frontier]*vfs.MemFS
	rng *rand.Rand
}

func newLab(c Config, t tuning) *lab {
	return &lab{c: c, t: t, fs: map[frontier.Frontier]*vfs.MemFS{}, rng: rand.New(rand.NewPCG(1, 1))}
}

func (l *lab) open(t testing.TB, fs *vfs.MemFS) *Store {
	t.Helper()
	s, err := open(crashable{fs}, "/crawl", l.c, l.t)
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fs[s] = fs
	return s
}

func (l *lab) begin(t *testing.T) frontier.Frontier { return l.open(t, vfs.NewCrashableMem()) }

// crash reopens the disk as after a crash: with all synced data, and an arbitrary part of the rest.
func (l *lab) crash(t *testing.T, f frontier.Frontier) frontier.Frontier {
	t.Helper()
	l.mu.Lock()
	left := l.fs[f].CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: l.rng.IntN(101), RNG: l.rng})
	l.mu.Unlock()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return l.open(t, left)
}

func (l *lab) reopen(t *testing.T, f frontier.Frontier) frontier.Frontier {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	fs := l.fs[f]
	l.mu.Unlock()
	return l.open(t, fs)
}

func (l *lab) options() frontiertest.Options {
	return frontiertest.Options{
		Virtual:      true,
		ClaimTimeout: l.c.ClaimTimeout,
		Slots:        3,
		Crash:        l.crash,
		Reopen:       l.reopen,
		ReopenDelay:  reopenDelay,
		Runs:         long.Seeds(10, 30),
	}
}

func expect(t *testing.T, s *Store, url string, want ...State) {
	t.Helper()
	got, err := s.Lookup(t.Context(), parse(t, url))
	if err != nil || !slices.Contains(want, got) {
		t.Fatalf("%s is in state %d, %v; want one of %d", url, got, err, want)
	}
}

// failing returns a disk on which every change fails with err after the given number of changes.
func failing(fs vfs.FS, changes int64, err error) vfs.FS {
	var left atomic.Int64
	left.Store(changes)
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpFileWriteAt, errorfs.OpFilePreallocate, errorfs.OpMkdirAll,
			errorfs.OpLink, errorfs.OpReuseForWrite, errorfs.OpRename, errorfs.OpLock:
			if left.Add(-1) < 0 {
				return err
			}
		}
		return nil
	}))
}

// clearError checks that err names the cause and the place.
func clearError(t *testing.T, err, want error, when string) {
	t.Helper()
	if !errors.Is(err, want) && (err == nil || !strings.Contains(err.Error(), want.Error())) {
		t.Fatalf("%s: %v, want %v", when, err, want)
	}
	if !strings.Contains(err.Error(), "disk: ") || !strings.Contains(err.Error(), "/crawl") {
		t.Errorf("%s: %q does not say where", when, err)
	}
}

func opensAgain(t *testing.T, fs vfs.FS, lines []string, when string) *Store {
	t.Helper()
	s, err := open(fs, "/crawl", smallConfig(), tuned())
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	listen(lines).verify(t, s, map[string]bool{})
	if err := s.Close(); err != nil {
		t.Errorf("%s: %v", when, err)
	}
	if t.Failed() {
		t.Fatal(when)
	}
	return s
}

func readFile(t *testing.T, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type logged struct {
	name  string
	bytes []byte
}

// logFile returns the engine's newest log.
func logFile(t *testing.T, fs vfs.FS) logged {
	t.Helper()
	names, err := fs.List("/crawl")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	var l logged
	for _, n := range names {
		if strings.HasSuffix(n, ".log") {
			l.name = fs.PathJoin("/crawl", n)
		}
	}
	f, err := fs.Open(l.name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(f); err != nil {
		t.Fatal(err)
	}
	l.bytes = b.Bytes()
	return l
}

func writeLog(t *testing.T, fs vfs.FS, name string, b []byte) {
	t.Helper()
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// lastOf creates a file that holds the time of the last write.
func lastOf(t *testing.T, unix int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "last")
	if err := os.WriteFile(path, appendLast(nil, unix), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// listing returns the names, sizes and times of a directory's files.
func listing(t *testing.T, dir string) (all string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintln(e.Name(), info.Size(), info.ModTime())
	}
	return all
}
