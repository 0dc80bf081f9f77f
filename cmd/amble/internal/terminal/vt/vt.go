// Package vt is a small terminal emulator. It implements the control sequences that package terminal uses, so that tests can check the
// screen that a person would see, and documents can show it as a picture.
package vt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
)

// Cell is a character on a screen. The cell of the second half of a wide character is empty.
type Cell struct {
	Text  string
	Style terminal.Style
}

// Terminal holds all lines that were written. The last of them are its screen. The zero value is not usable.
type Terminal struct {
	columns, rows int
	lines         [][]Cell
	x, y          int // position of the cursor; y counts from the first line ever written
	style         terminal.Style
	rest          []byte // incomplete sequence or character at the end of the input

	// Odd lists the control sequences that were not understood. There are none in output of package terminal.
	Odd []string
}

// New returns a terminal of this size.
func New(columns, rows int) *Terminal { return &Terminal{columns: columns, rows: rows} }

// Write implements io.Writer.
func (t *Terminal) Write(b []byte) (int, error) {
	text := append(t.rest, b...)
	t.rest = nil
	for len(text) > 0 {
		n := t.step(text)
		if n == 0 {
			t.rest = slices.Clone(text)
			break
		}
		text = text[n:]
	}
	return len(b), nil
}

// step interprets one character or sequence and returns its length, 0 if it is incomplete.
func (t *Terminal) step(b []byte) int {
	switch c := b[0]; {
	case c == '\r':
		t.x = 0
	case c == '\n':
		t.x = 0 // as the line discipline of a terminal does
		t.y++
		t.line()
	case c == '\x1b':
		return t.sequence(b)
	case c < ' ' || c == 0x7f:
		t.odd(b[:1])
	case !utf8.FullRune(b):
		return 0
	default:
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError || r >= 0x80 && r < 0xa0 {
			t.odd(b[:n])
		} else {
			t.put(string(r))
		}
		return n
	}
	return 1
}

func (t *Terminal) odd(b []byte) { t.Odd = append(t.Odd, fmt.Sprintf("%q", b)) }

// line returns the line of the cursor.
func (t *Terminal) line() []Cell {
	for len(t.lines) <= t.y {
		t.lines = append(t.lines, nil)
	}
	return t.lines[t.y]
}

func (t *Terminal) put(char string) {
	w := terminal.Width(char)
	if w == 0 {
		if l := t.line(); t.x > 0 && t.x <= len(l) {
			l[t.x-1].Text += char
		}
		return
	}
	if t.x+w > t.columns {
		t.x, t.y = 0, t.y+1
	}
	l := t.line()
	for len(l) < t.x+w {
		l = append(l, Cell{Text: " "})
	}
	l[t.x] = Cell{char, t.style}
	if w == 2 {
		l[t.x+1] = Cell{}
	}
	t.lines[t.y] = l
	t.x += w
}

// sequence interprets a control sequence, such as CSI with a number and a letter, and returns its length.
func (t *Terminal) sequence(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if b[1] != '[' {
		t.odd(b[:2])
		return 2
	}
	end := 2
	for end < len(b) && b[end] < '@' {
		end++
	}
	if end == len(b) {
		return 0
	}
	n, err := strconv.Atoi(string(b[2:end]))
	switch l := t.line(); b[end] {
	case 'A':
		t.y = max(t.y-n, len(t.lines)-t.rows, 0)
	case 'K':
		t.lines[t.y] = l[:min(len(l), t.x)]
	case 'J':
		t.lines[t.y] = l[:min(len(l), t.x)]
		t.lines = t.lines[:t.y+1]
	case 'm':
		if t.style = terminal.Style(b[2:end]); n == 0 {
			t.style = terminal.Plain
		}
	default:
		err = strconv.ErrSyntax
	}
	if number := string(b[2:end]); number != "" && err != nil || number == "" && b[end] != 'K' && b[end] != 'J' {
		t.odd(b[:end+1])
	}
	return end + 1
}

// Lines returns all lines that were written and not removed, including those above the screen.
func (t *Terminal) Lines() [][]Cell { return t.lines }

// String returns the lines as text, without trailing blanks.
func (t *Terminal) String() string {
	var b strings.Builder
	for i, l := range t.lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		var line strings.Builder
		for _, c := range l {
			line.WriteString(c.Text)
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
	}
	return b.String()
}
