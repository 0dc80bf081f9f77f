package ledger

import (
	"time"

	"github.com/amble-crawler/amble/internal/jsonl"
)

// canonical reads a line in the form that a [Writer] writes for most entries: the members of a start or an end in the order of
// Entry.Append, texts without escapes, times in UTC. It takes half the time of reading members in any order. It returns false
// for all other lines, valid or not, with part of e set.
func (s *scanner) canonical(e *Entry) bool {
	switch {
	case s.has(`{"event":"start","run":"`):
		e.Event = Start
	case s.has(`{"event":"end","run":"`):
		e.Event = End
	default:
		return false
	}
	if e.Run = s.last(&s.parser.run); e.Run == "" {
		return false
	}
	if s.has(`,"id":`) {
		e.ID = uint64(s.digits())
	}
	if e.Event == Start {
		s.start(e)
	} else {
		s.end(e)
	}
	return s.tail()
}

// start reads the members of a "start" entry.
func (s *scanner) start(e *Entry) {
	p := s.parser
	if s.has(`,"url":"`) {
		e.URL = string(s.plain())
	}
	if s.has(`,"for":"`) {
		e.For = p.names.Of(s.plain())
	}
	if s.has(`,"host":"`) {
		e.Host = p.names.Of(s.plain())
	}
	if s.has(`,"domain":"`) {
		e.Domain = p.names.Of(s.plain())
	}
	if s.has(`,"addr":"`) {
		e.Addr = p.names.Of(s.plain())
	}
	if s.has(`,"purpose":"`) {
		e.Purpose = s.last(&p.purpose)
	}
	if s.has(`,"attempt":`) {
		e.Attempt = int(s.digits())
	}
	if s.has(`,"agent":"`) {
		e.Agent = s.last(&p.agent)
	}
	if s.has(`,"queued":"`) {
		e.Queued = s.instant(&p.queued)
	}
	if s.has(`,"allowed":"`) {
		e.Allowed = s.instant(&p.times)
	}
	if s.has(`,"written":"`) {
		e.Written = s.instant(&p.times)
	}
	if s.has(`,"clauses":[`) {
		s.waits(e)
	}
	if s.has(`,"signed":"`) {
		e.Signed = p.names.Of(s.plain())
	}
	if s.has(`,"slot":`) {
		e.Slot = int(s.digits())
	}
	e.Shares = s.has(`,"shares":true`)
	if s.has(`,"dropped":"`) {
		e.Dropped = s.instant(&p.times)
	}
}

// waits reads clauses. There is at least one.
func (s *scanner) waits(e *Entry) {
	for s.has(`{"clause":"`) {
		c := Clause{Name: clauseNamed(s.plain())}
		if s.has(`,"until":"`) {
			c.Until = s.instant(&s.parser.times)
		}
		if s.has(`,"delay":`) {
			c.Delay = s.duration()
		}
		if s.has(`,"by":"`) {
			c.By = s.parser.names.Of(s.plain())
		}
		e.Clauses = append(e.Clauses, c)
		switch {
		case s.has(`},`):
		case s.has(`}]`):
			return
		default:
			s.b = nil
		}
	}
	s.b = nil
}

// end reads the members of an entry other than "start".
func (s *scanner) end(e *Entry) {
	p := s.parser
	if s.has(`,"first_byte":"`) {
		e.FirstByte = s.instant(&p.times)
	}
	if s.has(`,"ended":"`) {
		e.Ended = s.instant(&p.times)
	}
	if s.has(`,"reported":"`) {
		e.Reported = s.instant(&p.times)
	}
	if s.has(`,"took":`) {
		e.Took = s.duration()
	}
	if s.has(`,"status":`) {
		e.Status = int(s.digits())
	}
	if s.has(`,"bytes":`) {
		e.Bytes = s.digits()
	}
	if s.has(`,"error":"`) {
		e.Err = p.names.Of(s.plain())
	}
	if s.has(`,"location":"`) {
		e.Location = string(s.plain())
	}
	if s.has(`,"sha256":"`) {
		e.SHA256 = string(s.plain())
	}
	if s.has(`,"expires":"`) {
		e.Expires = s.instant(&p.times)
	}
	if s.has(`,"through":`) {
		e.Through = uint64(s.digits())
	}
}

// tail reads the end of a line: nothing more, or the members that a Writer adds.
func (s *scanner) tail() bool {
	if s.has(lineMember) {
		s.digits()
	}
	if s.has(chainMember) {
		s.plain()
	}
	return string(s.b) == "}"
}

// has consumes text if it comes next. After a failure it always returns false.
func (s *scanner) has(text string) bool {
	if len(s.b) < len(text) || string(s.b[:len(text)]) != text {
		return false
	}
	s.b = s.b[len(text):]
	return true
}

// plain reads a string without escapes, after its first quote.
func (s *scanner) plain() []byte {
	n := jsonl.Quote(s.b)
	if n == len(s.b) || s.b[n] != '"' {
		s.b = nil
		return nil
	}
	text := s.b[:n]
	s.b = s.b[n+1:]
	return text
}

// last is like plain, for a string that usually equals that of the previous line.
func (s *scanner) last(last *string) string {
	if n := len(*last); n > 0 && n < len(s.b) && s.b[n] == '"' && string(s.b[:n]) == *last && jsonl.Quote(s.b[:n]) == n {
		s.b = s.b[n+1:]
		return *last
	}
	return s.parser.names.Same(s.plain(), last)
}

// digits reads a number that is not negative and has at most 18 digits.
func (s *scanner) digits() (n int64) {
	i := 0
	for ; i < len(s.b) && s.b[i]-'0' <= 9; i++ {
		n = n*10 + int64(s.b[i]-'0') // overflows only beyond 18 digits, which are rejected below
	}
	if i == 0 || i > 18 {
		s.b = nil
		return 0
	}
	s.b = s.b[i:]
	return n
}

// duration reads a number of seconds that can be converted exactly.
func (s *scanner) duration() Duration {
	i := 0
	for i < len(s.b) && (s.b[i]-'0' <= 9 || s.b[i] == '.') {
		i++
	}
	d, ok := short(s.b[:i])
	if !ok {
		s.b = nil
		return 0
	}
	s.b = s.b[i:]
	return d
}

// instant reads a time, after its first quote.
func (s *scanner) instant(c *jsonl.Times) time.Time {
	if len(s.b) > jsonl.TimeLen && s.b[jsonl.TimeLen] == '"' {
		if t, ok := c.Of(s.b[:jsonl.TimeLen]); ok {
			s.b = s.b[jsonl.TimeLen+1:]
			return t
		}
	}
	s.b = nil
	return time.Time{}
}
