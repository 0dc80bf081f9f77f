package disk

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/frontiertest"
)

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

// lab opens stores in a file system in memory that can be made to crash.
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
	s, err := open(fs, "/crawl", l.c, l.t)
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fs[s] = fs
	return s
}

func (l *lab) begin(t *testing.T) frontier.Frontier { return l.open(t, vfs.NewCrashableMem()) }

// crash opens what a crash at this moment leaves on disk: what was synced, and any part of the rest.
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

// little is so little memory that nearly everything is left to the disk and read again.
func little() (Config, tuning) {
	c := testConfig()
	c.PrefetchSize = 1000
	return c, tuning{head: 3, read: 2, window: 4, ops: 3, links: 20, known: 8}
}

func (l *lab) options() frontiertest.Options {
	return frontiertest.Options{
		Virtual:      true,
		ClaimTimeout: l.c.ClaimTimeout,
		Slots:        3,
		Crash:        l.crash,
		Reopen:       l.reopen,
		ReopenDelay:  reopenDelay,
	}
}

func TestStoreConforms(t *testing.T) {
	l := newLab(testConfig(), tuned())
	frontiertest.Run(t, l.begin, l.options())
}

func TestStoreConformsInLittleMemory(t *testing.T) {
	l := newLab(little())
	o := l.options()
	o.Seed, o.Runs = 2000, 60
	frontiertest.Run(t, l.begin, o)
}
