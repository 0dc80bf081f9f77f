package crawler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

var (
	errKilled = errors.New("the process was killed")
	errDisk   = errors.New("no space left on device")
)

// ending is the way a Run is stopped, and how the crawl continues.
type ending int

const (
	none     ending = iota
	pause           // cancelled; the same process continues
	drain           // drained; the same process continues
	leave           // cancelled; another process continues from a snapshot of its last state
	kill            // another process continues, from an old snapshot and the ledger
	killRace        // kill, soon after a rare event
)

// moment is the event that a killRace waits for.
type moment int

const (
	never    moment = iota
	whenEnds        // the end of a request is written to the ledger; a snapshot is taken at that instant
	whenHops        // a request for a redirected robots.txt begins; a snapshot is taken
	whenLate        // an expired Permit is reported
	whenRest        // a Permit is held before its use; a snapshot is taken
)

// span is the time during which a process ran.
type span struct {
	from, to time.Time
	full     bool // the disk was full
}

// counted selects the lines that count until a disk is full.
type counted int

const (
	anyLine   counted = iota
	robotsEnd         // end of a robots.txt request with a response
	good              // successful response of a host that failed before
)

// process is one process of a crawl.
type process struct {
	*sim
	crawler *crawler.Crawler
	fetcher *careless
	began   time.Time
	ctx     context.Context // ends with the process
	end     context.CancelFunc
	wg      sync.WaitGroup

	mu    sync.Mutex
	dead  bool // the process is ending, and its effects are ignored
	armed moment
	after *time.Timer       // timer of the planned end
	fail  int               // number of lines until the disk is full; 0: never
	which counted           // which lines count towards fail
	asked map[uint64]string // host of each request
	full  bool              // the disk became full
	known []promise
	late  string    // host whose Permit was just reported late
	rests time.Time // end of the pause of that host
}

// start creates a process from what the previous one left on its disk.
func (s *sim) start() *process {
	s.t.Helper()
	p := &process{sim: s, began: time.Now()}
	p.ctx, p.end = context.WithCancel(s.t.Context())
	if s.Full && s.rng.IntN(2) == 0 {
		p.fail, p.which, p.asked = 1+s.rng.IntN(60), counted(s.rng.IntN(3)), map[uint64]string{}
		if p.which != anyLine {
			p.fail = 1 + s.rng.IntN(4)
		}
	}
	c := s.config
	f, err := fetcher.New(c.Fetch)
	if err != nil {
		s.t.Fatal(err)
	}
	p.fetcher = &careless{Fetcher: f, process: p}
	c.Fetcher = p.fetcher
	c.Politeness.Ledger, c.Politeness.LedgerSize = p, s.disk.open()
	c.Politeness.Snapshot = s.disk.snapshot
	c.Politeness.Shared = politeness.NewHosts(politeness.HostsLimits{}) // as in a new process
	if p.crawler, err = crawler.New(c); err != nil {
		s.t.Fatal(err)
	}
	return p
}

// replay reads the ledger lines after the process's snapshot.
func (p *process) replay() {
	p.t.Helper()
	if err := p.crawler.Gate().Replay(p.disk.reader(), p.disk.body); err != nil {
		p.t.Fatal(err)
	}
}

// close ends the process.
func (p *process) close() {
	p.end()
	p.wg.Wait()
	p.fetcher.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	p.ran = append(p.ran, span{p.began, time.Now(), p.full})
}

// run crawls to the end.
func (s *sim) run() {
	p := s.start()
	defer func() { p.close() }()
	for {
		how, err := p.crawl()
		switch {
		case errors.Is(err, errDisk):
			how = leave
		case err != nil && how == none:
			s.t.Fatal(err)
		case how == none:
			return
		}
		s.restarts++
		if s.restarts > 100 {
			s.t.Fatal("no end")
		}
		if how >= leave {
			p = s.next(p, how)
		}
	}
}

// crawl runs the crawler once, possibly until the Run is stopped.
func (p *process) crawl() (ending, error) {
	ctx, cancel := context.WithCancelCause(p.ctx)
	defer cancel(nil)
	how, callOff := none, func() {}
	if p.restarts < p.left {
		how = []ending{pause, drain, leave, leave, kill, kill, kill, killRace}[p.rng.IntN(8)]
		callOff = p.plan(how, cancel)
	}
	from := time.Now()
	rep, err := p.crawler.Run(ctx, p.web.Seeds()...)
	p.runs = append(p.runs, span{from: from, to: time.Now()})
	callOff()
	switch {
	case rep == nil:
		p.t.Fatal(err)
	case errors.Is(err, errStopped), errors.Is(err, errKilled):
		return how, nil
	case errors.Is(err, errDisk):
		return how, err
	case rep.Finish == crawler.FinishUnreachable: // the Run gave up early; the crawl resumes
		return max(how, pause), nil
	case err == nil && rep.Finish == crawler.FinishDone:
		return none, nil
	case err == nil && rep.Finish == crawler.FinishDrained && how == drain:
		return how, nil
	}
	last := ""
	for rs := p.w.Requests(); len(last) < 300 && len(rs) > 0; rs = rs[:len(rs)-1] {
		r := rs[len(rs)-1]
		last += fmt.Sprintf("; %v %s %d", r.Start.Sub(p.w.Start()), r.URL, r.Status)
	}
	return none, fmt.Errorf("ended for %s: %w%s", rep.Finish, err, last)
}

var errStopped = errors.New("stopped")

// plan schedules the end of a Run, and returns a function that cancels it.
func (p *process) plan(how ending, cancel context.CancelCauseFunc) func() {
	at := time.Duration(p.rng.Int64N(int64(30 * time.Second))) // at an instant without other events
	if p.rng.IntN(4) == 0 {
		at *= 10
	}
	var timers []*time.Timer
	after := func(d time.Duration, f func()) { timers = append(timers, time.AfterFunc(d, f)) }
	p.front.forget(time.Now().Add(at + time.Millisecond))
	old := time.Duration(p.rng.Int64N(int64(at) + 1))
	after(old, func() { p.save(p.crawler.Gate().Snapshot()) })
	if p.Idle && p.crowds < 2 {
		p.crowds++
		after(time.Duration(p.rng.Int64N(int64(at)+1)), p.crowd)
	}
	if how == killRace {
		p.arm(time.Duration(p.rng.Int64N(int64(at)+1)), after)
	}
	end := func() {
		switch how {
		case drain:
			p.crawler.Drain()
			return
		case kill, killRace:
			known := p.promises()
			p.mu.Lock()
			if !p.dead { // later actions of the dead process are not recorded
				p.dead, p.known = !p.full, known // only the snapshot has what the full disk rejected
			}
			p.mu.Unlock()
		}
		cancel(errStopped)
	}
	p.after = time.AfterFunc(at, end)
	timers = append(timers, p.after)
	return func() {
		for _, t := range timers {
			t.Stop()
		}
		p.front.forget(time.Time{})
	}
}

// arm schedules a kill soon after a rare event later than from.
func (p *process) arm(from time.Duration, after func(time.Duration, func())) {
	m := []moment{whenEnds, whenHops, whenLate, whenRest}[p.rng.IntN(4)]
	if m == whenHops {
		from = 0 // requests for robots.txt come first
	}
	after(from, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.armed = m
	})
}

// killSoon schedules a kill, if that is planned for this event.
func (p *process) killSoon(m moment, host string) {
	rests := p.crawler.Gate().Host(host).NotBefore
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dead { // reports of the dead process are not recorded
		p.late, p.rests = host, rests
	}
	if p.armed == m {
		p.armed = never
		d := time.Millisecond
		if m == whenRest {
			d = time.Duration(1+p.rng.IntN(300)) * time.Millisecond
		}
		if m == whenHops { // perhaps after the request has ended
			d = time.Duration(1+p.rng.IntN(3000)) * time.Millisecond
		}
		p.after.Reset(d)
		p.front.forget(time.Now().Add(d + time.Millisecond))
	}
}

// saveSoon takes a snapshot, if that is planned.
func (p *process) saveSoon() {
	p.mu.Lock()
	soon := p.armed == whenRest
	p.mu.Unlock()
	if soon {
		p.save(p.crawler.Gate().Snapshot())
	}
}

func (p *process) save(snapshot []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dead {
		p.disk.snapshot = snapshot
	}
}

// next returns the process that resumes the crawl.
func (s *sim) next(p *process, how ending) *process {
	s.t.Helper()
	p.mu.Lock()
	dead := p.dead
	p.mu.Unlock()
	if !dead {
		p.save(p.crawler.Gate().Snapshot())
		known := p.promises()
		p.mu.Lock()
		p.known = known
		p.mu.Unlock()
	}
	p.close()
	s.disk.tear(dead)
	if how >= kill {
		time.Sleep(time.Duration(s.rng.IntN(3)*s.rng.IntN(3000)) * time.Millisecond)
	}
	if left := time.Until(s.w.Start().Add(31 * 24 * time.Hour)); s.Month && dead && left > 0 {
		time.Sleep(left)
	}
	p.mu.Lock() // a kill may happen while the Run ends by itself
	known, late, rests := p.known, p.late, p.rests
	p.mu.Unlock()
	p = s.start()
	if dead || s.rng.IntN(2) == 0 {
		p.replay()
	}
	p.keeps(known, late, rests)
	return p
}

// Write appends a line to the ledger.
func (p *process) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return 0, errKilled
	}
	if p.fail > 0 && p.counts(line) {
		if p.fail--; p.fail == 0 {
			p.full = true
			return p.disk.part(line, p.rng.IntN(2)*p.rng.IntN(len(line))), errDisk
		}
	}
	n, err := p.disk.Write(line)
	if p.armed == whenEnds && isEnd(line) || p.armed == whenHops && isHop(line) {
		m := p.armed
		p.raceSnapshot()
		p.wg.Go(func() { p.killSoon(m, "") })
	}
	return n, err
}

func isEnd(line []byte) bool { return bytes.HasPrefix(line, []byte(`{"event":"end"`)) }

// isHop reports whether a line is the start of a request for a robots.txt after a redirect.
func isHop(line []byte) bool {
	return bytes.HasPrefix(line, []byte(`{"event":"start"`)) && bytes.Contains(line, []byte(`"purpose":"robots"`)) &&
		!bytes.Contains(line, []byte(`/robots.txt","for":`))
}

// counts reports whether a line counts towards fail.
func (p *process) counts(line []byte) bool {
	var e ledger.Entry
	if p.which == anyLine || json.Unmarshal(line, &e) != nil {
		return p.which == anyLine
	}
	if e.Event == "start" {
		p.asked[e.ID] = e.Host
	}
	return isEnd(line) && e.Status == 200 && (p.which == robotsEnd && e.SHA256 != "" ||
		p.which == good && p.crawler.Gate().Host(p.asked[e.ID]).Backoff > 0)
}

// raceSnapshot takes a snapshot while a line is being written, and kills the process soon after.
func (p *process) raceSnapshot() {
	begun := make(chan struct{})
	p.wg.Go(func() {
		close(begun)
		p.save(p.crawler.Gate().Snapshot())
	})
	<-begun
	for range 100 {
		runtime.Gosched()
	}
}

// crowd passes so many hosts to the Gate that the Gate forgets all hosts that it may forget.
func (p *process) crowd() {
	for _, u := range strangers() {
		p.crawler.Gate().Next(u)
	}
}

// strangers are URLs of more hosts than a Gate keeps before it forgets some.
var strangers = sync.OnceValue(func() []weburl.URL {
	us := make([]weburl.URL, 1<<17+1<<10)
	for i := range us {
		u, err := weburl.Parse(fmt.Sprintf("http://n%d.example/", i))
		if err != nil {
			panic(err)
		}
		us[i] = u
	}
	return us
})

// promise holds what a Gate knows about a host, including what delays or prevents requests to the host.
type promise struct {
	host string
	politeness.HostInfo
}

// promises returns what the process's Gate knows about each host.
func (p *process) promises() (all []promise) {
	for _, h := range p.web.Hosts() {
		all = append(all, promise{h.Host, p.crawler.Gate().Host(h.Host)})
	}
	return all
}

// keeps checks that the process keeps the waits of the previous one (P9). The pause after an unused, revoked Permit is
// not in the ledger, because nothing was sent, unless its holder reports it late. A robots.txt that the previous process
// dropped to free memory comes back in the replay, and pages follow that copy instead of waiting for the end of an outage.
func (p *process) keeps(before []promise, late string, rests time.Time) {
	p.t.Helper()
	for _, was := range before {
		is := p.crawler.Gate().Host(was.host)
		wrong := func(what string, is, was any) {
			p.t.Helper()
			p.t.Errorf("P9 %s after a restart at %v: %v, it was %v", what, time.Since(p.w.Start()), is, was)
		}
		due := was.NotBefore
		if p.Careless && rests.Before(due) {
			due = rests // another Permit was revoked since then
		}
		copied := p.Tight && was.Waits == ledger.ClauseRobots && p.hasRobots(was.host)
		if !copied && p.slots(was.host) < 2 && (!p.Careless || was.host == late) && due.After(time.Now()) && is.NotBefore.Before(due) {
			wrong(was.host+" may be asked", is.NotBefore, was.NotBefore)
		}
		if is.Backoff < was.Backoff {
			wrong(was.host+" has the back-off", is.Backoff, was.Backoff)
		}
		if is.GivenUp != was.GivenUp {
			wrong(was.host+" was given up", is.GivenUp, was.GivenUp)
		}
		// A host that was idle for long may be forgotten; its address is looked up again before its next request.
		forgotten := is.Entry == "" && was.Clause == ledger.ClauseHostDelay
		if is.GivenUp == "" && is.Delay < was.Delay && !forgotten {
			wrong(was.host+" has the delay", is.Delay, was.Delay)
		}
	}
}

// hasRobots reports whether the process has a copy of the robots.txt of an origin of host.
func (p *process) hasRobots(host string) bool {
	return slices.ContainsFunc([]string{"http://", "https://"}, func(scheme string) bool {
		u, err := weburl.Parse(scheme + host + "/")
		return err == nil && p.crawler.Gate().Origin(u).Known
	})
}
