package disk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/amble-crawler/amble/frontier"
)

// TestFullDisk has the disk full after any number of changes. The calls return the disk's error, none hangs, and
// what was acknowledged is there when the store is opened again.
func TestFullDisk(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "/crawl/x", Err: syscall.ENOSPC}
	whole := false
	for changes := int64(0); !whole; changes += 1 + changes/6 {
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

// TestFailedWhileOpening: an error that the engine meets on its own while the store is loaded is the error of Open, and
// does not reach the parts that Open is still filling.
func TestFailedWhileOpening(t *testing.T) {
	damaged := errors.New("damaged")
	told := 0
	f := newFailure("/crawl", func(error, bool) { told++ })
	_ = f.fail(damaged)
	f.breakDown(errors.New("later"))
	if err := f.open(); !errors.Is(err, damaged) || told != 0 {
		t.Errorf("opened with %v, other parts told %d times", err, told)
	}
	f = newFailure("/crawl", func(error, bool) { told++ })
	if err := f.open(); err != nil {
		t.Fatal(err)
	}
	_ = f.fail(damaged)
	f.breakDown(damaged)
	if told != 2 {
		t.Errorf("told %d times of 2 errors", told)
	}
}

// TestFailedStoreAnswersAll: calls that wait for a disk that has failed get its error, Close too.
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

// TestReadOnlyDirectory: an error that names the directory, for a new crawl and for one that is there.
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

// TestReadOnlyDirectoryOnDisk is the same on a real file system.
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
		t.Errorf("%v, want one of permission that names %s", err, dir)
	}
}
