package robots

import "strings"

// flags describe the irregularities of a line.
type flags uint8

const (
	afterBlank flags = 1 << iota // a blank line is between the previous line with a known field and this one
	noColon                      // field and value are separated only by a space
	misspelt                     // the field's name is a known misspelling
)

// line is one line of a robots.txt that has a field and a value. All offsets are relative to the body.
type line struct {
	kind  kind
	flags flags
	num   int32 // 1-based
	start int32 // offset of the line
	text  int32 // offset of the field
	value int32 // offset of the value
	end   int32 // end of the value; a comment may follow
}

func (l line) has(f flags) bool { return l.flags&f != 0 }

// lineReader reads a body line by line. CR, LF and CRLF end a line (RFC 9309 section 2.2, rule EOL). It remembers the positions of the
// next LF and the next CR, so that a body with only one of the two is read in linear time, too.
type lineReader struct {
	body   string
	pos    int
	num    int32
	lf, cr int
}

func newLineReader(body string) lineReader {
	return lineReader{body: body, lf: -1, cr: -1}
}

// next returns the start and end of the next line, without its line end.
func (r *lineReader) next() (start, end int, ok bool) {
	if r.pos >= len(r.body) {
		return 0, 0, false
	}
	r.num++
	start = r.pos
	if r.lf < start {
		r.lf = indexFrom(r.body, start, '\n')
	}
	if r.cr < start {
		r.cr = indexFrom(r.body, start, '\r')
	}
	end = min(r.lf, r.cr)
	r.pos = end + 1
	if end == r.cr && r.lf == end+1 {
		r.pos++
	}
	return start, end, true
}

// indexFrom returns the index of the first c in s from i on, or len(s).
func indexFrom(s string, i int, c byte) int {
	if j := strings.IndexByte(s[i:], c); j >= 0 {
		return i + j
	}
	return len(s)
}

// readLines returns all lines of body that have a known field.
func readLines(body string) []line {
	lines := make([]line, 0, min(len(body)/24+8, 1<<12))
	r := newLineReader(body)
	var blank flags
	for {
		start, end, ok := r.next()
		if !ok {
			return lines
		}
		l, what := readLine(body, start, end)
		switch what {
		case isBlank:
			blank = afterBlank
		case isField:
			l.num = r.num
			l.flags |= blank
			lines = append(lines, l)
			blank = 0
		}
	}
}

// content describes what a line contains.
type content uint8

const (
	isField   content = iota // a known field
	isBlank                  // nothing, or only spaces
	isComment                // only a comment, which does not end a record in any standard
	isUnknown                // an unknown field
	isText                   // text without a field
)

// readLine reads the line body[start:end].
func readLine(body string, start, end int) (line, content) {
	comment := strings.IndexByte(body[start:end], '#')
	stop := end
	if comment >= 0 {
		stop = start + comment
	}
	from, to := trim(body, start, stop)
	if from == to {
		if comment >= 0 {
			return line{}, isComment
		}
		return line{}, isBlank
	}
	l := line{start: int32(start), text: int32(from), end: int32(to)}
	colon := strings.IndexByte(body[from:to], ':')
	if colon >= 0 {
		_, keyEnd := trim(body, from, from+colon)
		l.kind, l.flags = fieldOf(body[from:keyEnd])
		if l.kind != unknown {
			v, _ := trim(body, from+colon+1, to)
			l.value = int32(v)
			return l, isField
		}
	}
	if readWithoutColon(body, from, to, &l) {
		return l, isField
	}
	if colon >= 0 {
		return l, isUnknown
	}
	return l, isText
}

// readWithoutColon reads "Disallow /x": a known field, a space, and one word. Prose that begins with a field's name ("allow all robots")
// is not a rule. Only Disallow may have more than one word, if each of them is a path.
func readWithoutColon(body string, from, to int, l *line) bool {
	word := strings.IndexAny(body[from:to], " \t")
	if word < 0 {
		word = to - from
	}
	key := from + word
	l.kind, l.flags = fieldOf(body[from:key])
	if l.kind == unknown && foldEqual(body[from:key], "user") {
		if second := secondWord(body, key, to); second > 0 {
			key = second
			l.kind, l.flags = fieldOf(body[from:key])
		}
	}
	if l.kind == unknown {
		return false
	}
	v, _ := trim(body, key, to)
	l.value = int32(v)
	l.flags |= noColon
	return plausible(l.kind, body[v:to])
}

// secondWord returns the end of the word after the spaces at from, or 0 if there is none.
func secondWord(body string, from, to int) int {
	for from < to && isBlankByte(body[from]) {
		from++
	}
	end := from
	for end < to && !isBlankByte(body[end]) {
		end++
	}
	if end == from {
		return 0
	}
	return end
}

// plausible reports whether value can be the value of a field that has no colon.
func plausible(k kind, value string) bool {
	if k == disallow && value != "" {
		for w := range strings.FieldsSeq(value) {
			if w[0] != '/' && w[0] != '*' {
				return false
			}
		}
		return true
	}
	return value != "" && !strings.ContainsAny(value, " \t")
}

func isBlankByte(c byte) bool { return c == ' ' || c == '\t' }

// trim removes from both ends of body[from:to] space and tab (RFC 9309 section 2.2), control bytes, and the invisible characters that
// editors and copying leave (no-break space, zero-width space, byte order mark). This includes a byte order mark before the first field.
func trim(body string, from, to int) (int, int) {
	for from < to && !isInk(body[from]) {
		n := leadingBlank(body[from:to])
		if n == 0 {
			break
		}
		from += n
	}
	for from < to && !isInk(body[to-1]) {
		n := trailingBlank(body[from:to])
		if n == 0 {
			break
		}
		to -= n
	}
	return from, to
}

// isInk reports whether c is printable ASCII other than the space.
func isInk(c byte) bool { return c-'!' <= '~'-'!' }

func leadingBlank(s string) int {
	switch c := s[0]; {
	case c <= ' ' || c == 0x7f:
		return 1
	case c < 0x80:
		return 0
	}
	for _, inv := range invisible {
		if strings.HasPrefix(s, inv) {
			return len(inv)
		}
	}
	return 0
}

func trailingBlank(s string) int {
	switch c := s[len(s)-1]; {
	case c <= ' ' || c == 0x7f:
		return 1
	case c < 0x80:
		return 0
	}
	for _, inv := range invisible {
		if strings.HasSuffix(s, inv) {
			return len(inv)
		}
	}
	return 0
}

var invisible = [...]string{"\u00a0", "\u200b", "\ufeff"}
