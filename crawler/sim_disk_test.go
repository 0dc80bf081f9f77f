package crawler_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// remains is the storage that survives a process: the ledger, in memory or in a file, the bodies of robots.txt files,
// and the Gate's last snapshot.
type remains struct {
	*sim
	path     string // ledger file; "": in memory
	file     *ledger.File
	memory   bytes.Buffer
	snapshot []byte

	mu     sync.Mutex
	bodies map[string][]byte
	lost   map[string][]byte // replacement for a lost body; nil: none
}

func newRemains(s *sim) *remains {
	d := &remains{sim: s, bodies: map[string][]byte{}, lost: map[string][]byte{}}
	if s.File {
		d.path = filepath.Join(s.t.TempDir(), "ledger.jsonl")
	}
	return d
}

// open prepares the ledger for a process and returns its size. An incomplete last line is cut off.
func (d *remains) open() (size int64) {
	if d.path != "" {
		var err error
		if d.file, size, err = ledger.Open(d.path); err != nil {
			d.t.Fatal(err)
		}
		return size
	}
	d.memory.Truncate(bytes.LastIndexByte(d.memory.Bytes(), '\n') + 1)
	return int64(d.memory.Len())
}

func (d *remains) Write(line []byte) (int, error) {
	if d.path != "" {
		return d.file.Write(line)
	}
	return d.memory.Write(line)
}

// part writes the first n bytes of a line.
func (d *remains) part(line []byte, n int) int {
	n, _ = d.memory.Write(line[:n])
	return n
}

// tear leaves the storage as after a process ends. A kill may leave a part of a line, and lose bodies.
func (d *remains) tear(killed bool) {
	torn := `{"event":"start","run":"`[:d.rng.IntN(20)]
	if !killed {
		torn = ""
	}
	if d.path == "" {
		d.memory.WriteString(torn)
	} else {
		if err := d.file.Close(); err != nil {
			d.t.Fatal(err)
		}
		f, err := os.OpenFile(d.path, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(torn)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			d.t.Fatal(err)
		}
	}
	if !d.Lossy {
		return
	}
	for sha := range d.bodies {
		switch d.rng.IntN(3) {
		case 0:
			d.lost[sha] = nil
		case 1:
			d.lost[sha] = []byte("User-agent: *\nAllow: /\n")
		default:
			delete(d.lost, sha)
		}
	}
}

// reader returns a reader of the current ledger.
func (d *remains) reader() io.ReadSeeker {
	if d.path != "" {
		return d.file.Reader()
	}
	return bytes.NewReader(d.memory.Bytes())
}

// content returns the whole ledger.
func (d *remains) content() []byte {
	if d.path == "" {
		return d.memory.Bytes()
	}
	b, err := os.ReadFile(d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	return b
}

func (d *remains) keep(p *fetcher.Page) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum := sha256.Sum256(p.Body)
	d.bodies[hex.EncodeToString(sum[:])] = bytes.Clone(p.Body)
	return nil
}

// body returns the stored body of a robots.txt.
func (d *remains) body(sha string) ([]byte, error) {
	if b, ok := d.lost[sha]; ok && b != nil {
		return b, nil
	} else if ok {
		return nil, errors.New("lost")
	}
	return d.evidence(sha)
}

// evidence returns the body as received.
func (d *remains) evidence(sha string) ([]byte, error) {
	if b, ok := d.bodies[sha]; ok {
		return b, nil
	}
	return nil, errors.New("not kept")
}
