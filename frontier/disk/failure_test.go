package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/amble-crawler/amble/frontier"
)

// smallConfig has memtables so small that a short crawl flushes, compacts and changes its log.
func smallConfig() Config {
	c := victimConfig()
	c.MemTableSize = 32 << 10
	return c
}

// failing is a disk of which every change fails with err after that many have happened.
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

// heard collects what a witness says.
type heard struct{ lines []string }

func (h *heard) say(line string) { h.lines = append(h.lines, line) }

// TestFullDisk has the disk full after any number of changes. The store answers with the disk's error,
// no call hangs, and what was acknowledged is there when it is opened again.
func TestFullDisk(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "/crawl/x", Err: syscall.ENOSPC}
	whole := false
	for changes := int64(0); !whole; changes += 1 + changes/6 {
		disk := vfs.NewCrashableMem()
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

// clearError checks that err says what is wrong, and where.
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

// TestTornTail cuts the log at any byte behind the last acknowledged call, or has what was not written
// there: what was acknowledged before is there, and of the Commit that was under way all or nothing.
func TestTornTail(t *testing.T) {
	disk := vfs.NewMem()
	s, err := open(disk, "/crawl", victimConfig(), tuned())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var h heard
	w := &witness{s: s, life: "1", say: h.say}
	if err := w.crawl(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	before, noted := logFile(t, disk), readFile(t, disk, "/crawl/"+lastName)
	if err := w.commit(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	after := logFile(t, disk)
	if after.name != before.name || !bytes.HasPrefix(after.bytes, before.bytes) || len(after.bytes) < len(before.bytes)+1000 {
		t.Fatalf("the commit is not what %s has grown by", before.name)
	}
	acknowledged := h.lines[:len(h.lines)-1] // the last is that it is done
	happened := map[int64]int{}
	try := func(tail []byte, when string) {
		t.Helper()
		left := vfs.NewMem()
		if _, err := vfs.Clone(disk, left, "/crawl", "/crawl"); err != nil {
			t.Fatal(err)
		}
		writeLog(t, left, before.name, slices.Concat(before.bytes, tail))
		writeLog(t, left, "/crawl/"+lastName, noted) // it is written behind the log
		s := opensAgain(t, left, acknowledged, when)
		happened[s.Offsets("")["commits"]]++
	}
	grown := after.bytes[len(before.bytes):]
	r := rand.New(rand.NewPCG(1, 1))
	for cut := 0; cut < len(grown); cut += 1 + r.IntN(2*len(grown)/60) {
		when := fmt.Sprintf("cut at byte %d of %d", cut, len(grown))
		try(grown[:cut], when)
		try(append(slices.Clone(grown[:cut]), make([]byte, 1000)...), when+", zeros behind")
		rubbish := make([]byte, 1000)
		for i := range rubbish {
			rubbish[i] = byte(r.Uint32())
		}
		try(append(slices.Clone(grown[:cut]), rubbish...), when+", rubbish behind")
	}
	if happened[8] == 0 || happened[9] != 0 {
		t.Errorf("commits that happened, by number: %v; want 8 each time", happened)
	}
	try(grown, "whole")
	if happened[9] != 1 {
		t.Error("a whole Commit did not happen")
	}
}

// TestLostLog cuts the log of what was acknowledged, or removes it: that is told, by whoever asks.
func TestLostLog(t *testing.T) {
	disk := vfs.NewMem()
	s, err := open(disk, "/crawl", victimConfig(), tuned())
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{s: s, life: "1", say: func(string) {}}
	if err := w.crawl(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	log := logFile(t, disk)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{-1, 0, len(log.bytes) / 2, len(log.bytes) - 1} {
		left := vfs.NewMem()
		if _, err := vfs.Clone(disk, left, "/crawl", "/crawl"); err != nil {
			t.Fatal(err)
		}
		if size < 0 {
			err = left.Remove(log.name)
		} else {
			writeLog(t, left, log.name, log.bytes[:size])
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s, err := open(left, "/crawl", victimConfig(), tuned())
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "are missing: a log") {
				t.Errorf("a log of %d bytes of %d: %v", size, len(log.bytes), err)
			}
			if err == nil {
				s.Close()
			}
		}
	}
	// What a power cut leaves of the note itself is no damage.
	for _, note := range []string{"", "00", "08999999999999999999 00000000\n", strings.Repeat("x", 1000)} {
		writeLog(t, disk, "/crawl/"+lastName, []byte(note))
		s, err := open(disk, "/crawl", victimConfig(), tuned())
		if err != nil {
			t.Fatalf("%.30q: %v", note, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
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

// logFile is the engine's newest log.
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

// TestCrashAtEveryChange crashes before each change that a crawl makes to the disk.
func TestCrashAtEveryChange(t *testing.T) {
	type state struct {
		left  *vfs.MemFS
		lines int
		when  string
	}
	disk := vfs.NewCrashableMem()
	r := rand.New(rand.NewPCG(1, 1))
	var on atomic.Bool
	states := make(chan state, 10_000)
	var h heard
	var said atomic.Int64
	changes := 0
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && on.Load() {
			lines := int(said.Load())
			left := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(uint64(lines), 7))})
			states <- state{left, lines, fmt.Sprintf("crash before %d of %s", op.Kind, op.Path)}
		}
		return nil
	}))
	s, err := open(fs, "/crawl", smallConfig(), tuned())
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{s: s, life: "1", say: func(line string) {
		h.say(line)
		said.Add(1)
	}}
	on.Store(true)
	if err := w.crawl(context.Background(), 25); err != nil {
		t.Fatal(err)
	}
	on.Store(false)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	close(states)
	all := 0
	for st := range states {
		all++
		if r.IntN(3) > 0 { // a third of them is enough of a wait
			continue
		}
		changes++
		opensAgain(t, st.left, h.lines[:st.lines], st.when)
	}
	t.Logf("%d of %d moments", changes, all)
}
