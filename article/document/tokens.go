package document

import (
	"bytes"
	"strconv"
)

// Types of tokens in content streams and character maps. In addition, numbers are float64 and arrays are []any.
type (
	pdfName   string
	pdfString string
	pdfOp     string
)

// maxArray limits the nesting of arrays. Brackets of arrays that are nested deeper are ignored.
const maxArray = 16

// lexer reads the tokens of a content stream or a character map (ISO 32000-1, section 7.2). It skips invalid input, in linear time.
type lexer struct {
	data []byte
	at   int
}

// next returns the next token, nil at the end. It does not parse dictionaries: their delimiters << and >> are returned as operators, and
// their contents as ordinary tokens.
func (l *lexer) next(depth int) any {
	for {
		l.blanks()
		if l.at >= len(l.data) {
			return nil
		}
		switch c := l.data[l.at]; {
		case c == '(':
			return l.literal()
		case c == '<' && l.peek(1) == '<', c == '>' && l.peek(1) == '>':
			l.at += 2
			return pdfOp(string(c) + string(c))
		case c == '<':
			return l.hexadecimal()
		case c == '[':
			if l.at++; depth < maxArray {
				return l.array(depth + 1)
			}
		case c == ']' || c == '{' || c == '}' || c == ')' || c == '>':
			l.at++
			if c == ']' {
				return pdfOp("]")
			}
		case c == '/':
			l.at++
			return pdfName(unescapeName(l.word()))
		default:
			return number(l.word())
		}
	}
}

func (l *lexer) peek(n int) byte {
	if l.at+n < len(l.data) {
		return l.data[l.at+n]
	}
	return 0
}

func (l *lexer) blanks() {
	for l.at < len(l.data) {
		switch c := l.data[l.at]; {
		case c == '%':
			if end := bytes.IndexAny(l.data[l.at:], "\r\n"); end >= 0 {
				l.at += end
			} else {
				l.at = len(l.data)
			}
		case isBlank(c):
			l.at++
		default:
			return
		}
	}
}

func isBlank(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

// word reads a word, up to a blank or a delimiter.
func (l *lexer) word() string {
	start := l.at
	for l.at < len(l.data) && !isBlank(l.data[l.at]) && bytes.IndexByte([]byte("()<>[]{}/%"), l.data[l.at]) < 0 {
		l.at++
	}
	return string(l.data[start:l.at])
}

// number returns a word as a number or, if it is none, as an operator.
func number(w string) any {
	if f, err := strconv.ParseFloat(w, 64); err == nil && (w[0] < 'A') {
		return f
	}
	return pdfOp(w)
}

func (l *lexer) array(depth int) []any {
	var all []any
	for {
		switch t := l.next(depth); t {
		case nil:
			return all
		case pdfOp("]"):
			return all
		default:
			all = append(all, t)
		}
	}
}

// literal reads a string in parentheses.
func (l *lexer) literal() pdfString {
	var out []byte
	open := 0
	for ; l.at < len(l.data); l.at++ {
		c := l.data[l.at]
		switch c {
		case '(':
			if open++; open == 1 {
				continue
			}
		case ')':
			if open--; open == 0 {
				l.at++
				return pdfString(out)
			}
		case '\\':
			l.at++
			out = l.escape(out)
			continue
		}
		out = append(out, c)
	}
	return pdfString(out)
}

// escape appends the value of the escape sequence after a backslash, and leaves l.at at the last byte of the sequence.
func (l *lexer) escape(out []byte) []byte {
	c := l.peek(0)
	switch c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b', 'f':
		return append(out, ' ')
	case '\r':
		if l.peek(1) == '\n' {
			l.at++
		}
		return out
	case '\n':
		return out
	}
	if c < '0' || c > '7' {
		return append(out, c)
	}
	code := 0
	for i := range 3 {
		if c = l.peek(i); c < '0' || c > '7' {
			l.at += i - 1
			return append(out, byte(code))
		}
		code = code<<3 | int(c-'0')
	}
	l.at += 2
	return append(out, byte(code))
}

// hexadecimal reads a string in angle brackets.
func (l *lexer) hexadecimal() pdfString {
	var out []byte
	digits, code := 0, 0
	for l.at++; l.at < len(l.data) && l.data[l.at] != '>'; l.at++ {
		if d := hexDigit(l.data[l.at]); d >= 0 {
			code = code<<4 | d
			if digits++; digits%2 == 0 {
				out, code = append(out, byte(code)), 0
			}
		}
	}
	l.at++
	if digits%2 == 1 {
		out = append(out, byte(code<<4))
	}
	return pdfString(out)
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// unescapeName decodes #XX in a name.
func unescapeName(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '#' && i+2 < len(s) && hexDigit(s[i+1]) >= 0 && hexDigit(s[i+2]) >= 0 {
			out = append(out, byte(hexDigit(s[i+1])<<4|hexDigit(s[i+2])))
			i += 2
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}

// skipImage skips the data of an inline image, which begins after ID and ends before an EI between blanks.
func (l *lexer) skipImage() {
	for {
		i := bytes.Index(l.data[min(l.at, len(l.data)):], []byte("EI"))
		if i < 0 {
			l.at = len(l.data)
			return
		}
		before := l.at + i
		l.at = before + 2
		if before > 0 && isBlank(l.data[before-1]) && (l.at >= len(l.data) || isBlank(l.data[l.at])) {
			return
		}
	}
}
