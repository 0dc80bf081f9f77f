package ledger

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// Parse decodes a line as Append writes it, without the newline: an object whose values are strings, numbers, booleans and,
// for clauses, an array. It skips unknown members. It does not use encoding/json because a million lines have to be read in
// seconds. The error is [ErrLine].
func (e *Entry) Parse(line []byte) error {
	*e = Entry{Run: e.Run, Purpose: e.Purpose, Agent: e.Agent} // reused where equal
	was := *e
	e.Run, e.Purpose, e.Agent = "", "", ""
	s := scanner{b: line}
	s.expect('{')
	for s.err == nil && !s.next('}') {
		key := s.text()
		s.expect(':')
		e.set(&s, key, &was)
		s.comma('}')
	}
	if s.err == nil && (len(s.b) > 0 || e.Event == "" || e.Run == "") {
		s.fail()
	}
	return s.err
}

// set decodes the value of a key that lines of starts have.
func (e *Entry) set(s *scanner, key []byte, was *Entry) {
	switch string(key) {
	case "event":
		e.Event = eventNamed(s.text())
	case "run":
		e.Run = same(was.Run, s.text())
	case "id":
		e.ID = s.unsigned()
	case "url":
		e.URL = string(s.text())
	case "for":
		e.For = string(s.text())
	case "host":
		e.Host = string(s.text())
	case "domain":
		e.Domain = string(s.text())
	case "addr":
		e.Addr = string(s.text())
	case "purpose":
		e.Purpose = same(was.Purpose, s.text())
	case "attempt":
		e.Attempt = int(s.number())
	case "agent":
		e.Agent = same(was.Agent, s.text())
	case "queued":
		s.time(&e.Queued)
	case "allowed":
		s.time(&e.Allowed)
	case "written":
		s.time(&e.Written)
	case "clauses":
		e.Clauses = s.clauses()
	case "override":
		e.Override = string(s.text())
	case "signed":
		e.Signed = string(s.text())
	case "slot":
		e.Slot = int(s.number())
	case "behind":
		e.Behind = s.seconds()
	default:
		e.setEnd(s, key)
	}
}

// setEnd decodes the value of a key that lines of ends have.
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
		e.Err = string(s.text())
	case "timeout":
		e.Timeout = s.raw() == "true"
	case "truncated":
		e.Truncated = string(s.text())
	case "aborted":
		e.Aborted = s.raw() == "true"
	case "retry_after":
		e.RetryAfter = string(s.text())
	case "date":
		e.Date = string(s.text())
	case "location":
		e.Location = string(s.text())
	case "sha256":
		e.SHA256 = string(s.text())
	case "challenged":
		e.Challenged = s.raw() == "true"
	case "expires":
		s.time(&e.Expires)
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
	for _, event := range [...]string{Start, End, Unsent, Head} {
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

// same returns b as a string: was, the value of the previous line, if they are equal, which saves an allocation.
func same(was string, b []byte) string {
	if string(b) == was {
		return was
	}
	return string(b)
}

// scanner reads the JSON of one line.
type scanner struct {
	b   []byte
	err error
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

// comma consumes the comma before another value. There need be none before end, which closes the object or array.
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

// quoted reads a string with its quotes.
func (s *scanner) quoted() []byte {
	if len(s.b) == 0 || s.b[0] != '"' {
		s.fail()
		return nil
	}
	for i := 1; i < len(s.b); i++ {
		switch s.b[i] {
		case '\\':
			i++
		case '"':
			q := s.b[:i+1]
			s.b = s.b[i+1:]
			return q
		}
	}
	s.fail()
	return nil
}

// raw reads a number, true, false or null.
func (s *scanner) raw() string {
	n := bytes.IndexAny(s.b, ",}]")
	if n <= 0 {
		s.fail()
		return ""
	}
	v := string(s.b[:n])
	s.b = s.b[n:]
	return v
}

func (s *scanner) number() int64 {
	n, err := strconv.ParseInt(s.raw(), 10, 64)
	if err != nil {
		s.fail()
	}
	return n
}

func (s *scanner) unsigned() uint64 {
	n, err := strconv.ParseUint(s.raw(), 10, 64)
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

func (s *scanner) time(t *time.Time) {
	if text := s.text(); s.err == nil && t.UnmarshalText(text) != nil {
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

func (s *scanner) clauses() (cs []Clause) {
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
		default:
			s.skip()
		}
		s.comma('}')
	}
	return c
}
