package warc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/internal/long"
	"github.com/amble-crawler/amble/sink/warc/warctest"
)

var errDead = errors.New("dead")

// dying returns a hook that permits n changes of the disk. Of the next change it permits half if it is a write, and afterwards nothing. If
// once is set, only that next change fails.
func dying(n *int, once bool) func(op operation) error {
	return func(op operation) error {
		*n--
		if *n >= 0 || once && *n < -1 {
			return nil
		}
		if op.verb == "write" {
			*op.n = len(op.data) / 2
			if *n < -1 {
				*op.n = 0
			}
		}
		return errDead
	}
}

// life represents a crawl that writes several files, a restore in the middle, and a second run. It stops at the first error, and records
// what was committed.
type life struct {
	dir       string
	o         Options
	offset    int64
	committed []string
	urls      []string
}

func (l *life) add(w *Writer, from, n int) error {
	for i := range n {
		r := page(fmt.Sprintf("http://x.test/%d", from+i), fmt.Sprint(i%2, strings.Repeat("text", 200)))
		if err := w.Append(nil, r); err != nil { //nolint:staticcheck // the context is not used
			return err
		}
		l.urls = append(l.urls, r.URL)
	}
	return nil
}

func (l *life) sync(w *Writer) error {
	offset, err := w.Sync(context.Background())
	if err == nil {
		l.offset, l.committed = offset, slices.Clone(l.urls)
	}
	return err
}

func (l *life) restore(w *Writer) error {
	err := w.Restore(context.Background(), l.offset)
	l.urls = slices.Clone(l.committed)
	return err
}

func (l *life) live() error {
	w, err := Open(l.dir, l.o)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return l.add(w, 0, 3) },
		func() error { return l.sync(w) },
		func() error { return l.add(w, 10, 5) }, // begins another file
		func() error { return l.sync(w) },
		func() error { return l.add(w, 20, 4) },
		func() error { return l.restore(w) },
		func() error { return l.add(w, 30, 2) },
		func() error { return w.Close(context.Background()) },
		func() error { w, err = Open(l.dir, l.o); return err },
		func() error { return l.restore(w) },
		func() error { return l.add(w, 40, 3) },
		func() error { return l.sync(w) },
		func() error { return w.Close(context.Background()) },
	} {
		if err = step(); err != nil {
			break
		}
	}
	return errors.Join(err, w.Close(context.Background()))
}

// TestStoppedBetweenAnyTwoChangesOfTheDisk stops the process at each change of the disk, or lets only this change fail.
func TestStoppedBetweenAnyTwoChangesOfTheDisk(t *testing.T) {
	step := 1
	if long.Race { // the race detector finds nothing: there is only one goroutine
		step = 5
	}
	for _, once := range []bool{false, true} {
		for at := 0; ; at += step {
			n := at
			l := &life{dir: t.TempDir(), o: Options{MaxSize: 4000, Level: 1, hook: dying(&n, once)}}
			err := l.live()
			if n >= 0 {
				if err != nil || at < 60 {
					t.Fatalf("the whole life takes %d changes: %v", at, err)
				}
				break
			}
			if !errors.Is(err, errDead) {
				t.Fatalf("change %d, once %v: %v", at, once, err)
			}
			w := open(t, l.dir, Options{MaxSize: 4000, now: time.Now, hook: func(operation) error { return nil }})
			if err := w.Restore(t.Context(), l.offset); err != nil {
				t.Fatalf("change %d, once %v: Restore: %v", at, once, err)
			}
			add(t, w, page("http://x.test/after", "after"))
			if err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			rs, err := warctest.Read(l.dir)
			if want := append(l.committed, "http://x.test/after"); err != nil || !slices.Equal(warctest.Answers(rs), want) {
				t.Fatalf("change %d, once %v: %v, want %v: %v", at, once, warctest.Answers(rs), want, err)
			}
		}
	}
}

// If an error of the disk was temporary, the sink can be used again after Restore.
func TestRestoreClearsAnError(t *testing.T) {
	n := 1 << 30
	l := &life{dir: t.TempDir(), o: Options{hook: dying(&n, true)}}
	w := open(t, l.dir, l.o)
	if err := errors.Join(l.add(w, 0, 2), l.sync(w)); err != nil {
		t.Fatal(err)
	}
	n = 0
	if err := l.add(w, 10, 1); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	if _, err := w.Sync(t.Context()); !errors.Is(err, errDead) {
		t.Errorf("Sync after an error: %v", err)
	}
	if err := errors.Join(l.restore(w), l.add(w, 20, 1), w.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := warctest.Answers(read(t, l.dir)); !slices.Equal(got, l.urls) {
		t.Errorf("%v, want %v", got, l.urls)
	}
}

func TestOffsetsThatSyncNeverReturns(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir, Options{MaxSize: 3000})
	defer w.Close(t.Context())
	for i := range 5 {
		add(t, w, page(fmt.Sprintf("http://x.test/%d", i), ""))
	}
	if _, err := w.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, offset := range []int64{pack(1, 0), pack(0, 1<<30), pack(9, 1)} {
		if err := w.Restore(t.Context(), offset); err == nil {
			t.Errorf("Restore to %x", offset)
		}
	}
}

// changes counts a Writer's changes of the disk.
func changes(t *testing.T, o Options) (w *Writer, n *int, fail *string) {
	t.Helper()
	n, fail = new(int), new(string)
	o.hook = func(op operation) error {
		*n++
		if *fail != "" && strings.HasPrefix(op.verb+" "+filepath.Ext(op.path), *fail) {
			return errDead
		}
		return nil
	}
	return open(t, t.TempDir(), o), n, fail
}

// Data that must survive a power failure is synced in time. No other test notices a missing sync.
func TestWritesAreSynced(t *testing.T) {
	unsynced := map[string]bool{}
	o := Options{MaxSize: 4000, hook: func(op operation) error {
		switch op.verb {
		case "write", "truncate":
			unsynced[op.path] = true
		case "create":
			unsynced[filepath.Dir(op.path)] = true
		case "sync":
			delete(unsynced, op.path)
		case "rename":
			if unsynced[op.path+newExt] {
				t.Errorf("%s is put in place before it is durable", op.path)
			}
			unsynced[filepath.Dir(op.path)] = true
		}
		return nil
	}}
	l := &life{dir: t.TempDir(), o: o}
	w := open(t, l.dir, o)
	for i := range 6 {
		if err := errors.Join(l.add(w, i*10, i), l.sync(w)); err != nil {
			t.Fatal(err)
		}
		if len(unsynced) > 0 {
			t.Errorf("not durable after Sync %d: %v", i, unsynced)
		}
	}
	if err := l.add(w, 90, 1); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(t.Context()); err != nil || len(unsynced) > 0 {
		t.Errorf("not durable after Close: %v, %v", unsynced, err)
	}
	w = open(t, l.dir, o)
	if err := errors.Join(w.Restore(t.Context(), l.offset), w.Close(t.Context())); err != nil || len(unsynced) > 0 {
		t.Errorf("not durable after Restore: %v, %v", unsynced, err)
	}
}

func TestSyncWithoutChangeTouchesNothing(t *testing.T) {
	w, n, _ := changes(t, Options{})
	add(t, w, page("http://x.test/", "hello"))
	offset, err := w.Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	*n = 0
	if again, err := w.Sync(t.Context()); again != offset || err != nil || *n != 0 {
		t.Errorf("%d changes, Sync %d after %d, %v", *n, again, offset, err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
	w = open(t, w.disk.root.Name(), w.opts)
	defer w.Close(t.Context())
	for i := range 2 {
		*n = 0
		if again, err := w.Sync(t.Context()); again != offset || err != nil || (*n == 0) != (i > 0) {
			t.Errorf("opened again, Sync %d: %d changes, %d after %d, %v", i, *n, again, offset, err)
		}
	}
}

func TestCloseAfterAnErrorTouchesNothing(t *testing.T) {
	w, n, fail := changes(t, Options{})
	add(t, w, page("http://x.test/1", "hello"))
	*fail = "write"
	if err := w.Append(t.Context(), page("http://x.test/2", "hello")); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	*n = 0
	if err := w.Close(t.Context()); err != nil || *n != 0 {
		t.Errorf("%d changes, %v", *n, err)
	}
}

func TestNoArchiveFileWithoutIndex(t *testing.T) {
	w, _, fail := changes(t, Options{})
	*fail = "create .cdxj"
	if err := w.Append(t.Context(), page("http://x.test/", "hello")); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if es, err := os.ReadDir(w.disk.root.Name()); len(es) > 0 || err != nil {
		t.Errorf("%v, %v", es, err)
	}
}

func TestOutputChangedByAnotherProgram(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"the file is gone":    os.Remove,
		"the index is gone":   func(f string) error { return os.Remove(filepath.Join(filepath.Dir(f), indexName(filepath.Base(f)))) },
		"the file is shorter": func(f string) error { return os.Truncate(f, 100) },
		"two with one number": func(f string) error { return os.WriteFile(strings.Replace(f, "-2026", "-2027", 1), nil, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := open(t, dir, Options{})
			r := page("http://x.test/", "hello")
			add(t, w, r)
			offset, _ := w.Sync(t.Context())
			w.Close(t.Context())
			if err := change(filepath.Join(dir, r.WARC.File)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, fileName("amble", noon, 5, Gzip)), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadDir(dir)
			w, err := Open(dir, Options{})
			if err == nil {
				err = w.Restore(t.Context(), offset)
			}
			if err == nil {
				t.Error("nobody notices")
			}
			if after, _ := os.ReadDir(dir); len(after) != len(before) {
				t.Errorf("%v, were %v", after, before)
			}
		})
	}
}

// Unrelated files in the directory are left alone.
func TestForeignFilesStay(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"notes.txt", "amble-20260301120000-00000.txt", "amble-2026-00000.warc.gz", "amble-20260301120000-x.warc.gz", "other-20260301120000-00000.warc.gz", "amble-20260301120000-00000-host.warc.gz", "amble-20260301120000-99999999.warc.gz"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "amble-20260301120000-00007.warc.gz"), 0o755); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadDir(dir)
	w := open(t, dir, Options{})
	add(t, w, page("http://x.test/", "hello"))
	if _, err := w.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Restore(t.Context(), 0), w.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadDir(dir); len(after) != len(before) {
		t.Errorf("%v, were %v", after, before)
	}
}

func TestOffsetsPack(t *testing.T) {
	last := int64(0)
	for _, c := range [][2]int64{{0, 1}, {0, maxOffset}, {1, 1}, {1, 2}, {77, 12345}, {maxSerial, maxOffset}} {
		p := pack(c[0], c[1])
		if serial, offset := unpack(p); p <= last || serial != c[0] || offset != c[1] {
			t.Errorf("%v: %d, back %d %d", c, p, serial, offset)
		}
		last = p
	}
}

func TestSerialNumbersEnd(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{fileName("amble", noon, maxSerial, Gzip)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w := open(t, dir, Options{})
	defer w.Close(t.Context())
	if err := w.Append(t.Context(), page("http://x.test/", "hello")); err == nil {
		t.Error("a file beyond the last number")
	}
}
