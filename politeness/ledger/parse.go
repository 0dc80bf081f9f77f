package ledger

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/amble-crawler/amble/internal/jsonl"
)

// Parse decodes a line as Append writes it, without the newline: an object whose values are strings, numbers, booleans and,
// for clauses, an array. It skips unknown members. It does not use encoding/json because a million lines have to be read in
// seconds. The error is [ErrLine].
func (e *Entry) Parse(line []byte) error {
	*e = Entry{}
	return e.parse(&scanner{b: line})
}

// Parser decodes many lines, and keeps one copy of texts that occur in many of them. The zero Parser is ready for use. It
// must not be used concurrently.
type Parser struct {
	names               jsonl.Names
	times, queued       jsonl.Times // caches for the times of responses, and at which URLs were queued
	run, agent, purpose string      // values in the last line that has them
}

// Parse is like [Entry.Parse], but it reuses the memory of e.Clauses, which stays allocated, with length 0, if the
// line has no clauses.
func (p *Parser) Parse(line []byte, e *Entry) error {
	*e = Entry{Clauses: e.Clauses[:0]}
	if s := (scanner{b: line, parser: p}); s.canonical(e) {
		return nil
	}
	*e = Entry{Clauses: e.Clauses[:0]}
	return e.parse(&scanner{b: line, parser: p})
}

func (e *Entry) parse(s *scanner) error {
	s.expect('{')
	for s.err == nil && !s.next('}') {
		key := s.text()
		s.expect(':')
		e.set(s, key)
		s.comma('}')
	}
	if s.err == nil && (len(s.b) > 0 || e.Event == "" || e.Run == "") {
		s.fail()
	}
	return s.err
}

// set decodes the value of a key that "start" entries have.
func (e *Entry) set(s *scanner, key []byte) {
	switch string(key) {
	case "event":
		e.Event = eventNamed(s.text())
	case "run":
		e.Run = s.same(func(p *Parser) *string { return &p.run })
	case "id":
		e.ID = s.unsigned()
	case "url":
		e.URL = string(s.text())
	case "for":
		e.For = s.name()
	case "host":
		e.Host = s.name()
	case "domain":
		e.Domain = s.name()
	case "addr":
		e.Addr = s.name()
	case "purpose":
		e.Purpose = s.same(func(p *Parser) *string { return &p.purpose })
	case "attempt":
		e.Attempt = int(s.number())
	case "agent":
		e.Agent = s.same(func(p *Parser) *string { return &p.agent })
	case "queued":
		s.time(&e.Queued)
	case "allowed":
		s.time(&e.Allowed)
	case "written":
		s.time(&e.Written)
	case "clauses":
		e.Clauses = s.clauses(e.Clauses[:0])
	case "override":
		e.Override = s.name()
	case "signed":
		e.Signed = s.name()
	case "slot":
		e.Slot = int(s.number())
	case "shares":
		e.Shares = s.boolean()
	case "dropped":
		s.time(&e.Dropped)
	case "behind":
		e.Behind = s.seconds()
	default:
		e.setEnd(s, key)
	}
}

// setEnd decodes the value of a key that only other entries have.
func (e *Entry) setEnd(s *scanner, key []byte) {
	switch string(key) {
	case "first_byte":
		s.time(&e.FirstByte)
	case "ended":
		s.time(&e.Ended)
	case "reported":
		s.time(&e.Reported)
	case "took":
		e.Took = s.seconds()
	case "status":
		e.Status = int(s.number())
	case "bytes":
		e.Bytes = s.number()
	case "error":
		e.Err = s.name()
	case "timeout":
		e.Timeout = s.boolean()
	case "truncated":
		e.Truncated = s.name()
	case "aborted":
		e.Aborted = s.boolean()
	case "retry_after":
		e.RetryAfter = s.name()
	case "rate_limit":
		e.RateLimit = string(s.text())
	case "date":
		e.Date = string(s.text())
	case "location":
		e.Location = string(s.text())
	case "sha256":
		e.SHA256 = string(s.text())
	case "challenged":
		e.Challenged = s.boolean()
	case "wall":
		e.Wall = s.name()
	case "expires":
		s.time(&e.Expires)
	case "by":
		e.By = s.name()
	case "by_run":
		e.ByRun = s.name()
	case "via":
		e.Via = string(s.text())
	case "through":
		e.Through = s.unsigned()
	case "token":
		e.Token = string(s.text())
	default:
		s.skip()
	}
}

// eventNamed returns b as a string, without an allocation if it is one of the events.
func eventNamed(b []byte) string {
	for _, event := range [...]string{Start, End, Unsent, Copied, Head} {
		if string(b) == event {
			return event
		}
	}
	return string(b)
}

// clauseNamed returns b as a string, without an allocation if it is the name of a clause.
func clauseNamed(b []byte) string {
	if id := ClauseIDOf(string(b)); id != 0 {
		return id.String()
	}
	return string(b)
}

// scanner reads the JSON of one line.
type scanner struct {
	b      []byte
	err    error
	parser *Parser // may be nil
}

func (s *scanner) fail() {
	if s.err == nil {
		s.err = ErrLine
	}
	s.b = nil
}

// next consumes c if it is the next character.
func (s *scanner) next(c byte) bool {
	if len(s.b) > 0 && s.b[0] == c {
		s.b = s.b[1:]
		return true
	}
	return false
}

// comma consumes the comma before another value. If end, which closes the object or array, comes next, no comma is
// needed.
func (s *scanner) comma(end byte) {
	if !s.next(',') && (len(s.b) == 0 || s.b[0] != end) {
		s.fail()
	}
}

func (s *scanner) expect(c byte) {
	if !s.next(c) {
		s.fail()
	}
}

// text reads a string. One with escapes is copied.
func (s *scanner) text() []byte {
	quoted := s.quoted()
	if len(quoted) < 2 {
		return nil
	}
	bare := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(bare, '\\') < 0 {
		return bare
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		s.fail()
	}
	return []byte(text)
}

// name reads a string that occurs in many lines.
func (s *scanner) name() string {
	if s.parser == nil {
		return string(s.text())
	}
	return s.parser.names.Of(s.text())
}

// same reads a string that usually equals that of the previous line.
func (s *scanner) same(last func(*Parser) *string) string {
	if s.parser == nil {
		return string(s.text())
	}
	return s.parser.names.Same(s.text(), last(s.parser))
}

// quoted reads a string with its quotes.
func (s *scanner) quoted() []byte {
	if len(s.b) == 0 || s.b[0] != '"' {
		s.fail()
		return nil
	}
	for end := 1; ; end++ {
		n := bytes.IndexByte(s.b[end:], '"')
		if n < 0 {
			s.fail()
			return nil
		}
		if end += n; s.b[end-1] != '\\' || !escaped(s.b[1:end]) {
			q := s.b[:end+1]
			s.b = s.b[end+1:]
			return q
		}
	}
}

// escaped reports whether the character after b is escaped: whether b ends with an odd number of backslashes.
func escaped(b []byte) bool { return (len(b)-len(bytes.TrimRight(b, `\`)))%2 == 1 }

// raw reads a number, true, false or null.
func (s *scanner) raw() []byte {
	for n, c := range s.b {
		if c == ',' || c == '}' || c == ']' {
			v := s.b[:n]
			if s.b = s.b[n:]; n > 0 {
				return v
			}
			break
		}
	}
	s.fail()
	return nil
}

func (s *scanner) boolean() bool { return string(s.raw()) == "true" }

func (s *scanner) number() int64 {
	n, err := strconv.ParseInt(string(s.raw()), 10, 64)
	if err != nil {
		s.fail()
	}
	return n
}

func (s *scanner) unsigned() uint64 {
	n, err := strconv.ParseUint(string(s.raw()), 10, 64)
	if err != nil {
		s.fail()
	}
	return n
}

func (s *scanner) seconds() Duration {
	d, err := seconds(s.raw())
	if err != nil {
		s.fail()
	}
	return d
}

func (s *scanner) read(text []byte) (time.Time, bool) {
	if s.parser == nil {
		return jsonl.Time(text)
	}
	return s.parser.times.Of(text)
}

func (s *scanner) time(to *time.Time) {
	text := s.text()
	t, ok := s.read(text)
	if *to = t; !ok && s.err == nil && to.UnmarshalText(text) != nil {
		s.fail()
	}
}

// skip skips a value of any kind.
func (s *scanner) skip() {
	depth := 0
	for s.err == nil {
		switch {
		case len(s.b) == 0:
			s.fail()
		case s.b[0] == '"':
			s.quoted()
		case s.b[0] == '{' || s.b[0] == '[':
			depth++
			s.b = s.b[1:]
			continue
		case s.b[0] == '}' || s.b[0] == ']':
			depth--
			s.b = s.b[1:]
		case s.b[0] == ',' || s.b[0] == ':':
			s.b = s.b[1:]
			continue
		default:
			s.raw()
		}
		if depth <= 0 {
			return
		}
	}
}

func (s *scanner) clauses(cs []Clause) []Clause {
	s.expect('[')
	for s.err == nil && !s.next(']') {
		cs = append(cs, s.clause())
		s.comma(']')
	}
	return cs
}

func (s *scanner) clause() (c Clause) {
	s.expect('{')
	for s.err == nil && !s.next('}') {
		key := s.text()
		s.expect(':')
		switch string(key) {
		case "clause":
			c.Name = clauseNamed(s.text())
		case "until":
			s.time(&c.Until)
		case "delay":
			c.Delay = s.seconds()
		case "by":
			c.By = s.name()
		default:
			s.skip()
		}
		s.comma('}')
	}
	return c
}
