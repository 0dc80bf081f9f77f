package sink

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"time"
	"unicode/utf8"

	"github.com/amble-crawler/amble/internal/jsonl"
)

// Parser decodes lines of JSONL. Of texts that occur in many lines it keeps only one copy. The zero Parser is ready for use. It must not be
// used concurrently.
type Parser struct {
	// Short leaves out fields that statistics over many visits do not need: Charset, CharsetFrom, Truncated, SHA256, ETag, LastModified,
	// Title, Canonical, Links and WARC may be empty. Their values are still validated.
	Short bool

	names         jsonl.Names
	times, queued jsonl.Times                                 // parsers of the times of requests, and of the times at which URLs were queued
	last          struct{ schema, via, outcome, kind string } // texts of the last line, if the texts had no escapes in that line
	links         LinkCount                                   // where links are decoded to with Short
	where         Location                                    // where locations are decoded to with Short
}

// Parse decodes a line, with or without its newline. The result is that of encoding/json for an empty Record, but costs a fraction of the
// time for lines in the form of JSONL: a million lines must be read in seconds. Strings in r may be shared with other Records.
func (p *Parser) Parse(line []byte, r *Record) error {
	*r = Record{}
	if s := (scanner{b: line, parser: p}); s.record(r) {
		return nil
	}
	*r = Record{}
	return json.Unmarshal(line, r)
}

// scanner reads a line in the form of appendRecord. If the line has any other form, even if it is valid JSON, its methods return false.
type scanner struct {
	b      []byte
	i      int // number of bytes already read
	parser *Parser
}

// record reads a whole line.
func (s *scanner) record(r *Record) bool {
	field := func(key []byte) bool { return s.visit(key, r) }
	if s.has(`{"schema":`) {
		if !s.inOrder(r) || !s.more(field) {
			return false
		}
	} else if !s.object(field) {
		return false
	}
	return s.i == len(s.b) || string(s.b[s.i:]) == "\n"
}

// inOrder reads members of the line, after the first key, as long as they come in the order of appendRecord. That is faster than looking up
// their keys.
func (s *scanner) inOrder(r *Record) bool {
	last := &s.parser.last
	return s.same(&r.Schema, &last.schema) &&
		(!s.has(`,"url":`) || s.text(&r.URL)) &&
		(!s.has(`,"final":`) || s.text(&r.Final)) &&
		(!s.has(`,"via":`) || s.same(&r.Via, &last.via)) &&
		(!s.has(`,"depth":`) || s.number(&r.Depth)) &&
		(!s.has(`,"status":`) || s.number(&r.Status)) &&
		(!s.has(`,"outcome":`) || s.same(&r.Outcome, &last.outcome)) &&
		(!s.has(`,"reason":`) || s.name(&r.Reason)) &&
		(!s.has(`,"rule":`) || s.name(&r.Rule)) &&
		(!s.has(`,"detail":`) || s.name(&r.Detail)) &&
		(!s.has(`,"error":`) || s.name(&r.Error)) &&
		(!s.has(`,"type":`) || s.same(&r.Type, &last.kind)) &&
		(!s.has(`,"charset":`) || s.dropped(&r.Charset)) &&
		(!s.has(`,"charset_from":`) || s.dropped(&r.CharsetFrom)) &&
		(!s.has(`,"bytes":`) || s.number(&r.Bytes)) &&
		(!s.has(`,"sha256":`) || s.dropped(&r.SHA256)) &&
		(!s.has(`,"etag":`) || s.dropped(&r.ETag)) &&
		(!s.has(`,"last_modified":`) || s.dropped(&r.LastModified)) &&
		(!s.has(`,"title":`) || s.dropped(&r.Title)) &&
		(!s.has(`,"canonical":`) || s.dropped(&r.Canonical)) &&
		(!s.has(`,"links":`) || s.links(r)) &&
		(!s.has(`,"queued":`) || s.time(&r.Queued, &s.parser.queued)) &&
		(!s.has(`,"started":`) || s.time(&r.Started, &s.parser.times)) &&
		(!s.has(`,"ended":`) || s.time(&r.Ended, &s.parser.times)) &&
		(!s.has(`,"warc":`) || s.location(r))
}

// object reads an object. It calls field to read the value of each key.
func (s *scanner) object(field func(key []byte) bool) bool {
	return s.next('{') && s.member(field) && s.more(field)
}

// more reads the rest of an object, after its first members.
func (s *scanner) more(field func(key []byte) bool) bool {
	for s.next(',') {
		if !s.member(field) {
			return false
		}
	}
	return s.next('}')
}

func (s *scanner) member(field func(key []byte) bool) bool {
	key, plain, ok := s.quoted()
	return ok && plain && s.next(':') && field(key)
}

// has skips a text and returns true, if that text comes next.
func (s *scanner) has(text string) bool {
	if len(s.b)-s.i < len(text) || string(s.b[s.i:s.i+len(text)]) != text {
		return false
	}
	s.i += len(text)
	return true
}

// visit reads the value of a key that occurs in most lines.
func (s *scanner) visit(key []byte, r *Record) bool {
	switch string(key) {
	case "schema":
		return s.same(&r.Schema, &s.parser.last.schema)
	case "url":
		return s.text(&r.URL)
	case "via":
		return s.same(&r.Via, &s.parser.last.via)
	case "depth":
		return s.number(&r.Depth)
	case "status":
		return s.number(&r.Status)
	case "outcome":
		return s.same(&r.Outcome, &s.parser.last.outcome)
	case "reason":
		return s.name(&r.Reason)
	case "rule":
		return s.name(&r.Rule)
	case "detail":
		return s.name(&r.Detail)
	case "error":
		return s.name(&r.Error)
	case "attempt":
		return s.number(&r.Attempt)
	case "queued":
		return s.time(&r.Queued, &s.parser.queued)
	case "started":
		return s.time(&r.Started, &s.parser.times)
	case "ended":
		return s.time(&r.Ended, &s.parser.times)
	}
	return s.page(key, r)
}

// page reads the value of a key that occurs in lines of pages.
func (s *scanner) page(key []byte, r *Record) bool {
	switch string(key) {
	case "type":
		return s.same(&r.Type, &s.parser.last.kind)
	case "charset":
		return s.dropped(&r.Charset)
	case "charset_from":
		return s.dropped(&r.CharsetFrom)
	case "bytes":
		return s.number(&r.Bytes)
	case "truncated":
		return s.dropped(&r.Truncated)
	case "cached":
		r.Cached = s.has("true")
		return r.Cached || s.has("false")
	case "sha256":
		return s.dropped(&r.SHA256)
	case "etag":
		return s.dropped(&r.ETag)
	case "last_modified":
		return s.dropped(&r.LastModified)
	case "title":
		return s.dropped(&r.Title)
	case "canonical":
		return s.dropped(&r.Canonical)
	case "same_as":
		return s.text(&r.SameAs)
	case "near_of":
		return s.text(&r.NearOf)
	case "links":
		return s.links(r)
	case "warc":
		return s.location(r)
	}
	return s.rare(key, r)
}

// rare reads the value of a key that occurs in few lines. encoding/json decodes values that are not strings.
func (s *scanner) rare(key []byte, r *Record) bool {
	var into any
	switch string(key) {
	case "final":
		return s.text(&r.Final)
	case "hops":
		into = &r.Hops
	case "directives":
		into = &r.Directives
	case "usage":
		into = &r.Usage
	case "data":
		into = &r.Data
	case "terms":
		if r.Terms != nil {
			return false
		}
		object, ok := s.nested('{')
		return ok && json.Unmarshal(object, &r.Terms) == nil
	default:
		return false
	}
	list, ok := s.nested('[')
	return ok && json.Unmarshal(list, into) == nil
}

func (s *scanner) links(r *Record) bool {
	n := &s.parser.links
	if !s.parser.Short {
		if r.Links != nil {
			return false
		}
		n = new(LinkCount)
		r.Links = n
	}
	inOrder := s.has(`{"found":`)
	if inOrder && !(s.number(&n.Found) &&
		(!s.has(`,"follow":`) || s.number(&n.Follow)) &&
		(!s.has(`,"out_of_scope":`) || s.number(&n.OutOfScope)) &&
		(!s.has(`,"too_deep":`) || s.number(&n.TooDeep))) {
		return false
	}
	rest := s.object
	if inOrder {
		rest = s.more
	}
	return rest(func(key []byte) bool {
		switch string(key) {
		case "found":
			return s.number(&n.Found)
		case "follow":
			return s.number(&n.Follow)
		case "out_of_scope":
			return s.number(&n.OutOfScope)
		case "too_deep":
			return s.number(&n.TooDeep)
		case "nofollow":
			return s.number(&n.NoFollow)
		case "resource":
			return s.number(&n.Resource)
		case "invalid":
			return s.number(&n.Invalid)
		case "trap":
			return s.number(&n.Trap)
		case "link_limit":
			return s.number(&n.Limit)
		case "queue_full":
			return s.number(&n.Full)
		}
		return false
	})
}

func (s *scanner) location(r *Record) bool {
	l := &s.parser.where
	if !s.parser.Short {
		if r.WARC != nil {
			return false
		}
		l = new(Location)
		r.WARC = l
	}
	return s.object(func(key []byte) bool {
		switch string(key) {
		case "file":
			return s.name(&l.File)
		case "offset":
			return s.integer(&l.Offset)
		case "length":
			return s.integer(&l.Length)
		}
		return false
	})
}

// next skips the character c and returns true, if c comes next.
func (s *scanner) next(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// quoted reads a string. It returns the bytes between the quotes, and whether they have no escapes.
func (s *scanner) quoted() (inner []byte, plain, ok bool) {
	if !s.next('"') {
		return nil, false, false
	}
	begin, ascii := s.i, true
	plain = true
	for {
		s.i += special(s.b[s.i:])
		if s.i >= len(s.b) {
			return nil, false, false
		}
		switch c := s.b[s.i]; {
		case c == '"':
			inner = s.b[begin:s.i]
			s.i++
			return inner, plain && (ascii || utf8.Valid(inner)), true
		case c == '\\':
			plain = false
			s.i = min(s.i+2, len(s.b))
		case c < ' ':
			return nil, false, false
		default:
			ascii = false
			s.i++
		}
	}
}

// special returns the position of the first byte that is not ASCII, or is a control character, a quote or a backslash; len(b) if there is
// none. It examines eight bytes at a time. In each expression, the lowest bit that is set belongs to the first such byte; higher bits may
// be wrong, because of the borrow of the subtraction.
func special(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, backslash := x^'"'*ones, x^'\\'*ones
		found := (x | (x-' '*ones)&^x | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}

// text reads a string.
func (s *scanner) text(to *string) bool {
	begin := s.i
	inner, plain, ok := s.quoted()
	switch {
	case !ok:
		return false
	case plain:
		*to = string(inner)
		return true
	}
	return json.Unmarshal(s.b[begin:s.i], to) == nil
}

// name reads a string that occurs in many lines, and shares its copy.
func (s *scanner) name(to *string) bool {
	begin := s.i
	if inner, plain, ok := s.quoted(); !ok || plain {
		*to = s.parser.names.Of(inner)
		return ok
	}
	return json.Unmarshal(s.b[begin:s.i], to) == nil
}

// same reads a string that usually is equal to that of the previous line.
func (s *scanner) same(to, last *string) bool {
	begin := s.i
	if end := begin + 1 + len(*last); begin+1 < end && end < len(s.b) && s.b[begin] == '"' && s.b[end] == '"' {
		if string(s.b[begin+1:end]) == *last { // equal, because *last has no escapes
			*to, s.i = *last, end+1
			return true
		}
	}
	if inner, plain, ok := s.quoted(); !ok || plain {
		*to = s.parser.names.Same(inner, last)
		return ok
	}
	return json.Unmarshal(s.b[begin:s.i], to) == nil
}

// dropped reads a string that Short leaves out, and only validates it if Short is set.
func (s *scanner) dropped(to *string) bool {
	if !s.parser.Short {
		return s.text(to)
	}
	begin := s.i
	inner, plain, ok := s.quoted()
	return ok && (plain || bytes.IndexByte(inner, '\\') < 0 || unescapes(inner) || json.Valid(s.b[begin:s.i]))
}

// unescapes reports whether every backslash between the quotes of a string begins one of the most frequent escapes.
func unescapes(inner []byte) bool {
	for {
		n := bytes.IndexByte(inner, '\\')
		if n < 0 {
			return true
		}
		if n+1 >= len(inner) || inner[n+1] != '"' && inner[n+1] != '\\' && inner[n+1] != 'n' {
			return false
		}
		inner = inner[n+2:]
	}
}

func (s *scanner) number(to *int) bool {
	var n int64
	ok := s.integer(&n)
	*to = int(n)
	return ok && int64(*to) == n
}

// integer reads an integer of up to 18 digits.
func (s *scanner) integer(to *int64) bool {
	negative := s.next('-')
	begin, n := s.i, int64(0)
	for ; s.i < len(s.b) && s.b[s.i]-'0' <= 9; s.i++ {
		n = n*10 + int64(s.b[s.i]-'0') // wrong for more than 18 digits, which are rejected
	}
	digits := s.i - begin
	if negative {
		n = -n
	}
	*to = n
	return digits == 1 || digits > 1 && digits <= 18 && s.b[begin] != '0'
}

func (s *scanner) time(to *time.Time, times *jsonl.Times) bool {
	inner, plain, ok := s.quoted()
	if !ok || !plain {
		return false
	}
	t, ok := times.Of(inner)
	*to = t
	return ok || to.UnmarshalText(inner) == nil
}

// nested returns an array or an object, which begins with first, without parsing its contents.
func (s *scanner) nested(first byte) ([]byte, bool) {
	begin, depth := s.i, 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			if _, _, ok := s.quoted(); !ok {
				return nil, false
			}
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		s.i++
		if depth == 0 {
			return s.b[begin:s.i], s.b[begin] == first
		}
	}
	return nil, false
}
