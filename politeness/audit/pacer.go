package audit

import (
	"cmp"
	"slices"
	"time"
)

// Pacer checks the requests of a ledger one after another, while it is read or written, in bounded memory. It checks that
// each request was allowed when it began, that the pause before it was kept, and that the pauses requested by the host were kept
// (P3 to P7, P10 and P12, and P8 as far as it is about pauses). [Check] does the same with a whole ledger, and checks
// everything else, too. A Pacer must not be used concurrently.
type Pacer struct {
	auditor
	clocks   map[string]*clock       // keyed by host:port
	shared   map[string]*sharedClock // keyed by address or domain
	open     map[key]*request        // requests without an end so far
	read     reading                 // state for the times of each process
	run      latestRun               // the process that wrote the last line
	line     int                     // line number in the ledger, from 1
	latest   time.Time               // the latest time in all lines
	swept    int                     // number of clocks left by the last removal of idle clocks
	spare    []*request              // requests to reuse
	common   Line                    // the current line, with times by the common clock
	unjudged int
}

// maxClocks limits the hosts that a Pacer remembers. It forgets hosts at which no pause can be due any more.
const maxClocks = 50_000

// maxLed limits the redirects to one host that a Pacer remembers. It keeps the last redirects.
const maxLed = 16

// Pause is the time between the end of a request and the start of the next to the same host.
type Pause struct {
	Observed time.Duration
	Due      time.Duration // the required pause, without Retry-After, which sets a time and not a pause
}

// latestRun caches the state of the process that wrote the last line.
type latestRun struct {
	name  string
	last  time.Time // time of the process's last line
	epoch int
}

// clock holds the state of a host.
type clock struct {
	hostClock
	origins map[string]*origin // states of the robots.txt files
	paced   bool               // a robots.txt of the host has requested a delay
	open    int                // number of requests without an end
	addr    string             // address of the last request, as written
	plain   string             // canonical form of addr
}

// sharedClock holds the last request to an address or a domain and one in flight, to check requests
// to other hosts against.
type sharedClock struct{ last, open *request }

// NewPacer returns a Pacer. Without body, the pauses that robots.txt requests are not checked.
func NewPacer(c Config, body Body) *Pacer {
	return &Pacer{
		auditor: auditor{config: c, processes: processesOf(&c), body: body, files: map[string]*file{}, changed: map[string]bool{}, rep: &Report{}},
		clocks:  map[string]*clock{}, shared: map[string]*sharedClock{}, open: map[key]*request{},
		read: reading{last: map[string]time.Time{}, epoch: map[string]int{}},
	}
}

// Unjudged returns how many requests could not be checked because there were too many hosts.
func (p *Pacer) Unjudged() int { return p.unjudged }

// Add checks the next line of the ledger. paused reports whether it begins a request after which a pause was due.
// violations holds the violations found with this line, valid until the next call.
func (p *Pacer) Add(l *Line) (pause Pause, paused bool, violations []Violation) {
	p.line++
	p.rep.Violations = p.rep.Violations[:0]
	if l.Event == "head" {
		return Pause{}, false, nil
	}
	l = p.processes.common(l, &p.common)
	p.wrote(l)
	switch k := (key{l.Run, l.ID}); l.Event {
	case "start":
		pause, paused = p.begin(k, l)
	case "end":
		p.end(k, l)
	case "copied":
		p.ended(&request{line: p.line, last: p.line, run: l.Run, epoch: p.run.epoch, start: l.StartLine, end: new(l.EndLine), copied: true})
	case "unsent":
		if l.Purpose == "robots" && l.Error != "" && !l.Aborted {
			p.ended(&request{line: p.line, last: p.line, run: l.Run, epoch: p.run.epoch, start: l.StartLine, end: new(l.EndLine)})
		}
	}
	return pause, paused, p.rep.Violations
}

// wrote records the time at which a line was written.
func (p *Pacer) wrote(l *Line) {
	at := timeOf(l)
	if l.Run != p.run.name || p.run.name == "" {
		if p.run.name != "" {
			p.read.last[p.run.name] = p.run.last
		}
		if _, known := p.read.last[l.Run]; !known && l.Behind == 0 && at.Before(p.latest) {
			p.read.steps, p.read.late = append(p.read.steps, step{}), at // times before and after a clock set back cannot be compared
		}
		p.read.wrote(p.line, l.Run, l)
		p.run = latestRun{l.Run, p.read.last[l.Run], p.read.epoch[l.Run]}
	}
	if at.After(p.run.last) {
		p.run.last = at
	}
	if at.After(p.read.late) {
		p.read.late = at
	}
	p.latest = p.read.late
}

// last returns the time of the last line of a process.
func (p *Pacer) last(run string) time.Time {
	if run == p.run.name {
		return p.run.last
	}
	return p.read.last[run]
}

// begin checks a request that begins.
func (p *Pacer) begin(k key, l *Line) (Pause, bool) {
	c := p.clock(l.Host)
	if c == nil || len(p.open) >= maxClocks {
		p.unjudged++
		return Pause{}, false
	}
	r := p.request()
	*r = request{line: p.line, run: l.Run, id: l.ID, epoch: p.run.epoch, start: l.StartLine}
	if c.addr != r.start.Addr || c.plain == "" {
		c.addr, c.plain = r.start.Addr, plainAddr(r.start.Addr)
	}
	r.clock, r.start.Addr, r.start.Clauses = c, c.plain, nil
	if old := p.open[k]; old != nil {
		p.violation("P10", r, nil, "permit %s is used twice", r.run)
	}
	p.open[k] = r
	p.settle(c, r)
	r.before = p.requested(r)
	p.entry(r, l)
	p.handover(r)
	own := p.config.OwnHosts[r.start.Host]
	pause, paused := p.begins(&c.hostClock, r, own)
	c.open++
	if r.start.Purpose == "robots" {
		if o := p.origin(r.wanted()); o != nil {
			if b := o.asked; b != nil && b.end == nil && b.run != r.run {
				o.times = 0 // unknown, because the other process may have received a response
			}
			o.asked = r
			r.end = &EndLine{} // method again needs an end, and none has been read yet
			p.again(o, r)
			r.end = nil
		}
	}
	if own == 0 && r.start.Addr != "" {
		p.share(r.start.Addr, r)
	}
	if own == 0 && p.config.PerDomain && r.start.Domain != "" {
		p.share(domainKey(r), r)
	}
	return pause, paused
}

// entry checks the line of a request without regard to other lines.
func (p *Pacer) entry(r *request, l *Line) {
	r.start.Clauses = l.Clauses
	p.admission([]*request{r})
	p.purpose(r)
	r.start.Clauses = nil // do not keep l.Clauses, which belongs to the caller
}

// settle treats earlier requests to a host by other processes as having no end, since another process requests the
// host now.
func (p *Pacer) settle(c *clock, r *request) {
	if c.open == 0 {
		return
	}
	for _, b := range c.flying {
		if b.end == nil && b.run != r.run && !b.settled {
			b.alive, b.settled = p.last(b.run), true
			c.open--
			p.over(&c.hostClock, b)
		}
	}
}

// end records the end of a request.
func (p *Pacer) end(k key, l *Line) {
	r := p.open[k]
	if r == nil {
		return
	}
	delete(p.open, k)
	r.close(&l.EndLine, p.line)
	end := r.end
	p.processes.close(r)
	if !r.alive.IsZero() && end.Ended.After(r.alive.Add(Tolerance)) {
		p.violation("P12", r, nil, "two processes hold the host at once")
		return
	}
	if end.Ended.Before(r.start.Written.Add(-Tolerance)) {
		p.violation("P10", r, nil, "ended at %s, before it was written", stamp(end.Ended))
	}
	p.ended(r)
}

// ended records the effects of a response and, if the request was sent, its end.
func (p *Pacer) ended(r *request) {
	if r.start.Purpose == "robots" {
		p.learned(r)
	}
	c := r.clock
	if c == nil {
		return
	}
	r.after = p.requested(r)
	c.open--
	if host, l := p.leads(r); host != "" {
		if to := p.clock(host); to != nil {
			to.led = append(to.led[max(0, len(to.led)-maxLed):], l)
		}
	}
	before := c.last
	p.over(&c.hostClock, r)
	p.leave(r.start.Addr, r)
	if p.config.PerDomain {
		p.leave(domainKey(r), r)
	}
	if before != nil && !p.needed(c, before) {
		p.spare = append(p.spare, before)
	}
}

// request returns an empty request, reusing an old one if possible.
func (p *Pacer) request() *request {
	n := len(p.spare)
	if n == 0 {
		return new(request)
	}
	r := p.spare[n-1]
	p.spare = p.spare[:n-1]
	return r
}

// needed reports whether a later request to a host may still be compared with r, the last one so far.
func (p *Pacer) needed(c *clock, r *request) bool {
	return r == c.last || r.end == nil || r.start.Purpose == "robots" || r == c.requested.last || r == c.requested.longest || r == c.walls.last || slices.Contains(c.flying, r) ||
		p.shared[r.start.Addr].has(r) || p.config.PerDomain && p.shared[domainKey(r)].has(r)
}

func (s *sharedClock) has(r *request) bool { return s != nil && (s.last == r || s.open == r) }

// learned records the response to a request for a robots.txt.
func (p *Pacer) learned(r *request) {
	o := p.origin(r.wanted())
	if o == nil {
		return
	}
	before := o.file
	if r.copied {
		p.copied(o, r)
	} else {
		p.answer(o, r)
	}
	if delete(p.files, r.end.SHA256); o.file != before {
		o.file = o.file.paused()
	}
	if o.file != nil {
		p.clock(hostOf(r.wanted())).paced = true
	}
}

// leave records that a request to the address or domain called name is over.
func (p *Pacer) leave(name string, r *request) {
	if s := p.shared[name]; s != nil && s.open == r {
		s.last, s.open = later(s.last, r), nil
	}
}

func domainKey(r *request) string { return "domain " + r.start.Domain }

// paused returns the file without its rules, or nil if it requests no pause.
func (f *file) paused() *file {
	if f == nil || f.binding.pause == 0 {
		return nil
	}
	return &file{binding: section{pause: f.binding.pause}}
}

// share checks a request against requests to other hosts at its address, or of its domain.
func (p *Pacer) share(name string, r *request) {
	s := p.shared[name]
	if s == nil {
		s = &sharedClock{}
		p.shared[name] = s
	}
	if s.open != nil {
		s.open.alive = p.last(s.open.run)
		s.last, s.open = later(s.last, s.open), nil
	}
	if s.last != nil && s.last.epoch != r.epoch {
		s.last = nil
	}
	p.after(name, s.last, r)
	s.open = r
}

// origin returns the state of the robots.txt of a URL's origin; nil if there are too many hosts.
func (p *Pacer) origin(url string) *origin {
	c := p.clock(hostOf(url))
	if c == nil {
		return nil
	}
	name := originOf(url)
	if c.origins[name] == nil {
		if c.origins == nil {
			c.origins = map[string]*origin{}
		}
		c.origins[name] = &origin{}
	}
	return c.origins[name]
}

// requested returns the pause that the robots.txt of a request's origin requests.
func (p *Pacer) requested(r *request) time.Duration {
	c := r.clock
	if c == nil || !c.paced || r.start.Override != "" || !p.auditor.plain() {
		return 0
	}
	if o := c.origins[originOf(r.start.URL)]; o != nil && o.file != nil {
		return o.file.binding.pause
	}
	return 0
}

// clock returns a host's clock, nil if there are too many.
func (p *Pacer) clock(host string) *clock {
	c := p.clocks[host]
	if c != nil {
		return c
	}
	if len(p.clocks) >= maxClocks && len(p.clocks) > p.swept {
		p.sweep()
	}
	if len(p.clocks) >= maxClocks {
		return nil
	}
	c = &clock{}
	p.clocks[host] = c
	return c
}

// sweep removes clocks that cannot show a request as too early any more.
func (p *Pacer) sweep() {
	for host, c := range p.clocks {
		if c.open == 0 && p.free(c.last) && !c.requested.until.After(p.latest) && c.requested.longest == nil && len(c.led) == 0 && c.quiet() {
			delete(p.clocks, host)
		}
	}
	for name, s := range p.shared {
		if s.open == nil && p.free(s.last) {
			delete(p.shared, name)
		}
	}
	p.swept = max(len(p.clocks), maxClocks-1)
}

// quiet reports whether no robots.txt of the host requests a pause, and none has failed.
func (c *clock) quiet() bool {
	for _, o := range c.origins {
		if o.file != nil || o.times > 0 {
			return false
		}
	}
	return true
}

// free reports whether no pause can be due any more after a request.
func (p *Pacer) free(last *request) bool {
	c := &p.config
	return last == nil || p.latest.Sub(last.over()) > max(c.delay(&last.start), secs(cmp.Or(c.MaxDelay, 3600)), secs(cmp.Or(c.MaxBackoff, 3600)), last.after)
}
