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
	"time"
)

type ledger struct {
	requests []*request // sorted by epoch, and then by the time at which the request was written
	repeated []*request // second starts or ends of a request
	unsent   []*request // attempts at a robots.txt that failed before a byte was sent, and copied robots.txt files
	torn     bool       // the last line is incomplete
	runs     int
	steps    []step // the processes at which new epochs begin
	permits  []permit
	through  map[string]mark // the last mark of each run, keyed by run
}

// permit identifies a permit that has a line.
type permit struct {
	run  string
	id   uint64
	line int
}

// mark is the ID up to which a run last said that all permits have a line.
type mark struct {
	id   uint64
	line int
}

// step is the beginning of a process whose clock is behind that of the process before.
type step struct {
	line   int
	behind time.Duration
}

// reading is the state while a ledger is read.
type reading struct {
	ledger
	line  Line // the line that is being read
	open  map[key]*request
	names map[string]string    // texts, each stored only once
	last  map[string]time.Time // keyed by run: the time of the run's last line
	epoch map[string]int       // keyed by run
	late  time.Time            // the latest time of the current epoch

	processes processes
}

type key struct {
	run string
	id  uint64
}

// read reads a ledger. An incomplete last line, which a killed process leaves, is not an error; any other line that cannot be parsed
// is an error.
func read(r io.Reader, by processes) (*ledger, error) {
	l := &reading{processes: by, open: map[key]*request{}, names: map[string]string{}, last: map[string]time.Time{}, epoch: map[string]int{}}
	l.through = map[string]mark{}
	br := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		b, err := readLine(br)
		if errors.Is(err, io.EOF) {
			l.torn = len(b) > 0
			break
		}
		if err != nil {
			return nil, fmt.Errorf("audit: ledger line %d: %w", n, err)
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

// maxLine is the maximum length of a line in bytes.
const maxLine = 16 << 20

// readLine returns the next line with its end. After the last line, it returns the beginning of a line and io.EOF.
func readLine(br *bufio.Reader) (line []byte, err error) {
	for long := false; ; {
		b, err := br.ReadSlice('\n')
		if long = long || len(line)+len(b) > maxLine; !long {
			line = append(line, b...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && long:
			return nil, fmt.Errorf("it is longer than %d bytes", maxLine)
		default:
			return line, err
		}
	}
}

func (l *reading) add(n int, b []byte) error {
	l.line = Line{}
	if err := json.Unmarshal(b, &l.line); err != nil {
		return err
	}
	e := l.processes.common(&l.line, nil)
	if e.Event == "head" { // a "head" line is a signature, not a request
		return nil
	}
	k := key{l.name(e.Run), e.ID}
	l.wrote(n, k.run, e)
	l.number(n, k, e)
	r := l.open[k]
	switch {
	case e.Event == "unsent": // nothing was sent, so only a failed attempt at a robots.txt matters
		if e.Purpose == "robots" && e.Error != "" && !e.Aborted {
			l.unsent = append(l.unsent, &request{line: n, last: n, run: k.run, epoch: l.epoch[k.run], start: e.StartLine, end: new(e.EndLine)})
		}
	case e.Event == "copied":
		l.unsent = append(l.unsent, &request{line: n, last: n, run: k.run, epoch: l.epoch[k.run], start: e.StartLine, end: new(e.EndLine), copied: true})
	case e.Event == "start":
		s := &e.StartLine
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
		r.close(&e.EndLine, n)
		l.processes.close(r)
	default:
		return errors.New("it is neither a start nor the end of one")
	}
	return nil
}

// number records which permits have a line, and the ID up to which the run says that all permits have a line.
func (l *reading) number(n int, k key, e *Line) {
	if e.Event != "end" && e.ID > 0 {
		l.permits = append(l.permits, permit{k.run, k.id, n})
	}
	if e.Through > l.through[k.run].id {
		l.through[k.run] = mark{e.Through, n}
	}
}

// wrote records the time at which a line was written.
func (l *reading) wrote(n int, run string, e *Line) {
	last, known := l.last[run]
	at := timeOf(e)
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

// timeOf returns the time at which a line was written.
func timeOf(e *Line) (at time.Time) {
	for _, t := range [...]time.Time{e.Written, e.Ended, e.Reported} {
		if t.After(at) {
			at = t
		}
	}
	return at
}

// begin records the first line of a process.
func (l *reading) begin(n int, run string, e *Line, at time.Time) {
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

// plainAddr returns the canonical form of an address: IPv4 in IPv6 becomes IPv4, and the zone is removed, because it
// does not make it another server.
func plainAddr(s string) string {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return s
	}
	var buf [64]byte
	if plain := a.Unmap().WithZone("").AppendTo(buf[:0]); string(plain) != s {
		return string(plain)
	}
	return s
}
