package politeness

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// record is what Replay reads of a line. Its slices are valid until the next one.
type record struct {
	event, run, sha256                    []byte
	id                                    uint64
	url, wanted                           string
	addr                                  netip.Addr
	purpose                               Purpose
	attempt                               int
	allowed, written                      time.Time
	ended, reported, expires              time.Time
	took                                  time.Duration
	status                                int
	truncated, retryAfter, date, location string
	failed, timeout, aborted              bool
}

var errLine = errors.New("it is no entry of a ledger")

// parse reads a line of the form that Entry.append writes: an object whose values are texts, numbers and
// booleans; what else there is, it skips. A million lines have to be read in seconds.
func (e *record) parse(b []byte) error {
	*e = record{}
	s := scanner{b: b}
	s.expect('{')
	for s.err == nil && !s.next('}') {
		key := s.text()
		s.expect(':')
		e.set(&s, key)
		if !s.next(',') && s.err == nil && (len(s.b) == 0 || s.b[0] != '}') {
			return errLine
		}
	}
	if s.err == nil && (len(s.b) > 0 || len(e.event) == 0 || len(e.run) == 0) {
		s.err = errLine
	}
	return s.err
}

func (e *record) set(s *scanner, key []byte) {
	switch string(key) {
	case "event":
		e.event = s.text()
	case "run":
		e.run = s.text()
	case "id":
		e.id = uint64(s.number())
	case "url":
		e.url = string(s.text())
	case "for":
		e.wanted = string(s.text())
	case "addr":
		e.addr, s.err = netip.ParseAddr(string(s.text()))
	case "purpose":
		e.purpose = purposeNamed(string(s.text()))
	case "attempt":
		e.attempt = int(s.number())
	case "allowed":
		s.time(&e.allowed)
	case "written":
		s.time(&e.written)
	default:
		e.setEnd(s, key)
	}
}

func (e *record) setEnd(s *scanner, key []byte) {
	switch string(key) {
	case "ended":
		s.time(&e.ended)
	case "reported":
		s.time(&e.reported)
	case "took":
		e.took = s.seconds()
	case "expires":
		s.time(&e.expires)
	case "status":
		e.status = int(s.number())
	case "truncated":
		e.truncated = string(s.text())
	case "retry_after":
		e.retryAfter = string(s.text())
	case "date":
		e.date = string(s.text())
	case "location":
		e.location = string(s.text())
	case "sha256":
		e.sha256 = s.text()
	case "error":
		e.failed = len(s.text()) > 0
	case "timeout":
		e.timeout = s.raw() == "true"
	case "aborted":
		e.aborted = s.raw() == "true"
	default:
		s.skip()
	}
}

func purposeNamed(s string) Purpose {
	switch s {
	case Robots.String():
		return Robots
	case Sitemap.String():
		return Sitemap
	}
	return Page
}

// scanner reads JSON of one line.
type scanner struct {
	b   []byte
	err error
}

func (s *scanner) fail() {
	if s.err == nil {
		s.err = errLine
	}
	s.b = nil
}

// next takes c if it comes next.
func (s *scanner) next(c byte) bool {
	if len(s.b) > 0 && s.b[0] == c {
		s.b = s.b[1:]
		return true
	}
	return false
}

func (s *scanner) expect(c byte) {
	if !s.next(c) {
		s.fail()
	}
}

// text is a string. An escaped one is copied.
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

// quoted is a string with its quotes.
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

// raw is a number, true, false or null.
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

// seconds is a number of them, to the nanosecond.
func (s *scanner) seconds() time.Duration {
	v, err := strconv.ParseFloat(s.raw(), 64)
	if err != nil || math.Abs(v) > 1e9 {
		s.fail()
	}
	return time.Duration(math.Round(v * 1e9))
}

func (s *scanner) time(t *time.Time) {
	if text := s.text(); s.err == nil && t.UnmarshalText(text) != nil {
		s.fail()
	}
}

// skip goes over a value of any kind.
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

// time is when the Gate was in the state that the line tells of.
func (e *record) time() time.Time {
	for _, t := range []time.Time{e.reported, e.ended} {
		if !t.IsZero() {
			return t
		}
	}
	return e.allowed
}

// needsBody reports whether the line's answer for a robots.txt has rules in its body.
func (e *record) needsBody() bool {
	return !e.failed && e.status >= 200 && e.status < 300 && (e.truncated == "" || e.truncated == CutByLength)
}

func (e *record) isHash(sum [sha256.Size]byte) bool {
	var buf [2 * sha256.Size]byte
	return string(hex.AppendEncode(buf[:0], sum[:])) == string(e.sha256)
}

// life is how long an answer for a robots.txt that ended then may be gone by.
func (e *record) life(ended time.Time) time.Duration {
	return min(max(e.expires.Sub(ended), robots.MinFreshness), robots.MaxFreshness)
}

// reply is the answer that the line tells of.
func (e *record) reply() Reply {
	r := Reply{Status: e.status, Truncated: e.truncated, Aborted: e.aborted, Ended: e.ended, Header: http.Header{}}
	if e.failed {
		r.Err = errFailed
	}
	if e.timeout {
		r.Err = os.ErrDeadlineExceeded
	}
	for _, f := range [...]struct{ name, value string }{{"Location", e.location}, {"Retry-After", e.retryAfter}, {"Date", e.date}} {
		if f.value != "" {
			r.Header[f.name] = []string{f.value}
		}
	}
	return r
}

// urls are what was requested, and the page whose robots.txt that is or the same.
func (e *record) urls() (target, wanted weburl.URL, err error) {
	if target, err = weburl.Parse(e.url); err != nil {
		return target, wanted, err
	}
	if e.wanted == "" {
		return target, target, nil
	}
	wanted, err = weburl.Parse(e.wanted)
	return target, wanted, err
}
