// Package machine lets the crawls of all processes of a user on one machine take turns at hosts, addresses and domains, with files in a
// directory. There is no daemon:
//
//	config.Politeness.Shared = machine.Open(dir, politeness.NewHosts(politeness.HostsLimits{}))
//
// The rules are those of [politeness.Hosts]. The process's own politeness.Hosts records everything as well: if the files cannot be used,
// it continues alone, and [Hosts.NotShared] returns the reason.
package machine

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/amble-crawler/amble/internal/filelock"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/internal/sharedclock"
	"github.com/amble-crawler/amble/politeness/ledger"
)

const (
	// look is the maximum time until a crawl checks again a clock that another process uses: that process may have
	// been killed.
	look = time.Second
	// stuck is the time for which others may lock the file before a process continues alone.
	stuck = 10 * time.Second
	// attempts limits the attempts to lock the file. Others lock it for some microseconds only, and
	// Done must not block longer.
	attempts = 1000
	// again is the time after which a crawl that could not lock the file tries again.
	again = 5 * time.Millisecond
	// compare is the interval at which the open file is compared with the file at its path.
	compare = 5 * time.Second
)

// Hosts lets the crawls of all processes that opened the same directory take turns. It implements [politeness.Sharing]. The limits
// of the process's politeness.Hosts apply to the process.
//
// If a process is killed, its requests count as ended when another process checks for it, at most a second later; then the pause
// follows. If the machine's clock is set forward meanwhile, a pause between processes becomes shorter.
type Hosts struct {
	*politeness.Hosts

	mu      sync.Mutex
	dir     string
	file    *os.File // the file of clocks
	crawls  map[string]*crawl
	seen    map[string]time.Time // times at which crawls of other processes were last seen alive, by ID
	out     map[*politeness.Turn][]clockID
	done    []outcome // outcomes of Done that are not written yet
	blocked time.Time // time since which others have locked the file; zero if they have not
	matched time.Time // time at which the file was last compared
	kept    int64     // bytes of robots.txt files written since the directory was pruned
	err     error
}

// outcome is the result of a Turn that Done has to write.
type outcome struct {
	party sharedclock.Party
	key   clockID
	taken bool
	owed  politeness.Owed
	until time.Time
}

// clockID identifies a clock in the file.
type clockID uint64

// Open opens a state directory for the crawls of a process, and creates it if it is missing. "" is the directory that [Dir]
// returns. Open never fails: see [Hosts.NotShared]. A process opens a directory once and keeps it open.
func Open(dir string, process *politeness.Hosts) *Hosts {
	m := &Hosts{
		Hosts: process, dir: dir, crawls: map[string]*crawl{}, seen: map[string]time.Time{}, out: map[*politeness.Turn][]clockID{},
	}
	var err error
	if dir == "" {
		m.dir, err = Dir()
	}
	if err == nil {
		m.file, err = openClocks(m.dir)
	}
	if err == nil {
		err = m.locked(func(now time.Time) error { return m.sweep(now) })
	}
	m.fail(err)
	return m
}

// NotShared returns why the hosts are shared with no other process, or nil if they are.
func (m *Hosts) NotShared() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Close ends the sharing with other processes in the same way as the end of the process: for them, requests in flight end now, and
// the pauses follow. The crawls of the process continue to share with each other.
func (m *Hosts) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail(errors.New("the state directory was closed"))
}

// fail ends the sharing with other processes if err is an error of the files.
func (m *Hosts) fail(err error) {
	if err == nil || m.err != nil || errors.Is(err, errLocked) {
		return
	}
	m.err = err
	for gate := range m.crawls {
		m.end(gate)
	}
	if m.file != nil {
		_ = m.file.Close() // nothing was written to the file that Close could lose
	}
}

// Take implements [politeness.Sharing]. It may wait some milliseconds for other processes.
func (m *Hosts) Take(t *politeness.Turn) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.locked(func(now time.Time) error { return m.take(now, t) })
	var wait *politeness.NotYet
	switch {
	case errors.Is(err, errLocked):
		return notYet(t.Clause(), ledger.Clause{Until: time.Now().Add(again)})
	case errors.As(err, &wait):
		return wait
	}
	m.fail(err)
	if err := m.Hosts.Take(t); err != nil { // another crawl of this process holds a clock that is shared only within the process
		m.leaves(t, politeness.Owed{})
		m.settle()
		return err
	}
	return nil
}

func notYet(name string, c ledger.Clause) *politeness.NotYet {
	c.Name = name
	return &politeness.NotYet{Until: c.Until, Clauses: []ledger.Clause{c}}
}

func (m *Hosts) take(now time.Time, t *politeness.Turn) error {
	keys := clockIDs(t)
	if len(keys) == 0 {
		return nil
	}
	c, err := m.join(t.Gate, t.Crawl)
	if err != nil {
		return err
	}
	pages := m.pages(now)
	slots, clocks := make([]*slot, len(keys)), make([]*sharedclock.Clock, len(keys))
	for i, k := range keys {
		if slots[i], err = pages.slot(k.id); err != nil {
			return err
		}
		clocks[i] = &slots[i].Clock
	}
	if !t.Quiet.IsZero() {
		clocks[0].Close(c.party(), t.Delay, t.Quiet)
		c.waits[keys[0].id] = true
		return pages.write(slots[0])
	}
	late, until, by := sharedclock.Latest(now, clocks, c.party(), t.Delay)
	if late != nil {
		if late.Turns > 0 {
			until = now.Add(min(until.Sub(now), look))
		}
		until = late.Wait(c.party(), t.Delay, until, by)
		for i := range clocks {
			if clocks[i] == late {
				c.waits[keys[i].id] = true
				err = pages.write(slots[i])
			}
		}
		if err != nil {
			return err
		}
		return notYet(t.Clause(), ledger.Clause{Until: until, Delay: ledger.Duration(late.Delay), By: m.name(by)})
	}
	if waited, place := sharedclock.Take(now, clocks, c.party(), t.Delay); waited != nil && waited.NotBefore.After(t.Waited.Until) {
		t.Waited = ledger.Clause{Name: t.Clause(), Until: waited.NotBefore, Delay: ledger.Duration(waited.Delay), By: m.name(place.By)}
	}
	for i, s := range slots {
		if err := pages.write(s); err != nil {
			return err
		}
		m.out[t] = append(m.out[t], keys[i].id)
	}
	return nil
}

// Done implements [politeness.Sharing].
func (m *Hosts) Done(t *politeness.Turn, owed politeness.Owed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Hosts.Done(t, owed)
	m.leaves(t, owed)
	m.settle()
}

// leaves records the outcome of a Turn in m.done, which settle writes.
func (m *Hosts) leaves(t *politeness.Turn, owed politeness.Owed) {
	if m.err != nil {
		return
	}
	c, err := m.join(t.Gate, t.Crawl)
	if err != nil {
		m.fail(err)
		return
	}
	_, taken := m.out[t]
	delete(m.out, t)
	for _, k := range clockIDs(t) {
		if until := k.until(owed); taken || !until.IsZero() || !owed.Ended.IsZero() {
			m.done = append(m.done, outcome{c.party(), k.id, taken, owed, until})
		}
		if !owed.Ended.IsZero() {
			delete(c.waits, k.id)
		}
	}
}

// settle writes the outcomes of Done and Leave. If that is not possible yet, because another process has locked the file or too
// many clocks are held, they are written with the next Turn that is taken or ends. Until then others see a request in flight.
func (m *Hosts) settle() {
	if len(m.done) > 0 {
		m.fail(m.locked(func(time.Time) error { return nil })) // locked writes the outcomes before it calls the function
	}
}

// write writes the outcomes for which there is space. The file must be locked.
func (m *Hosts) write(now time.Time) error {
	var left []outcome
	for _, o := range m.done {
		pages := m.pages(now)
		s, err := pages.slot(o.key)
		if errors.As(err, new(*politeness.NotYet)) {
			left = append(left, o)
			continue
		}
		if err != nil {
			return err
		}
		if o.taken && s.Holder.Gate == o.party.Gate {
			s.Release()
		}
		s.Hold(now, o.party, o.owed.Ended, o.until)
		if err := pages.write(s); err != nil {
			return err
		}
	}
	m.done = left
	return nil
}

// Leave implements [politeness.Sharing].
func (m *Hosts) Leave(gate string) {
	m.Hosts.Leave(gate)
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.crawls[gate]
	if c == nil {
		return
	}
	now := time.Now()
	for t := range m.out {
		if t.Gate == gate {
			rested := now.Add(t.Delay)
			m.leaves(t, politeness.Owed{Ended: now, Host: rested, Addr: rested, Domain: rested, Total: rested})
		}
	}
	m.settle()
	m.fail(m.locked(func(now time.Time) error {
		for key := range c.waits {
			pages := m.pages(now)
			s, err := pages.find(key)
			if err == nil && s != nil {
				s.Leave(c.id)
				err = pages.write(s)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
	m.end(gate)
}

// locked writes pending outcomes and calls f, while no other process reads or writes the file.
func (m *Hosts) locked(f func(now time.Time) error) error {
	if m.err != nil {
		return nil
	}
	if err := m.lock(); err != nil {
		return err
	}
	defer func() { _ = filelock.Unlock(m.file) }() // the system also unlocks the file when the process ends
	now := time.Now()
	if now.Sub(m.matched).Abs() > compare {
		m.matched = now
		if err := m.inPlace(); err != nil {
			return err
		}
	}
	if err := m.write(now); err != nil {
		return err
	}
	return f(now)
}

var errLocked = errors.New("locked by another process")

// lock locks the file. The error is errLocked if others keep it locked for too long.
func (m *Hosts) lock() error {
	for range attempts {
		locked, err := filelock.TryLock(m.file, true)
		if locked || err != nil {
			m.blocked = time.Time{}
			return err
		}
		runtime.Gosched()
	}
	now := time.Now()
	if m.blocked.IsZero() {
		m.blocked = now
	}
	if now.Sub(m.blocked) > stuck {
		return fmt.Errorf("%s has been locked by another process for %v: is one stopped?", m.file.Name(), stuck)
	}
	return errLocked
}

// sharedID identifies a clock of a Turn.
type sharedID struct {
	id    clockID
	until func(politeness.Owed) time.Time
}

// clockIDs returns the clocks of a Turn.
func clockIDs(t *politeness.Turn) (all []sharedID) {
	if t.Host != "" {
		all = append(all, sharedID{idOf("host", t.Host, t.Port), func(o politeness.Owed) time.Time { return o.Host }})
	}
	if t.Addr != (netip.Addr{}) {
		all = append(all, sharedID{idOf("address", t.Addr.String(), ""), func(o politeness.Owed) time.Time { return o.Addr }})
	}
	if t.Domain != "" {
		all = append(all, sharedID{idOf("domain", t.Domain, ""), func(o politeness.Owed) time.Time { return o.Domain }})
	}
	if t.Total {
		all = append(all, sharedID{idOf("total", "", ""), func(o politeness.Owed) time.Time { return o.Total }})
	}
	return all
}
