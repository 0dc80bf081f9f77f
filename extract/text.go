package extract

import (
	"strings"
	"unicode/utf8"
)

// textBuf collapses the white space of text that arrives in pieces, as a browser does: one space between words, and none at the ends. It
// cuts text beyond max bytes between two characters.
type textBuf struct {
	b   []byte
	max int
	gap bool // white space follows the last byte
}

func (t *textBuf) reset(limit int) { t.b, t.max, t.gap = t.b[:0], limit, false }

// full reports whether further text would not change the result.
func (t *textBuf) full() bool { return len(t.b) >= t.max+utf8.UTFMax }

// add appends a piece of text. If v.raw is set, references are decoded.
func (t *textBuf) add(v value) {
	for i := 0; i < len(v.s) && !t.full(); {
		if v.raw && v.s[i] == '&' {
			var buf [maxRefName + utf8.UTFMax]byte
			ref, used := appendRef(buf[:0], v.s[i:], false)
			for _, c := range ref {
				t.byte(c)
			}
			i += used
			continue
		}
		t.byte(v.s[i])
		i++
	}
}

func (t *textBuf) byte(c byte) {
	if isSpace(c) {
		t.gap = true
		return
	}
	if t.gap && len(t.b) > 0 {
		t.b = append(t.b, ' ')
	}
	t.gap = false
	if c == 0 {
		t.b = append(t.b, "\ufffd"...)
		return
	}
	t.b = append(t.b, c)
}

// text returns the collected text. It is valid until the next reset.
func (t *textBuf) text() []byte { return t.b[:cut(t.b, t.max)] }

// plainText returns the collapsed and cut text of v if it is a substring of v.s.
func plainText(v value, limit int) (text string, ok bool) {
	s := trimSpace(v.s)
	if len(s) > limit+utf8.UTFMax {
		s = s[:limit+utf8.UTFMax]
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c > '&':
		case c == '&':
			if v.raw {
				return "", false
			}
		case c == ' ':
			if i > 0 && s[i-1] == ' ' {
				return "", false
			}
		case isSpace(c) || c == 0:
			return "", false
		}
	}
	return s[:cut(s, limit)], true
}

// cut returns the index at which to cut s, so that at most limit bytes remain, no character is split, and the text does not end in a
// space.
func cut[T string | []byte](s T, limit int) int {
	n := len(s)
	if n > limit {
		n = limit
		for n > 0 && n > limit-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
	}
	for n > 0 && s[n-1] == ' ' {
		n--
	}
	return n
}

// arena makes strings from bytes, with one allocation for many strings. The strings remain valid and unchanged.
type arena struct{ b strings.Builder }

const arenaBlock = 1 << 10

func (a *arena) add(p []byte) string {
	if len(p) == 0 {
		return ""
	}
	if a.b.Cap()-a.b.Len() < len(p) {
		a.b.Reset()
		a.b.Grow(max(arenaBlock, len(p)))
	}
	n := a.b.Len()
	a.b.Write(p)
	return a.b.String()[n:]
}
