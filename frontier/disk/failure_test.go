package disk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/long"
)

// TestFullDisk fills the disk after each number of changes. Calls return the disk's error and never hang, and
// acknowledged data is there when the store is reopened.
func TestFullDisk(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "/crawl/x", Err: syscall.ENOSPC}
	whole, step := false, int64(6)
	if long.Race { // with -race the engine checks itself, so each store is slow
		step = 1
	}
	for changes := int64(0); !whole; changes += 1 + changes/step {
		disk := crashable{vfs.NewCrashableMem()}
		s, err := open(failing(disk, changes, full), "/crawl", smallConfig(), tuned())
		var h heard
		if err == nil {
			err = (&witness{s: s, life: "1", say: h.say}).crawl(t.Context(), 60)
			whole = err == nil
			if cerr := s.Close(); err == nil {
				err = cerr
			}
		}
		if whole = whole && err == nil; !whole {
			clearError(t, err, syscall.ENOSPC, fmt.Sprintf("full after %d changes", changes))
		}
		for _, percent := range []int{0, 50, 100} {
			left := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(uint64(changes), 1))})
			opensAgain(t, left, h.lines, fmt.Sprintf("full after %d changes", changes))
		}
	}
}

// TestFailedWhileOpening: if the engine fails in the background while the store is loaded, Open returns that error. The
// error does not touch parts of the store that Open has not filled yet.
func TestFailedWhileOpening(t *testing.T) {
	damaged := errors.New("damaged")
	told := 0
	f := newFailure("/crawl", func(error, bool) { told++ })
	_ = f.fail(damaged)
	f.breakDown(errors.New("later"))
	if err := f.open(); !errors.Is(err, damaged) || told != 0 {
		t.Errorf("Open returned %v, other parts got %d errors", err, told)
	}
	f = newFailure("/crawl", func(error, bool) { told++ })
	if err := f.open(); err != nil {
		t.Fatal(err)
	}
	_ = f.fail(damaged)
	f.breakDown(damaged)
	if told != 2 {
		t.Errorf("reported %d times for 2 errors", told)
	}
}

// TestFailedStoreAnswersAll checks that all calls that wait for a failed disk, including Close, return the disk's error.
func TestFailedStoreAnswersAll(t *testing.T) {
	broken := errors.New("broken disk")
	disk := vfs.NewMem()
	var on atomic.Bool
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if on.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return broken
		}
		return nil
	}))
	s, err := open(fs, "/crawl", smallConfig(), tuned())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := s.Add(ctx, frontier.Request{URL: parse(t, "http://a.test/1")}); err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Release(ctx, c, time.Time{}); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := s.Claim(ctx)
		waiting <- err
	}()
	on.Store(true)
	calls := []func() error{
		func() error { return s.Commit(ctx, []frontier.End{{Claim: c}}, frontier.Checkpoint{}) },
		func() error { return <-waiting },
		func() error { _, err := s.Claim(ctx); return err },
		func() error { _, err := s.Add(ctx, frontier.Request{URL: parse(t, "http://a.test/2")}); return err },
		func() error { return s.Release(ctx, c, time.Time{}) },
		func() error { return s.Commit(ctx, nil, frontier.Checkpoint{}) },
		func() error { _, err := s.Revive(ctx, frontier.Request{URL: c.URL}); return err },
		func() error { _, err := s.Value(ctx, "", "x"); return err },
		func() error { return s.Close() },
	}
	for i, call := range calls {
		clearError(t, call(), broken, fmt.Sprintf("call %d", i))
	}
	if err := s.Close(); !errors.Is(err, frontier.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
}

// TestReadOnlyDirectory checks that the error names the directory, for a new and for an existing crawl.
func TestReadOnlyDirectory(t *testing.T) {
	readOnly := &os.PathError{Op: "open", Path: "/crawl/x", Err: syscall.EROFS}
	disk := vfs.NewMem()
	if _, err := open(failing(disk, 0, readOnly), "/crawl", smallConfig(), tuned()); err == nil {
		t.Error("a crawl was begun in a directory that cannot be written")
	} else {
		clearError(t, err, syscall.EROFS, "new")
	}
	s, err := open(disk, "/crawl", smallConfig(), tuned())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(failing(disk, 0, readOnly), "/crawl", smallConfig(), tuned()); err == nil {
		t.Error("a crawl was opened in a directory that cannot be written")
	} else {
		clearError(t, err, syscall.EROFS, "there")
	}
	opensAgain(t, disk, nil, "writable again")
}

// TestReadOnlyDirectoryOnDisk checks read-only directories on a real file system.
func TestReadOnlyDirectoryOnDisk(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("nothing is read-only for root")
	}
	dir := filepath.Join(t.TempDir(), "crawl")
	s, err := Open(dir, smallConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	if _, err := Open(dir, smallConfig()); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v, want a permission error that names %s", err, dir)
	}
}

// damagedDir is an environment variable that makes the test binary resume a damaged crawl.
const damagedDir = "FRONTIER_DISK_DAMAGED"

// damagedCompact is an environment variable that makes the process of damagedDir compact its tables instead.
const damagedCompact = "FRONTIER_DISK_COMPACT"

// damagedCommits is the number of commits before the damage.
var damagedCommits = long.N(120, 400)

// resumed reads the whole store of a crawl and continues the crawl for a while.
func resumed(dir string) (err error) {
	ctx := context.Background()
	s, err := Open(dir, smallConfig())
	if err != nil {
		return err
	}
	defer func() {
		if cerr := s.Close(); err == nil { // otherwise Close returns the same error
			err = cerr
		}
	}()
	if os.Getenv(damagedCompact) != "" {
		return compactAll(ctx, s)
	}
	if err := s.Values(ctx, "", "", func(string, []byte) error { return nil }); err != nil {
		return err
	}
	if n := s.Offsets("")["commits"]; n < int64(damagedCommits) {
		return fmt.Errorf("%d commits of %d, without a word", n, damagedCommits)
	}
	w := &witness{s: s, life: "again", say: func(string) {}}
	if err := w.crawl(ctx, 30); err != nil {
		return err
	}
	for range 2000 {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		c, err := s.Claim(ctx)
		cancel()
		if errors.Is(err, frontier.ErrDrained) || errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		if err == nil {
			err = s.Settle(context.Background(), c, frontier.Settlement{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestDamaged damages the files of a crawl in several ways. Resuming the crawl must either report the damage or lose
// nothing; it must not panic or hang.
func TestDamaged(t *testing.T) {
	if testing.Short() || long.Race {
		t.Skip("starts many processes, in each of which one goroutine does all work of this package")
	}
	good := filepath.Join(t.TempDir(), "crawl")
	s, err := Open(good, smallConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := (&witness{s: s, life: "1", say: func(string) {}}).crawl(t.Context(), damagedCommits); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(good)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	flip := func(at float64) func(b []byte) []byte {
		return func(b []byte) []byte {
			if len(b) > 0 {
				b[int(at*float64(len(b)-1))] ^= 1 << rng.IntN(8)
			}
			return b
		}
	}
	ways := map[string]func(b []byte) []byte{
		"missing": func([]byte) []byte { return nil },
		"empty":   func([]byte) []byte { return []byte{} },
		"half":    func(b []byte) []byte { return b[:len(b)/2] },
		"zeroes":  func(b []byte) []byte { clear(b); return b },
	}
	for i := range *damages {
		ways[fmt.Sprintf("flip %d", i)] = flip(rng.Float64())
	}
	sem := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for _, e := range entries {
		for how, spoil := range ways {
			b, err := os.ReadFile(filepath.Join(good, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "crawl")
			if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, e.Name())
			os.Remove(path)
			if b = spoil(b); b != nil {
				if err := os.WriteFile(path, b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			sem <- struct{}{}
			wg.Go(func() {
				defer func() { <-sem }()
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, os.Args[0])
				cmd.Env = append(os.Environ(), damagedDir+"="+dir)
				out, err := cmd.CombinedOutput()
				text := strings.TrimSpace(string(out))
				told := text == "ok" || strings.HasPrefix(text, "damaged: ") || e.Name() == marker && strings.HasPrefix(text, "failed: disk: ")
				if err != nil || strings.Contains(text, "\n") || !told {
					t.Errorf("%s %s: %v\n%.3000s", e.Name(), how, err, text)
				}
			})
		}
	}
	wg.Wait()
}

// compactAll makes the engine read and write every table.
func compactAll(ctx context.Context, s *Store) error {
	return s.engine.guarded(func() error { return s.engine.db.Compact(ctx, []byte{0}, []byte{0xff}, false) })
}

// TestDamagedCompaction damages a table whose entries are all about to be deleted. Compaction must report the damage
// instead of panicking.
func TestDamagedCompaction(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes")
	}
	good := filepath.Join(t.TempDir(), "crawl")
	table := queuedThenGone(t, good)
	whole, err := os.ReadFile(filepath.Join(good, table))
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for at := 1000; at < len(whole); at += len(whole) / long.N(7, 20) {
		dir := filepath.Join(t.TempDir(), "crawl")
		if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
			t.Fatal(err)
		}
		b := slices.Clone(whole)
		b[at] ^= 1
		if err := os.WriteFile(filepath.Join(dir, table), b, 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), damagedDir+"="+dir, damagedCompact+"=1")
		out, err := cmd.CombinedOutput()
		text := strings.TrimSpace(string(out))
		if strings.HasPrefix(text, "damaged: ") {
			damaged++
		} else if err != nil || text != "ok" {
			t.Errorf("%s byte %d: %v\n%.3000s", table, at, err, text)
		}
	}
	if damaged == 0 {
		t.Error("no compaction met the damage")
	}
}

// queuedThenGone creates a crawl whose URLs are all in one table, with their deletions not yet in any table. It returns
// the table's name.
func queuedThenGone(t *testing.T, dir string) string {
	const urls = 3000
	c := smallConfig()
	c.MemTableSize = 8 << 20
	s, err := Open(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range urls {
		u := parse(t, fmt.Sprintf("http://h%d.test/%x", i, rand.Uint64()))
		if _, err := s.Add(t.Context(), frontier.Request{URL: u}); err != nil {
			t.Fatal(err)
		}
	}
	if err := compactAll(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for range urls {
		claim, err := s.Claim(t.Context())
		if err == nil {
			err = s.Settle(t.Context(), claim, frontier.Settlement{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) != 1 {
		t.Fatalf("tables %q, %v, want one", tables, err)
	}
	return filepath.Base(tables[0])
}
