package machine

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/amble-crawler/amble/internal/filelock"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/politeness/internal/sharedclock"
)

const (
	crawlsName = "crawls"
	nameMax    = 4 << 10          // maximum length of a crawl's name in bytes
	old        = 10 * time.Minute // age at which the file of a crawl that has ended is removed
	fresh      = time.Second      // time for which a waiting crawl counts as alive without another check
)

// crawl is a crawl of this process. Its file contains its name, and is locked as long as the crawl runs: the system unlocks it
// when the process ends for any reason.
type crawl struct {
	id    string // four bytes, random
	name  string
	file  *os.File
	waits map[clockID]bool // clocks for which the crawl was told to wait
}

func (c *crawl) party() sharedclock.Party { return sharedclock.Party{Gate: c.id, Crawl: c.name} }

// partyOf returns the crawl with an ID in the file of clocks. Its name is looked up only if needed.
func partyOf(id []byte) sharedclock.Party {
	if [4]byte(id) == [4]byte{} {
		return sharedclock.Party{}
	}
	return sharedclock.Party{Gate: string(id)}
}

func (m *Hosts) crawlPath(id string) string {
	return filepath.Join(m.dir, crawlsName, hex.EncodeToString([]byte(id)))
}

// join returns the crawl of a Gate, and creates it if needed.
func (m *Hosts) join(gate, name string) (*crawl, error) {
	if c := m.crawls[gate]; c != nil {
		return c, nil
	}
	var id [4]byte
	_, _ = rand.Read(id[:]) // Read never fails
	id[0] |= 1              // the ID is never zero
	if name == "" {
		name = fmt.Sprintf("process %d", os.Getpid())
	}
	c := &crawl{id: string(id[:]), name: name, waits: map[clockID]bool{}}
	var err error
	if c.file, err = safefile.EditOwn(m.crawlPath(c.id)); err != nil {
		return nil, err
	}
	locked, err := filelock.TryLock(c.file, true)
	if err == nil && !locked {
		err = fmt.Errorf("%s is locked by another process", c.file.Name())
	}
	if err == nil {
		_, err = c.file.WriteAt([]byte(name[:min(len(name), nameMax)]), 0)
	}
	if err != nil {
		return nil, errors.Join(err, filelock.Close(c.file))
	}
	m.crawls[gate] = c
	return c, nil
}

// end ends a crawl of this process.
func (m *Hosts) end(gate string) {
	if c := m.crawls[gate]; c != nil {
		_ = filelock.Close(c.file) // a failed Close loses nothing
		delete(m.crawls, gate)
	}
}

// name returns the name of a crawl, or "" if it is no longer known.
func (m *Hosts) name(p sharedclock.Party) string {
	if p.Crawl != "" || p.Gate == "" {
		return p.Crawl
	}
	f, err := safefile.OpenOwn(m.crawlPath(p.Gate))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read, so an error of closing loses nothing
	b, _ := safefile.ReadAll(f, f.Name(), nameMax)
	return string(b)
}

// alive reports whether a crawl runs, as far as can be determined. A crawl that ran less than moment ago may count as
// running.
func (m *Hosts) alive(now time.Time, id string, moment time.Duration) bool {
	if now.Sub(m.seen[id]).Abs() < moment {
		return true
	}
	for _, c := range m.crawls { // crawls of this process need no look at their files
		if c.id == id {
			return true
		}
	}
	f, err := safefile.OpenOwn(m.crawlPath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	alive := true // also if the file cannot be opened, for example because too many files are open
	if err == nil {
		locked, err := filelock.TryLock(f, false)
		alive = !locked || err != nil
		_ = filelock.Close(f) // only read, so an error of closing loses nothing
	}
	if len(m.seen) > 1<<10 {
		clear(m.seen)
	}
	if delete(m.seen, id); alive {
		m.seen[id] = now
	}
	return alive
}

// bury ends the turns and waits that killed processes have at a clock, and reports whether there were any. Their requests
// count as ended now.
func (m *Hosts) bury(now time.Time, c *sharedclock.Clock) (changed bool) {
	if c.Turns > 0 && !m.alive(now, c.Holder.Gate, 0) {
		dead, owes := c.Holder, c.Owes
		for c.Turns > 0 {
			c.Release()
		}
		c.Hold(now, dead, now, now.Add(owes))
		changed = true
	}
	for _, w := range c.Line {
		if !m.alive(now, w.Gate, fresh) {
			c.Leave(w.Gate)
			return m.bury(now, c) || true
		}
	}
	return changed
}

// sweep removes the files of crawls that ended long ago.
func (m *Hosts) sweep(now time.Time) error {
	dir := filepath.Join(m.dir, crawlsName)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		id, err := hex.DecodeString(e.Name())
		info, err2 := e.Info()
		if err != nil || err2 != nil || len(id) != 4 || now.Sub(info.ModTime()) < old || m.alive(now, string(id), 0) {
			continue
		}
		_ = os.Remove(filepath.Join(dir, e.Name())) // if this fails, the next process removes the file
	}
	return nil
}
