package audit

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// line is one line of the ledger, a start or an end, as far as a check needs it.
type line struct {
	Event string `json:"event"`
	Run   string `json:"run"`
	ID    uint64 `json:"id"`
	startLine
	endLine
}

type startLine struct {
	URL      string    `json:"url"`
	For      string    `json:"for"`
	Host     string    `json:"host"`
	Domain   string    `json:"domain"`
	Addr     string    `json:"addr"`
	Purpose  string    `json:"purpose"`
	Agent    string    `json:"agent"`
	Override string    `json:"override"`
	Behind   float64   `json:"behind"` // seconds by which its process's clock is behind the lines before, by its own word
	Allowed  time.Time `json:"allowed"`
	Written  time.Time `json:"written"`
	Clauses  []struct {
		Clause string    `json:"clause"`
		Until  time.Time `json:"until"`
	} `json:"clauses"`
}

type endLine struct {
	Ended      time.Time `json:"ended"`
	Reported   time.Time `json:"reported"`
	Expires    time.Time `json:"expires"`
	Aborted    bool      `json:"aborted"`
	Status     int       `json:"status"`
	Error      string    `json:"error"`
	RetryAfter string    `json:"retry_after"`
	Date       string    `json:"date"`
	Location   string    `json:"location"`
	SHA256     string    `json:"sha256"`
	Truncated  string    `json:"truncated"`
	Through    uint64    `json:"through"` // up to this ID, each permit has a line before
}

// request is a start line with its end line.
type request struct {
	line  int // of its start
	last  int // of its end
	run   string
	epoch int // its times can be compared with those of the same epoch alone
	start startLine
	end   *endLine // nil when the process ended first

	before, after time.Duration // the pause its host's robots.txt asked for at its start and its end
	alive         time.Time     // without an end: when its process wrote its last line
}

// over is when the request was over, as late as the ledger proves: one without an end was not before its
// process wrote its last line.
func (r *request) over() time.Time {
	if r.end == nil {
		return r.alive
	}
	return r.end.Ended
}

type ledger struct {
	requests []*request // by epoch and the time they were written
	repeated []*request // started or ended twice
	unsent   []*request // attempts at a robots.txt that failed before a byte left
	torn     bool       // the last line is not whole
	runs     int
	steps    []step // where epochs begin
	permits  []permit
	through  map[string]mark // of runs
}

// permit is one that has a line.
type permit struct {
	run  string
	id   uint64
	line int
}

// mark is the last word of a run on how far it is complete.
type mark struct {
	id   uint64
	line int
}

// step is a process whose clock is behind that of the one before.
type step struct {
	line   int
	behind time.Duration
}

// reading is a ledger while it is read.
type reading struct {
	ledger
	line  line // being read
	open  map[key]*request
	names map[string]string    // each text once, however often it occurs
	last  map[string]time.Time // of runs, when they wrote a line last
	epoch map[string]int       // of runs
	late  time.Time            // the latest time of this epoch
}

type key struct {
	run string
	id  uint64
}

// read reads a ledger. A last line without its end is what a kill leaves and no error; any other
// line that is no entry is one.
func read(r io.Reader) (*ledger, error) {
	l := &reading{open: map[key]*request{}, names: map[string]string{}, last: map[string]time.Time{}, epoch: map[string]int{}}
	l.through = map[string]mark{}
	br := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		b, err := br.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			l.torn = len(b) > 0
			break
		}
		if err != nil {
			return nil, fmt.Errorf("audit: ledger: %w", err)
		}
		if err := l.add(n, b); err != nil {
			return nil, fmt.Errorf("audit: ledger line %d: %w", n, err)
		}
	}
	l.runs = len(l.last)
	for _, r := range l.requests {
		r.alive = l.last[r.run]
	}
	slices.SortStableFunc(l.requests, func(a, b *request) int {
		return cmp.Or(a.epoch-b.epoch, a.start.Written.Compare(b.start.Written))
	})
	return &l.ledger, nil
}

func (l *reading) add(n int, b []byte) error {
	l.line = line{}
	e := &l.line
	if err := json.Unmarshal(b, e); err != nil {
		return err
	}
	k := key{l.name(e.Run), e.ID}
	l.wrote(n, k.run, e)
	l.number(n, k, e)
	r := l.open[k]
	switch {
	case e.Event == "unsent": // nothing was on the wire
		if e.Purpose == "robots" && e.Error != "" && !e.Aborted {
			l.unsent = append(l.unsent, &request{line: n, last: n, run: k.run, epoch: l.epoch[k.run], start: e.startLine, end: new(e.endLine)})
		}
	case e.Event == "start":
		s := &e.startLine
		s.Host, s.Domain, s.Addr = l.name(s.Host), l.name(s.Domain), l.name(plainAddr(s.Addr))
		s.Purpose, s.Agent, s.Override = l.name(s.Purpose), l.name(s.Agent), l.name(s.Override)
		again := r != nil
		r = &request{line: n, run: k.run, epoch: l.epoch[k.run], start: *s}
		l.open[k] = r
		l.requests = append(l.requests, r)
		if again {
			l.repeated = append(l.repeated, r)
		}
	case e.Event == "end" && r != nil:
		if r.end != nil {
			l.repeated = append(l.repeated, r)
			return nil
		}
		end := e.endLine
		r.end, r.last = &end, n
	default:
		return errors.New("neither a start nor the end of one")
	}
	return nil
}

// number notes which permits have a line, and how far the run says that all have.
func (l *reading) number(n int, k key, e *line) {
	if e.Event != "end" && e.ID > 0 {
		l.permits = append(l.permits, permit{k.run, k.id, n})
	}
	if e.Through > l.through[k.run].id {
		l.through[k.run] = mark{e.Through, n}
	}
}

// gaps are the places at which permits have no line, up to which their run says that all have.
func (l *ledger) gaps() (all []gap) {
	slices.SortFunc(l.permits, func(a, b permit) int {
		return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.id, b.id))
	})
	next := map[string]uint64{} // ID to come, less one
	for _, p := range l.permits {
		m := l.through[p.run]
		if before := next[p.run]; p.id > before+1 && before < m.id {
			all = append(all, gap{p.run, before + 1, min(p.id-1, m.id), p.line})
		}
		next[p.run] = max(next[p.run], p.id)
	}
	for run, m := range l.through {
		if next[run] < m.id {
			all = append(all, gap{run, next[run] + 1, m.id, m.line})
		}
	}
	return all
}

// gap is permits from one to another that have no line, which is known by the line given.
type gap struct {
	run      string
	from, to uint64
	line     int
}

// wrote notes when a line was written.
func (l *reading) wrote(n int, run string, e *line) {
	last, known := l.last[run]
	var at time.Time
	for _, t := range [...]time.Time{e.Written, e.Ended, e.Reported} {
		if t.After(at) {
			at = t
		}
	}
	if !known {
		l.begin(n, run, e, at)
	}
	if at.After(last) {
		last = at
	}
	if at.After(l.late) {
		l.late = at
	}
	l.last[run] = last
}

// begin notes a process's first line.
func (l *reading) begin(n int, run string, e *line, at time.Time) {
	if e.Behind > 0 && at.Before(l.late) {
		l.steps = append(l.steps, step{n, l.late.Sub(at)})
		l.late = at
	}
	l.epoch[run] = len(l.steps)
}

func (l *reading) name(s string) string {
	if old, ok := l.names[s]; ok {
		return old
	}
	l.names[s] = s
	return s
}

// plainAddr is an address in one form: IPv4 in IPv6 is IPv4, and a zone names no other server.
func plainAddr(s string) string {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return s
	}
	return a.Unmap().WithZone("").String()
}

// entries holds the lines themselves to what a ledger has to be (P10): each permit used once, and
// nothing in it that would let a request count for another host, another address or another time.
func (a *auditor) entries(l *ledger) {
	for _, r := range l.repeated {
		a.violation("P10", r, nil, "permit %s is used twice", r.run)
	}
	for _, g := range l.gaps() {
		a.rep.Violations = append(a.rep.Violations, Violation{
			Invariant: "P10", Lines: []int{g.line}, Message: fmt.Sprintf("permits %d to %d of %s have no line, though all have up to there: lines are missing", g.from, g.to, g.run),
		})
	}
	for _, r := range l.requests {
		if r.end == nil {
			a.rep.Unfinished++
		} else if r.end.Ended.Before(r.start.Written.Add(-Tolerance)) {
			a.violation("P10", r, nil, "ended at %s, before it was written", stamp(r.end.Ended))
		}
		if h := hostOf(r.start.URL); h != r.start.Host {
			a.violation("P10", r, nil, "%s is not on the host of the line, it is on %q", r.start.URL, h)
		}
		if r.start.Addr == "" {
			a.violation("P10", r, nil, "no server address")
		}
		if d := r.start.Domain; a.config.PerDomain && a.config.OwnHosts[r.start.Host] == 0 && !within(r.start.Host, d) {
			a.violation("P10", r, nil, "%q is no domain of the host", d)
		}
	}
}

// hostOf is host:port of a URL as the ledger has it, the port always there.
func hostOf(u string) string {
	scheme, host, _ := strings.Cut(originOf(u), "://")
	switch {
	case host == "":
		return ""
	case strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']'):
		return host
	case scheme == "http":
		return host + ":80"
	}
	return host + ":443"
}

// within reports whether a host is a domain or a name under it.
func within(hostport, domain string) bool {
	name := strings.Trim(hostport[:max(0, strings.LastIndexByte(hostport, ':'))], "[]")
	name = strings.TrimSuffix(name, ".")
	return domain != "" && (name == domain || strings.HasSuffix(name, "."+domain))
}
