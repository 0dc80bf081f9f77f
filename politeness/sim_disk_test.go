package politeness_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
)

// disk represents what survives a process: the ledger, in memory or in a file, snapshots, and bodies of robots.txt files. Some writes fail,
// and a snapshot may be requested while a line is written.
type disk struct {
	t      *testing.T
	rng    *rand.Rand
	none   bool // no ledger
	faulty bool
	memory []byte
	path   string // ledger file; "": in memory
	file   *ledger.File

	lines     int    // complete lines
	lacking   bool   // the ledger lacks a line
	silent    bool   // since the process began, a line was cut or an end line was lost
	last      []byte // last line
	take      func() []byte
	taking    chan []byte
	snapshots []saved
	needed    bool // the ledger lacks facts that the first snapshot has, so that a snapshot is needed
}

// saved is a snapshot together with the facts that it includes, and with the number of facts at that time.
type saved struct {
	b     []byte
	facts int
	past  []fact
}

var errDisk = errors.New("no space left on device")

func newDisk(t *testing.T, rng *rand.Rand) *disk {
	d := &disk{t: t, rng: rng}
	switch rng.IntN(8) {
	case 0:
		d.none = true
	case 1, 2:
		d.path = filepath.Join(t.TempDir(), "ledger.jsonl")
		d.open("")
	default:
		d.faulty = rng.IntN(3) == 0
	}
	return d
}

// Write implements io.Writer for the ledger. If a write fails, nothing of the line or a part of it is in the ledger.
func (d *disk) Write(line []byte) (n int, err error) {
	if d.rng.IntN(12) == 0 && d.taking == nil {
		d.taking = make(chan []byte, 1)
		go func() { d.taking <- d.take() }()
		for range 8 { // lets the snapshot run while the line is incomplete
			runtime.Gosched()
		}
	}
	switch {
	case d.path != "":
		n, err = d.file.Write(line)
	case d.faulty && d.rng.IntN(40) == 0:
		n, err = pick(d.rng, 0, 0, 1+d.rng.IntN(len(line)-1)), errDisk
		d.memory = append(d.memory, line[:n]...)
	default:
		n = len(line)
		d.memory = append(d.memory, line...)
	}
	if err != nil {
		d.lacking = true
		d.silent = d.silent || n > 0 || !bytes.HasPrefix(line, []byte(`{"event":"start"`))
	} else {
		d.lines++
		d.last = append(d.last[:0], line...)
	}
	return n, err
}

// save stores a snapshot, possibly the one that was requested while the last line was written.
func (d *disk) save(j *judge, now bool) {
	if d.taking != nil {
		d.snapshots = append(d.snapshots, j.save(<-d.taking))
		d.taking = nil
	}
	if now {
		d.snapshots = append(d.snapshots, j.save(d.take()))
	}
}

// latest returns one of the last snapshots, or none. If a process has continued from a snapshot alone, it always returns a
// snapshot.
func (d *disk) latest() saved {
	if n := len(d.snapshots); n > 0 && (d.needed || d.rng.IntN(8) > 0) {
		return d.snapshots[max(0, n-1-d.rng.IntN(3))]
	}
	return saved{}
}

// open cuts an incomplete last line off the ledger, as the next process does. torn is an incomplete line that the previous process has
// left. open returns the size of the complete lines in bytes, and a reader for them.
func (d *disk) open(torn string) (size int64, lines io.ReadSeeker) {
	d.silent = false
	if d.path == "" {
		d.memory = d.memory[:bytes.LastIndexByte(d.memory, '\n')+1]
		return int64(len(d.memory)), bytes.NewReader(append(bytes.Clone(d.memory), torn...))
	}
	if d.file != nil {
		d.must(d.file.Close())
		d.must(appendTo(d.path, torn))
	}
	var err error
	d.file, size, err = ledger.Open(d.path)
	d.must(err)
	return size, d.file.Reader()
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// close closes the ledger and returns its content.
func (d *disk) close() []byte {
	if d.path == "" {
		return d.memory[:bytes.LastIndexByte(d.memory, '\n')+1]
	}
	b, err := os.ReadFile(d.path)
	d.must(errors.Join(err, d.file.Close()))
	return b
}

func (d *disk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// bodies returns a function that finds the body of a robots.txt by its hash. For a body that was lost, it returns either nothing or a wrong
// body.
func bodies(files []*robotsFile, lost map[*robotsFile]bool) func(string) ([]byte, error) {
	by := map[string]*robotsFile{}
	for _, f := range files {
		by[hash(f.body)] = f
	}
	by[hash("")] = &robotsFile{}
	return func(sha string) ([]byte, error) {
		f := by[sha]
		switch {
		case f == nil, lost[f] && len(f.body)%2 == 0:
			return nil, errors.New("not kept")
		case lost[f]:
			return []byte("User-agent: *\nAllow: /\n"), nil
		}
		return []byte(f.body), nil
	}
}

func hash(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// torn returns the beginning of a ledger line, as an interrupted write leaves it.
func torn(rng *rand.Rand) string {
	line := `{"event":"end","run":"abcdefghij","id":7,"ended":"` + time.Now().UTC().Format(time.RFC3339Nano)
	return line[:rng.IntN(len(line))]
}
