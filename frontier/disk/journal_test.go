package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/frontiertest"
	"github.com/amble-crawler/amble/internal/long"
)

var errFenced = errors.New("fenced")

// sequence is an in-memory journal. It belongs to one Store at a time.
type sequence struct {
	mu     sync.Mutex
	groups [][]byte
	marks  []Mark
	seen   func(n int) // called before group n is appended, may be nil
}

// pen is a Store's right to append to a sequence.
type pen struct {
	of    *sequence
	taken bool
}

func (p *pen) Append(group []byte) (Mark, error) {
	q := p.of
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.taken {
		return Mark{}, errFenced
	}
	if q.seen != nil {
		q.seen(len(q.groups))
	}
	m := Mark{Seq: uint64(10 + 3*len(q.groups))} // gaps for other records between groups
	binary.BigEndian.PutUint64(m.Nonce[:], rand.Uint64())
	q.groups, q.marks = append(q.groups, slices.Clone(group)), append(q.marks, m)
	return m, nil
}

// take revokes p's right to append, and returns a pen for the next Store.
func (p *pen) take() *pen {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.taken = true
	return &pen{of: p.of}
}

// follow applies those of the journal's first n groups that a directory does not have yet.
func follow(t testing.TB, fs vfs.FS, q *sequence, n int) {
	t.Helper()
	k, err := openCopy(fs, "/crawl", testConfig())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.Index(q.marks, k.Mark()) + 1
	if i == 0 && k.Mark() != (Mark{}) {
		t.Fatalf("the directory has %v, which is not in the journal", k.Mark())
	}
	for ; i < n; i++ {
		if err := k.Apply(q.groups[i], q.marks[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
}

// contents returns a hash of all keys and values.
func contents(t testing.TB, e *engine) uint64 {
	t.Helper()
	h := fnv.New64()
	err := e.scan([]byte{0}, []byte{0xff}, func(key, value []byte) (bool, error) {
		fmt.Fprintf(h, "%q %q\n", key, value)
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return h.Sum64()
}

func contentsOf(t testing.TB, fs vfs.FS) uint64 {
	t.Helper()
	k, err := openCopy(fs, "/crawl", testConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	return contents(t, k.engine)
}

// journaledLab opens stores with a journal. A crash loses the machine, or leaves any prefix of the journal in its
// directory.
type journaledLab struct {
	lab
	pens map[frontier.Frontier]*pen
}

func newJournaledLab(c Config, t tuning) *journaledLab {
	return &journaledLab{lab: *newLab(c, t), pens: map[frontier.Frontier]*pen{}}
}

func (l *journaledLab) open(t testing.TB, fs *vfs.MemFS, p *pen) *Store {
	t.Helper()
	c := l.c
	c.Journal = p
	s, err := open(crashable{fs}, "/crawl", c, l.t)
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fs[s], l.pens[s] = fs, p
	return s
}

func (l *journaledLab) begin(t *testing.T) frontier.Frontier {
	return l.open(t, vfs.NewCrashableMem(), &pen{of: &sequence{}})
}

func (l *journaledLab) crash(t *testing.T, f frontier.Frontier) frontier.Frontier {
	l.mu.Lock()
	left := l.fs[f].CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: l.rng.IntN(101), RNG: l.rng})
	p := l.pens[f].take()
	l.mu.Unlock()
	if err := f.Close(); err != nil && !errors.Is(err, errFenced) {
		t.Fatal(err)
	}
	rebuilt := vfs.NewCrashableMem()
	follow(t, rebuilt, p.of, len(p.of.groups))
	follow(t, left, p.of, len(p.of.groups))
	if a, b := contentsOf(t, rebuilt), contentsOf(t, left); a != b {
		t.Fatalf("the store rebuilt from nothing has contents %x, the one rebuilt after the crash %x", a, b)
	}
	if l.rng.IntN(2) == 0 {
		return l.open(t, rebuilt, p)
	}
	return l.open(t, left, p)
}

func (l *journaledLab) reopen(t *testing.T, f frontier.Frontier) frontier.Frontier {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return l.open(t, l.fs[f], l.pens[f])
}

// TestStoreConformsWithJournal runs the conformance suite on a store with a journal. After a crash, another process
// rebuilds the store from the journal.
func TestStoreConformsWithJournal(t *testing.T) {
	for name, l := range map[string]*journaledLab{
		"": newJournaledLab(testConfig(), tuned()), "in little memory": newJournaledLab(little()),
	} {
		t.Run(name, func(t *testing.T) {
			if long.Race && name == "" {
				t.Skip("its goroutines are those of the other")
			}
			o := l.options()
			o.Crash, o.Reopen = l.crash, l.reopen
			frontiertest.Run(t, l.begin, o)
		})
	}
}

// TestRebuiltAtEveryCut checks that a directory rebuilt from any prefix of a journal equals the original store at that
// point, key by key.
func TestRebuiltAtEveryCut(t *testing.T) {
	fs, p := vfs.NewMem(), &pen{of: &sequence{}}
	c := smallConfig()
	c.Journal = p
	s := newStore("/crawl", c, tuned())
	var held []uint64
	p.of.seen = func(int) { held = append(held, contents(t, s.engine)) }
	lock, err := prepare(fs, "/crawl")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.start(fs, lock); err != nil {
		t.Fatal(err)
	}
	w := &witness{s: s, life: "1", say: func(string) {}}
	if err := w.crawl(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	held = append(held, contents(t, s.engine))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(p.of.groups); n < 30 || len(held) < n+1 {
		t.Fatalf("%d groups, %d states", n, len(held))
	}
	for n := range p.of.groups {
		rebuilt := vfs.NewMem()
		follow(t, rebuilt, p.of, n)
		if n > 0 {
			follow(t, rebuilt, p.of, n) // applying the groups again changes nothing
		}
		if got := contentsOf(t, rebuilt); got != held[n] {
			t.Errorf("after %d groups of %d: contents %x, want %x", n, len(p.of.groups), got, held[n])
		}
	}
}

// TestJournalThatFails checks that the store returns the journal's error, and that no part of the rejected group takes effect.
func TestJournalThatFails(t *testing.T) {
	fs, p := vfs.NewMem(), &pen{of: &sequence{}}
	c := testConfig()
	c.Journal = p
	s, err := open(fs, "/crawl", c, tuned())
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{s: s, life: "1", say: func(string) {}}
	if err := w.add(t.Context(), "http://a.test/1"); err != nil {
		t.Fatal(err)
	}
	p.take()
	for range 2 {
		err := w.add(t.Context(), "http://a.test/2")
		if !errors.Is(err, errFenced) || errors.Is(err, ErrDamaged) {
			t.Errorf("Add: %v, want the journal's error", err)
		}
	}
	if err := s.Close(); !errors.Is(err, errFenced) {
		t.Errorf("Close: %v, want the journal's error", err)
	}
	rebuilt := vfs.NewMem()
	follow(t, rebuilt, p.of, len(p.of.groups))
	if contentsOf(t, fs) != contentsOf(t, rebuilt) {
		t.Error("the directory is not a prefix of the journal")
	}
}

// TestJournalOrNone checks that a directory created with a journal can only be opened with a journal, and a directory
// created without a journal only without one.
func TestJournalOrNone(t *testing.T) {
	with, without := testConfig(), testConfig()
	with.Journal = &pen{of: &sequence{}}
	for name, tc := range map[string][2]Config{"with, without": {with, without}, "without, with": {without, with}} {
		fs := vfs.NewMem()
		s, err := open(fs, "/crawl", tc[0], tuned())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err := open(fs, "/crawl", tc[1], tuned()); !errors.Is(err, errCopy) || errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want errCopy", name, err)
			_ = s.Close()
		}
		if k, err := openCopy(fs, "/crawl", testConfig()); errors.Is(err, errCopy) != (tc[0].Journal == nil) {
			t.Errorf("%s: OpenCopy: %v", name, err)
		} else if err == nil {
			if err := k.Apply(nil, k.Mark()); err == nil {
				t.Error("a group was applied twice")
			}
			_ = k.Close()
		}
	}
}

// TestCopyRefusesRubbish checks that invalid groups are not applied.
func TestCopyRefusesRubbish(t *testing.T) {
	k, err := openCopy(vfs.NewMem(), "/crawl", testConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if err := k.Apply([]byte("rubbish"), Mark{Seq: 1}); !errors.Is(err, ErrDamaged) {
		t.Errorf("Apply: %v, want ErrDamaged", err)
	}
}

// TestCheckpointIsACopy checks that a checkpoint taken during writes equals the store at its mark, and can follow the
// journal from there.
func TestCheckpointIsACopy(t *testing.T) {
	fs, p := vfs.NewMem(), &pen{of: &sequence{}}
	c := smallConfig()
	c.Journal = p
	s, err := open(fs, "/crawl", c, tuned())
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{s: s, life: "1", say: func(string) {}}
	var marks []Mark
	for i := range 5 {
		if err := w.crawl(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- w.add(t.Context(), fmt.Sprintf("http://b.test/%d", i)) }()
		dir := fmt.Sprint("/checkpoint-", i)
		if err := s.Checkpoint(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		k, err := openCopy(fs, dir, testConfig())
		if err != nil {
			t.Fatal(err)
		}
		n := slices.Index(p.of.marks, k.Mark()) + 1
		rebuilt := vfs.NewMem()
		follow(t, rebuilt, p.of, n)
		if n == 0 || contents(t, k.engine) != contentsOf(t, rebuilt) {
			t.Errorf("checkpoint %d is not the store at group %d", i, n)
		}
		marks = append(marks, k.Mark())
		for ; n < len(p.of.groups); n++ {
			if err := k.Apply(p.of.groups[n], p.of.marks[n]); err != nil {
				t.Fatal(err)
			}
		}
		if contents(t, k.engine) != contents(t, s.engine) {
			t.Errorf("checkpoint %d, brought up to date, is not the store", i)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if marks[0] == marks[4] {
		t.Error("all checkpoints are the same")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
