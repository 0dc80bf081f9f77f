package machine

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/amble-crawler/amble/internal/filelock"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/politeness/internal/sharedclock"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// The file has one page with its magic bytes, and then pages of slots. A clock's name determines its page. A slot holds one clock
// until the clock can be forgotten: a minute after its pause. If all slots of a page are in use, crawls that need another clock on it
// wait.
const (
	clocksName = "clocks"
	magic      = "amble-clocks 1\n"
	magicKind  = "amble-clocks "

	pageSize  = 4096
	pageCount = 1 << 14 // 64 MiB, of which the system allocates only pages that were written
	slotSize  = 512
	slotHead  = 64
	waitSize  = 20
	lineMax   = (slotSize - slotHead) / waitSize // maximum number of waiting crawls stored for a clock
)

// openClocks opens the file of clocks in a directory. It creates the directory and the file if they are missing.
func openClocks(dir string) (*os.File, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	f, err := safefile.EditOwn(filepath.Join(dir, clocksName))
	if err != nil {
		return nil, err
	}
	if err := prepare(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// prepare sets the size and magic bytes of a new file, and checks those of an existing one.
func prepare(f *os.File) error {
	for i := 0; ; i++ {
		locked, err := filelock.TryLock(f, true)
		if err != nil {
			return err
		}
		if locked {
			break
		}
		if i == 1000 {
			return fmt.Errorf("%s is locked by another process: is one stopped?", f.Name())
		}
		time.Sleep(time.Millisecond)
	}
	defer func() { _ = filelock.Unlock(f) }() // the system also unlocks f when the process ends
	info, err := f.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, len(magic))
	if info.Size() > 0 {
		if _, err := f.ReadAt(head, 0); err != nil {
			return fmt.Errorf("%s is no file of clocks: move it away", f.Name())
		}
	}
	switch {
	case string(head) == magic && info.Size() == pageSize*pageCount:
		return nil
	case info.Size() == 0 || info.Size() == pageSize*pageCount && bytes.Equal(head, make([]byte, len(magic))): // empty: a process was killed at creation
		if err := f.Truncate(pageSize * pageCount); err != nil {
			return err
		}
		_, err := f.WriteAt([]byte(magic), 0)
		return err
	case bytes.HasPrefix(head, []byte(magicKind)):
		return fmt.Errorf("%s is of another version (%q, this program knows %q): move it away when no crawl runs, or use another state directory", f.Name(), head, magic)
	}
	return fmt.Errorf("%s is no file of clocks: move it away", f.Name())
}

// inPlace returns an error if the file is not the one at its path any more: other processes then use another file.
func (m *Hosts) inPlace() error {
	open, err := m.file.Stat()
	if err != nil {
		return err
	}
	now, err := os.Lstat(m.file.Name())
	if err != nil || !os.SameFile(open, now) {
		return fmt.Errorf("%s was replaced or removed while it was used", m.file.Name())
	}
	return nil
}

// idOf returns the ID of a clock. The owner of a host cannot choose a name so that it collides with another ID.
func idOf(kind, name, port string) clockID {
	sum := sha256.Sum256([]byte(kind + " " + name + " " + port))
	return clockID(max(1, binary.LittleEndian.Uint64(sum[:])))
}

// slot is a clock and its place in the file.
type slot struct {
	sharedclock.Clock
	id clockID
	at int64
}

// pages reads the slots for one operation, reading each page only once.
type pages struct {
	m    *Hosts
	now  time.Time
	read map[int64][]byte
}

func (m *Hosts) pages(now time.Time) *pages { return &pages{m, now, map[int64][]byte{}} }

// page returns the page of a clock and the page's offset in the file.
func (p *pages) page(id clockID) (page []byte, at int64, err error) {
	at = int64(1+uint64(id)%(pageCount-1)) * pageSize
	if page = p.read[at]; page == nil {
		page = make([]byte, pageSize)
		if _, err := p.m.file.ReadAt(page, at); err != nil {
			return nil, at, err
		}
		p.read[at] = page
	}
	return page, at, nil
}

// find returns the slot of a clock, or nil if there is none. It ends the turns and waits of killed processes.
func (p *pages) find(id clockID) (*slot, error) {
	page, at, err := p.page(id)
	if err != nil {
		return nil, err
	}
	for i := 0; i < pageSize; i += slotSize {
		if b := page[i : i+slotSize]; clockID(binary.LittleEndian.Uint64(b[8:])) == id && intact(b) {
			s := &slot{id: id, at: at + int64(i)}
			s.decode(b)
			p.m.bury(p.now, &s.Clock)
			return s, nil
		}
	}
	return nil, nil
}

// slot returns the slot of a clock, or a new slot. The error is a *politeness.NotYet if the page is full.
func (p *pages) slot(id clockID) (*slot, error) {
	s, err := p.find(id)
	if s != nil || err != nil {
		return s, err
	}
	page, at, err := p.page(id)
	if err != nil {
		return nil, err
	}
	free := time.Time{}
	for i := 0; i < pageSize; i += slotSize {
		b := page[i : i+slotSize]
		s := &slot{id: clockID(binary.LittleEndian.Uint64(b[8:])), at: at + int64(i)}
		if s.id != 0 && intact(b) {
			s.decode(b)
			if p.m.bury(p.now, &s.Clock) {
				if err := p.write(s); err != nil {
					return nil, err
				}
			}
			if !s.Idle(p.now) {
				if end := s.NotBefore.Add(sharedclock.Remember); free.IsZero() || end.Before(free) {
					free = end
				}
				continue
			}
		}
		s.Clock, s.id = sharedclock.Clock{}, id
		s.encode(b) // occupies the slot, so that no other clock of this operation gets the slot
		return s, nil
	}
	wait := min(max(free.Sub(p.now), sharedclock.Recheck), look)
	return nil, notYet(ledger.ClauseShared, ledger.Clause{Until: p.now.Add(wait)})
}

// write writes a slot to its place in the file.
func (p *pages) write(s *slot) error {
	i := s.at % pageSize
	b := p.read[s.at-i][i : i+slotSize]
	s.encode(b)
	_, err := p.m.file.WriteAt(b, s.at)
	return err
}

// intact reports whether a slot was written completely.
func intact(b []byte) bool { return binary.LittleEndian.Uint32(b) == crc32.ChecksumIEEE(b[4:]) }

// encode writes the slot into b.
func (s *slot) encode(b []byte) {
	clear(b)
	le, line := binary.LittleEndian, s.Line[:min(len(s.Line), lineMax)]
	le.PutUint16(b[4:], uint16(len(line)))
	le.PutUint16(b[6:], uint16(s.Turns))
	le.PutUint64(b[8:], uint64(s.id))
	le.PutUint64(b[16:], nanos(s.NotBefore))
	le.PutUint64(b[24:], uint64(s.Delay))
	le.PutUint64(b[32:], nanos(s.Ended))
	le.PutUint64(b[40:], uint64(s.Owes))
	copy(b[48:52], s.Owner.Gate)
	copy(b[52:56], s.Holder.Gate)
	copy(b[56:60], s.Last.Gate)
	if s.Waits {
		b[60] = 1
	}
	for i, w := range line {
		b := b[slotHead+i*waitSize:]
		copy(b[:4], w.Gate)
		copy(b[4:8], w.By.Gate)
		le.PutUint32(b[8:], uint32(min((w.Delay+time.Millisecond-1)/time.Millisecond, math.MaxInt32)))
		if w.Closed {
			b[11] |= 1 << 7 // the one bit that no delay uses
		}
		le.PutUint64(b[12:], nanos(w.Due))
	}
	le.PutUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// decode reads the slot from b.
func (s *slot) decode(b []byte) {
	le := binary.LittleEndian
	s.Turns = int(le.Uint16(b[6:]))
	s.NotBefore, s.Delay = timeOf(le.Uint64(b[16:])), time.Duration(le.Uint64(b[24:]))
	s.Ended, s.Owes = timeOf(le.Uint64(b[32:])), time.Duration(le.Uint64(b[40:]))
	s.Owner, s.Holder, s.Last = partyOf(b[48:52]), partyOf(b[52:56]), partyOf(b[56:60])
	s.Waits = b[60] == 1
	s.Line = make([]sharedclock.Waiter, min(int(le.Uint16(b[4:])), lineMax))
	for i := range s.Line {
		b := b[slotHead+i*waitSize:]
		s.Line[i] = sharedclock.Waiter{
			Party: partyOf(b[:4]), By: partyOf(b[4:8]), Delay: time.Duration(le.Uint32(b[8:])&math.MaxInt32) * time.Millisecond, Due: timeOf(le.Uint64(b[12:])),
			Closed: b[11]>>7 == 1,
		}
	}
}

func nanos(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}

func timeOf(n uint64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(n))
}
