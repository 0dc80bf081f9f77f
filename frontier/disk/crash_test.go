package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/amble-crawler/amble/internal/long"
)

// TestTornTail cuts the log at any byte after the last acknowledged call, or replaces the rest with other bytes.
// Everything acknowledged must survive, and the Commit under way entirely or not at all.
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
		t.Fatalf("%s did not grow by exactly the commit", before.name)
	}
	acknowledged := h.lines[:len(h.lines)-1] // without the last line, which reports the commit under way as done
	happened := map[int64]int{}
	try := func(tail []byte, when string) {
		t.Helper()
		left := vfs.NewMem()
		if _, err := vfs.Clone(disk, left, "/crawl", "/crawl"); err != nil {
			t.Fatal(err)
		}
		writeLog(t, left, before.name, slices.Concat(before.bytes, tail))
		writeLog(t, left, "/crawl/"+lastName, noted) // the note is written after the log
		s := opensAgain(t, left, acknowledged, when)
		happened[s.Offsets("")["commits"]]++
	}
	grown := after.bytes[len(before.bytes):]
	r := rand.New(rand.NewPCG(1, 1))
	for cut := 0; cut < len(grown); cut += 1 + r.IntN(2*len(grown)/long.Seeds(60, 60)) {
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
		t.Errorf("commits that took effect, by number: %v; want 8 each time", happened)
	}
	try(grown, "whole")
	if happened[9] != 1 {
		t.Error("a whole Commit did not happen")
	}
}

// TestLostLog truncates or removes acknowledged parts of the log. Open must report the damage every time.
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
	// A torn note, as after a power failure, does not count as damage.
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

// TestCrashAtEveryChange crashes before each change of the disk during a crawl.
func TestCrashAtEveryChange(t *testing.T) {
	type state struct {
		left  *vfs.MemFS
		lines int
		when  string
	}
	disk := crashable{vfs.NewCrashableMem()}
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
		if r.IntN(long.N(10, 3)) > 0 { // trying a third of the changes takes long enough
			continue
		}
		changes++
		opensAgain(t, st.left, h.lines[:st.lines], st.when)
	}
	t.Logf("%d of %d moments", changes, all)
}
