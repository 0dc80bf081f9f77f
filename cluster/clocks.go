package cluster

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// Clocks gives a process access to the clocks of hosts, addresses and domains that all crawls on an engine share. It implements
// politeness.Sharing. The engine decides who holds a clock: a register can only be replaced by a process that knows its current revision.
// While a request is in flight, its process renews the hold of the clock. If the process falls silent, the clock becomes free when every
// request of that process must have ended, and then pauses. A process keeps a clock for its next request if no other gate is known to wait
// for it. No process stores anything for others.
//
// While the engine does not answer, nothing is requested.
type Clocks struct {
	store ClockStore
	job   string        // ID of the job; its gates need no delay between each other at addresses and domains
	hold  time.Duration // time for which a clock stays held if its holder is silent
	id    string        // ID of this process in the job; "": none, and then clocks are not kept
	gone  string        // ID of a process that is proven to have ended before this one began; "": none
	since time.Time     // start of this process
	ctx   context.Context
	end   context.CancelFunc
	tasks sync.WaitGroup
	looks chan struct{} // held by the goroutine that reads the engine's time

	offset atomic.Pointer[Offset]

	mu     sync.Mutex
	looked time.Time // time of the last answer of the engine; zero: the engine must be asked first
	era    uint64
	opens  time.Time       // requests are allowed from this time on, by the engine's clock; earlier, lost clocks might still be held
	why    error           // error of the engine; nil if it answers
	back   time.Time       // time at which the engine answered again after an error
	away   map[string]bool // gates and clocks of turns that were refused while the engine did not answer
	known  map[string]*replica
	sweep  int
	turns  map[*politeness.Turn]*turn
	kept   map[string]*keptClock      // keyed by clock
	waits  map[string]map[string]bool // keys of the clocks that a gate waits for, by gate
	rests  map[string]rest            // pauses longer than maxHold, by key of the clock
	rates  map[time.Duration]*tokens  // rate tokens, keyed by interval
	holds  map[chan struct{}]bool     // pauses learned without a request, and not stored yet
	files  map[string]chan struct{}   // robots.txt files being stored, by origin

	accounts sync.Map // ID of each Config.Account in the engine
}

// replica is a process's local copy of a clock.
type replica struct {
	turn chan struct{} // held by the goroutine that accesses the clock in the engine; no mutex is held meanwhile
	host bool          // whether it is the clock of a host

	// The holder of turn may access these fields.
	is  clock
	rev uint64
	at  time.Time // time of the last read; zero: the clock must be read

	// Guarded by Clocks.mu.
	due   []func(*clock) // changes to be stored
	users int
	used  time.Time
}

// turn is a politeness.Turn that was granted.
type turn struct {
	claimant
	id     string
	keys   []string
	delay  time.Duration
	stored time.Time // earliest time at which the engine may have stored that the gate holds the clock
	alone  bool      // as far as is known, no other gate held these clocks last or waits for one
	held   context.Context
	lost   context.CancelCauseFunc
}

// rest is the pause of a clock, with times by the engine's clock.
type rest struct {
	until, ended int64
	by           claimant
}

// maxHold limits the time for which a clock stays held if its holder is silent.
const maxHold = 30 * time.Second

// errClock is the cause with which a request is aborted when its clock may no longer be held.
var errClock = errors.New("cluster: a clock that the request needs is no longer held")

// NewClocks returns the Clocks of one process. job names a job that has several parts; "" for a crawl of a single process. hold is the time
// for which a clock stays held if its holder is silent, at most 30 s; 0: 30 s. ctx must end with the process. Close releases all clocks.
func NewClocks(ctx context.Context, store ClockStore, job string, hold time.Duration) *Clocks {
	k := &Clocks{
		store: store, job: job, hold: min(cmp.Or(hold, maxHold), maxHold), since: time.Now(), looks: make(chan struct{}, 1), known: map[string]*replica{}, sweep: 1000,
		turns: map[*politeness.Turn]*turn{}, kept: map[string]*keptClock{}, waits: map[string]map[string]bool{}, rests: map[string]rest{}, rates: map[time.Duration]*tokens{}, away: map[string]bool{}, holds: map[chan struct{}]bool{},
		files: map[string]chan struct{}{},
	}
	k.ctx, k.end = context.WithCancel(ctx)
	k.offset.Store(&Offset{})
	return k
}

// Close waits until the release of all clocks is stored, for at most the hold time.
func (k *Clocks) Close() {
	k.giveBackAll(func(*keptClock) bool { return true })
	t := time.AfterFunc(k.hold, k.end)
	defer t.Stop()
	k.tasks.Wait()
	k.end()
}

// Err returns the error of an engine that does not answer, nil if it answers. While there is an error, nothing is requested.
func (k *Clocks) Err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.why
}

// clockNames returns the keys of a Turn's clocks in locking order, and the ledger clause of each.
func clockNames(t *politeness.Turn) (keys []string, clauses []string) {
	if t.Host != "" {
		host := t.Host
		if t.Port != "" {
			host += ":" + t.Port
		}
		keys, clauses = append(keys, "h:"+host), append(clauses, ledger.ClauseBusy)
	}
	if t.Domain != "" {
		keys, clauses = append(keys, "d:"+t.Domain), append(clauses, ledger.ClauseDomain)
	}
	for _, addr := range []netip.Addr{t.Addr, t.Loopback} {
		if addr.IsValid() {
			keys, clauses = append(keys, "a:"+addr.String()), append(clauses, ledger.ClauseAddress)
		}
	}
	return keys, clauses
}

// Take implements politeness.Sharing. It may ask the engine, which takes at most a few seconds.
func (k *Clocks) Take(t *politeness.Turn) error {
	err := k.takeAll(t)
	name := t.Gate + " " + t.Host + ":" + t.Port
	k.mu.Lock()
	defer k.mu.Unlock()
	var wait *politeness.NotYet
	switch {
	case err == nil && k.away[name]:
		delete(k.away, name)
		t.Away = ledger.Clause{Name: ledger.ClauseEngine, Until: k.back}
		if lost := k.local(k.opens.UnixNano()); !k.opens.IsZero() && lost.After(k.back) {
			t.Away.Until = lost
		}
	case errors.As(err, &wait) && wait.Clauses[0].Name == ledger.ClauseEngine && len(k.away) < mostAway:
		k.away[name] = true
	}
	return err
}

// mostAway limits the number of turns for which Clocks remembers that they waited for the engine.
const mostAway = 10_000

func (k *Clocks) takeAll(t *politeness.Turn) error {
	if t.Total {
		return k.tokens(t.Delay).take(k, t)
	}
	keys, clauses := clockNames(t)
	if len(keys) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(k.ctx, 2*patience)
	defer cancel()
	asked := time.Now()
	if err := k.look(ctx); err != nil {
		return err
	}
	k.mu.Lock()
	era := k.era
	k.mu.Unlock()
	id := newNonce()
	x := &turn{claimant: claimant{t.Gate, k.job, t.Crawl}, id: hex.EncodeToString(id[:6]), keys: keys, delay: t.Delay, stored: asked, alone: k.id != ""}
	all, err := k.enter(ctx, keys)
	defer k.leave(all)
	if err != nil {
		return k.failed(err)
	}
	if k.again(t, x) {
		return nil
	}
	if !t.Quiet.IsZero() {
		return k.quiet(ctx, x, all[0], t.Quiet)
	}
	if err := k.free(ctx, x, all, clauses); err != nil {
		return err
	}
	taken := 0
	for err == nil && taken < len(all) {
		err = k.take(ctx, x, taken, all[taken], clauses[taken], t)
		taken++
	}
	if err == nil {
		err = k.stillEra(ctx, era)
	}
	if err != nil { // the clock whose attempt failed may have been taken, too
		for _, key := range keys[:taken] {
			k.push(key, func(c *clock) { c.done(x.id, x.claimant, 0, 0) })
		}
		t.Waited = ledger.Clause{}
		return err
	}
	k.granted(t, x)
	return nil
}

// quiet makes all gates of a host wait until the permitted hours of this crawl begin. The error is a *politeness.NotYet.
func (k *Clocks) quiet(ctx context.Context, x *turn, r *replica, opens time.Time) error {
	at := k.remote(opens)
	err := k.change(ctx, x.keys[0], r, func(c *clock, _ int64) bool {
		c.close(x.claimant, x.delay, at)
		return true
	})
	if err != nil {
		return k.failed(err)
	}
	k.waitsFor(x.Gate, x.keys[0])
	return notYet(opens, ledger.ClauseQuiet)
}

// waitsFor records that a gate is in the queue of a clock.
func (k *Clocks) waitsFor(gate, key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waits[gate] == nil {
		k.waits[gate] = map[string]bool{}
	}
	k.waits[gate][key] = true
}

// stillEra returns an error if the engine has lost its clocks since the era began: then a clock that seemed free may have a holder.
func (k *Clocks) stillEra(ctx context.Context, era uint64) error {
	switch now, _, err := k.store.Era(ctx); {
	case err != nil:
		return k.failed(err)
	case now != era:
		return k.failed(errors.New("cluster: the engine has lost its clocks"))
	}
	return nil
}

// granted records that the turn t holds its clocks.
func (k *Clocks) granted(t *politeness.Turn, x *turn) {
	x.held, x.lost = context.WithCancelCause(k.ctx)
	t.Held, t.Until = x.held, x.stored.Add(k.hold/3)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.turns[t] = x
	for _, key := range x.keys {
		delete(k.waits[x.Gate], key)
	}
	k.tasks.Go(func() { k.say(x) })
}

// free returns an error if some clock cannot be taken, according to the local copies, and then queues the gate for the clock that becomes
// free last. Newer changes by others are noticed when a clock is taken.
func (k *Clocks) free(ctx context.Context, x *turn, all []*replica, clauses []string) error {
	late, until := -1, int64(0)
	for i, r := range all {
		for _, age := range []time.Duration{k.hold, clockRecheck} {
			if err := k.read(ctx, x.keys[i], r, age); err != nil {
				return k.failed(err)
			}
			now := k.early()
			c, _ := k.asOf(r, now)
			at, _ := c.until(now, x.claimant, x.delay, k.grace())
			if at <= now {
				break
			}
			if age == clockRecheck && at > until {
				late, until = i, at
			}
		}
	}
	if late < 0 {
		return nil
	}
	return k.attempt(ctx, x, late, all[late], clauses[late], func(*clock) bool { return false })
}

// take takes one clock if it is still free.
func (k *Clocks) take(ctx context.Context, x *turn, i int, r *replica, clause string, t *politeness.Turn) error {
	return k.attempt(ctx, x, i, r, clause, func(c *clock) bool {
		free, pause := c.Free, c.Pause
		x.alone = x.alone && c.alone(x.Gate)
		by := c.take(x.claimant, x.id, k.late()+int64(k.hold), x.delay)
		c.Held.Process = k.id
		if got := k.clause(clause, x, by, free, pause); got.Name == ledger.ClauseShared && !got.Until.Before(t.Waited.Until) {
			t.Waited = got
		}
		return true
	})
}

// attempt applies change to a clock if it is free. Otherwise it queues the gate and returns a *politeness.NotYet.
func (k *Clocks) attempt(ctx context.Context, x *turn, i int, r *replica, clause string, change func(c *clock) bool) error {
	var wait ledger.Clause
	err := k.change(ctx, x.keys[i], r, func(c *clock, now int64) bool {
		wait = ledger.Clause{}
		at, by := c.until(now, x.claimant, x.delay, k.grace())
		if at <= now {
			return change(c)
		}
		place := c.place(x.Gate)
		told := place < len(c.Line) && c.Line[place].Due > now
		if told {
			at, by = c.Line[place].Due, c.Line[place].By
		} else {
			at = c.wait(x.claimant, x.delay, at, by)
		}
		wait = k.clause(clause, x, by, at, c.Pause)
		return !told
	})
	switch {
	case err != nil:
		return k.failed(err)
	case wait.Name == "":
		return nil
	}
	k.waitsFor(x.Gate, x.keys[i])
	return &politeness.NotYet{Until: wait.Until, Clauses: []ledger.Clause{wait}}
}

// clause returns the ledger clause of a wait: ClauseShared for a wait for another crawl, name for a wait for another part of the same job.
func (k *Clocks) clause(name string, x *turn, by claimant, until int64, pause time.Duration) ledger.Clause {
	c := ledger.Clause{Name: name, Until: k.local(until), Delay: ledger.Duration(pause)}
	if others(by, x.claimant) {
		c.Name, c.By = ledger.ClauseShared, by.Crawl
	}
	return c
}

// others reports whether by is a crawl other than that of me.
func others(by, me claimant) bool {
	return by != (claimant{}) && by.Gate != me.Gate && (by.Job == "" || by.Job != me.Job)
}

// Done implements politeness.Sharing. Changes are stored as soon as the engine accepts them. A robots.txt that was requested is stored
// first, so that the next holder of the clocks finds it.
func (k *Clocks) Done(t *politeness.Turn, owed politeness.Owed) {
	k.mu.Lock()
	x := k.turns[t]
	delete(k.turns, t)
	stored := k.files[t.URL.Origin()]
	k.mu.Unlock()
	if x != nil {
		x.lost(nil)
	}
	if x == nil || stored == nil {
		if x == nil || !k.keep(x, owed) {
			k.done(t, x, owed)
		}
		return
	}
	k.tasks.Go(func() {
		select {
		case <-stored:
		case <-k.ctx.Done():
		}
		k.done(t, x, owed)
	})
}

func (k *Clocks) done(t *politeness.Turn, x *turn, owed politeness.Owed) {
	me, id := claimant{t.Gate, k.job, t.Crawl}, ""
	if x != nil {
		id = x.id
	}
	keys, _ := clockNames(t)
	for _, key := range keys {
		ended, until := k.remote(owed.Ended), k.remote(owedAt(key, owed))
		if x == nil && until == 0 {
			continue
		}
		stored := k.push(key, func(c *clock) { c.done(id, me, ended, until) })
		k.remember(key, rest{until, ended, me}, stored, x == nil)
	}
}

// owedAt returns the time until which a clock has to pause after a request.
func owedAt(key string, owed politeness.Owed) time.Time {
	switch key[0] {
	case 'h':
		return owed.Host
	case 'd':
		return owed.Domain
	}
	return owed.Addr
}

// remember records a pause to be stored again if the engine loses the clocks. With wait, it also records that Stored must wait for it.
func (k *Clocks) remember(key string, r rest, stored chan struct{}, wait bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if wait {
		k.holds[stored] = true
	}
	if r.until == 0 || time.Until(k.local(r.until)) < maxHold {
		return
	}
	if len(k.rests) >= 1000 {
		for key, r := range k.rests {
			if k.local(r.until).Before(time.Now()) {
				delete(k.rests, key)
			}
		}
	}
	if r.until > k.rests[key].until {
		k.rests[key] = r
	}
}

// Stored waits until the engine has stored all pauses that this process has learned without a request to the paused host, such as the
// Retry-After of a redirect. So a process that later gets a URL of such a host knows the pause.
func (k *Clocks) Stored(ctx context.Context) error {
	k.mu.Lock()
	var all []chan struct{}
	for c := range k.holds {
		all = append(all, c)
	}
	k.mu.Unlock()
	for _, c := range all {
		select {
		case <-c:
			k.mu.Lock()
			delete(k.holds, c)
			k.mu.Unlock()
		case <-ctx.Done():
			return ctx.Err()
		case <-k.ctx.Done():
			return k.ctx.Err()
		}
	}
	return nil
}

// Leave implements politeness.Sharing.
func (k *Clocks) Leave(gate string) {
	k.mu.Lock()
	var all []*politeness.Turn
	for t, x := range k.turns {
		if t.Gate == gate {
			x.alone = false
			all = append(all, t)
		}
	}
	waits := k.waits[gate]
	delete(k.waits, gate)
	k.mu.Unlock()
	for _, t := range all {
		now := time.Now()
		until := now.Add(t.Delay)
		k.Done(t, politeness.Owed{Ended: now, Host: until, Addr: until, Domain: until})
	}
	for key := range waits {
		k.push(key, func(c *clock) { c.leave(gate) })
	}
	k.giveBackAll(func(c *keptClock) bool { return c.Gate == gate })
}

// say renews the hold of a turn's clocks until its request has ended.
func (k *Clocks) say(x *turn) {
	ctx, heard := x.held, slices.Repeat([]time.Time{x.stored}, len(x.keys))
	for next := x.stored; ; next = time.Now() {
		wait(ctx, time.Until(next.Add(k.hold/3)))
		for i, key := range x.keys {
			if ctx.Err() != nil {
				return
			}
			sent := time.Now()
			err := k.sayOne(ctx, x, key)
			switch {
			case err == nil:
				heard[i] = sent
			case errors.Is(err, errClock), time.Since(heard[i]) >= 2*k.hold/3:
				x.lost(errClock)
				return
			}
		}
	}
}

// sayOne renews the hold of one clock. The error is errClock if another turn holds it.
func (k *Clocks) sayOne(ctx context.Context, x *turn, key string) error {
	short, cancel := context.WithTimeout(ctx, k.hold/3/time.Duration(len(x.keys)))
	defer cancel()
	all, err := k.enter(short, []string{key})
	defer k.leave(all)
	if err != nil {
		return err
	}
	other := false
	err = k.change(short, key, all[0], func(c *clock, _ int64) bool {
		if other = c.Held != nil && c.Held.Turn != x.id; !other {
			c.Held = &hold{claimant: x.claimant, Process: k.id, Turn: x.id, Until: k.late() + int64(k.hold), Rest: x.delay}
		}
		return !other
	})
	if err == nil && other {
		return errClock
	}
	return err
}

// push queues a change of a clock, and returns a channel that is closed when the change is stored.
func (k *Clocks) push(key string, change func(*clock)) (stored chan struct{}) {
	stored = make(chan struct{})
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.replica(key)
	r.due = append(r.due, change)
	r.users++
	k.tasks.Go(func() {
		defer close(stored)
		defer k.unuse(r)
		for k.ctx.Err() == nil && k.flush(key) != nil {
			wait(k.ctx, retry)
		}
	})
	return stored
}

// flush stores the queued changes of a clock.
func (k *Clocks) flush(key string) error {
	ctx, cancel := context.WithTimeout(k.ctx, k.hold)
	defer cancel()
	all, err := k.enter(ctx, []string{key})
	defer k.leave(all)
	if err != nil {
		return err
	}
	return k.change(ctx, key, all[0], func(*clock, int64) bool { return false })
}

// replica returns the local copy of a clock. The caller must hold the lock.
func (k *Clocks) replica(key string) *replica {
	r := k.known[key]
	if r == nil {
		if len(k.known) >= k.sweep {
			for key, r := range k.known {
				if r.users == 0 && len(r.due) == 0 && time.Since(r.used) > clockRemember {
					delete(k.known, key)
				}
			}
			k.sweep = max(1000, 2*len(k.known))
		}
		r = &replica{turn: make(chan struct{}, 1), host: strings.HasPrefix(key, "h:")}
		k.known[key] = r
	}
	r.used = time.Now()
	return r
}

// enter waits until this goroutine holds the turn of each clock, in order.
func (k *Clocks) enter(ctx context.Context, keys []string) (all []*replica, err error) {
	for _, key := range keys {
		k.mu.Lock()
		r := k.replica(key)
		r.users++
		k.mu.Unlock()
		select {
		case r.turn <- struct{}{}:
			all = append(all, r)
		case <-ctx.Done():
			k.unuse(r)
			return all, ctx.Err()
		}
	}
	return all, nil
}

func (k *Clocks) leave(all []*replica) {
	for _, r := range all {
		<-r.turn
		k.unuse(r)
	}
}

func (k *Clocks) unuse(r *replica) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r.users--
}

// read reads a clock from the engine, unless the local copy is younger than age.
func (k *Clocks) read(ctx context.Context, key string, r *replica, age time.Duration) error {
	if !r.at.IsZero() && time.Since(r.at) < age {
		return nil
	}
	now := time.Now()
	b, rev, err := k.store.LoadClock(ctx, key)
	if err != nil {
		return err
	}
	r.is, r.rev, r.at = clock{}, rev, now
	if len(b) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, &r.is); err != nil {
		return fmt.Errorf("cluster: the clock %s: %w", key, err)
	}
	return nil
}

// asOf returns the state of a clock at a time, with the queued changes applied, and the number of these changes.
func (k *Clocks) asOf(r *replica, now int64) (*clock, int) {
	c := r.is.clone()
	c.host = r.host
	c.settle(now)
	if h := c.Held; h != nil && k.gone != "" && h.Process == k.gone {
		end := k.remote(k.since)
		c.done(h.Turn, h.claimant, end, end+int64(h.Rest))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range r.due {
		f(c)
	}
	return c, len(r.due)
}

// tries is the maximum number of attempts to change a clock that others change at the same time.
const tries = 10

// change stores the queued changes of a clock, and the change by f if f returns true. The caller must hold r.turn.
func (k *Clocks) change(ctx context.Context, key string, r *replica, f func(c *clock, now int64) bool) error {
	for range tries {
		if err := k.read(ctx, key, r, k.hold); err != nil {
			return err
		}
		now := k.early()
		c, due := k.asOf(r, now)
		if !f(c, now) && due == 0 {
			return nil
		}
		rev, err := k.store.StoreClock(ctx, key, c.encode(), r.rev, c.life(now))
		switch {
		case err == nil:
			r.is, r.rev, r.at = *c, rev, time.Now()
			k.mu.Lock()
			r.due = r.due[due:]
			k.mu.Unlock()
			return nil
		case !errors.Is(err, ErrConflict):
			r.at = time.Time{}
			return err
		}
		r.at = time.Time{}
	}
	return ErrConflict
}

// failed returns the error of a turn after an engine call that failed or met a conflict: the turn can be tried again soon.
func (k *Clocks) failed(err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if errors.Is(err, ErrConflict) {
		return notYet(time.Now().Add(retry), ledger.ClauseBusy)
	}
	if k.ctx.Err() == nil {
		k.why, k.looked = err, time.Time{}
	}
	return notYet(time.Now().Add(retry), ledger.ClauseEngine)
}

// lookEvery is the interval at which the engine is asked whether it has lost the clocks.
const lookEvery = time.Second

// look compares the local time with the engine's, and finds out whether the engine has lost the clocks: then nothing is requested until all
// requests that held a lost clock must have ended. The error is a *politeness.NotYet.
func (k *Clocks) look(ctx context.Context) error {
	k.mu.Lock()
	fresh := !k.looked.IsZero() && time.Since(k.looked) < lookEvery
	k.mu.Unlock()
	if !fresh {
		select {
		case k.looks <- struct{}{}:
		case <-ctx.Done():
			return k.failed(ctx.Err())
		}
		err := k.ask(ctx)
		<-k.looks
		if err != nil {
			return k.failed(err)
		}
	}
	k.mu.Lock()
	opens := k.opens
	k.mu.Unlock()
	if at := k.local(opens.UnixNano()); !opens.IsZero() && at.After(time.Now()) {
		return notYet(at, ledger.ClauseEngine)
	}
	return nil
}

func (k *Clocks) ask(ctx context.Context) error {
	k.mu.Lock()
	fresh := !k.looked.IsZero() && time.Since(k.looked) < lookEvery
	k.mu.Unlock()
	if fresh {
		return nil
	}
	offset := *k.offset.Load()
	if offset.At.IsZero() || time.Since(offset.At) >= skewEvery || stepped(offset.At) {
		var err error
		if offset, err = measure(ctx, k.store); err != nil {
			return err
		}
	}
	era, since, err := k.store.Era(ctx)
	if err != nil {
		return err
	}
	k.offset.Store(&offset)
	k.mu.Lock()
	k.looked = time.Now()
	if k.why != nil {
		k.why, k.back = nil, k.looked
	}
	lost := map[string]rest{}
	if k.era != 0 && k.era != era {
		lost = k.rests
	}
	k.era, k.opens = era, time.Time{}
	if !since.IsZero() {
		k.opens = since.Add(maxHold)
	}
	k.mu.Unlock()
	for key, r := range lost {
		k.push(key, func(c *clock) { c.done("", r.by, 0, r.until) }) //nolint:contextcheck // it outlives ctx
	}
	return nil
}

// stepped reports whether, since the time at, the wall clock was set or the machine was asleep.
func stepped(at time.Time) bool {
	now := time.Now()
	d := now.Sub(at) - now.Round(0).Sub(at.Round(0))
	return max(d, -d) > 10*time.Millisecond
}

// early returns the lower bound of the engine's present time. A time before it has certainly passed.
func (k *Clocks) early() int64 {
	o := k.offset.Load()
	return time.Now().Add(-o.Ahead - o.Error).UnixNano()
}

// grace returns the time for which a free clock is reserved for the next gate in the queue, so that the gate has time to ask the engine.
func (k *Clocks) grace() time.Duration { return 10*time.Millisecond + 8*k.offset.Load().Error }

// late returns the upper bound of the engine's present time.
func (k *Clocks) late() int64 { return k.remote(time.Now()) }

// remote returns the upper bound of t on the engine's clock; 0 for the zero time.
func (k *Clocks) remote(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	o := k.offset.Load()
	return t.Add(o.Error - o.Ahead).UnixNano()
}

// local returns the upper bound of an engine time on this machine's clock.
func (k *Clocks) local(at int64) time.Time {
	o := k.offset.Load()
	return time.Unix(0, at).Add(o.Ahead + o.Error)
}

func notYet(until time.Time, clause string) error {
	return &politeness.NotYet{Until: until, Clauses: []ledger.Clause{{Name: clause, Until: until}}}
}
