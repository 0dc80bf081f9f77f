// Package terminal lays out output on a terminal: lines of results, logs and notes, and a status in the last lines of the screen, which is
// redrawn in place. It knows nothing of crawls: package cmd/amble/internal/view provides the lines.
//
// Reading order: terminal.go (the screen), row.go (styled text that fits a width), burst.go (many lines, few writes).
package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/amble-crawler/amble/internal/hidden"
)

// DefaultColumns is the assumed width of a terminal that does not report one.
const DefaultColumns = 80

// Screen receives messages for a person, line by line. If it is live, it shows a status in its last lines. Its methods may be called
// concurrently.
type Screen struct {
	columns func() int
	color   bool

	mu     sync.Mutex
	w      io.Writer
	live   bool  // whether a status is shown
	status []Row // rows of the status
	drawn  []int // widths of the status lines that are on the screen, in columns
	last   string
	cut    bool // whether the last line above the status is incomplete
}

// NewScreen returns a screen that writes to w. It shows a status only if live is set.
func NewScreen(w io.Writer, live, color bool) *Screen {
	return &Screen{w: w, live: live, color: color, columns: Columns(w)}
}

// Is reports whether w is a terminal.
func Is(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Columns returns a function that returns the present width of the terminal w, or DefaultColumns if w is not one.
func Columns(w io.Writer) func() int {
	file, ok := w.(*os.File)
	return func() int {
		if ok {
			if cols, _, err := term.GetSize(int(file.Fd())); err == nil && cols > 0 {
				return cols
			}
		}
		return DefaultColumns
	}
}

// Live reports whether the screen can show a status.
func (s *Screen) Live() bool { return s.live }

// Columns returns the present width of the screen, in columns.
func (s *Screen) Columns() int { return s.columns() }

// Color reports whether the screen has colour.
func (s *Screen) Color() bool { return s.color }

// Write implements io.Writer. The text appears above the status. It cannot control the terminal: invisible characters, and control
// characters other than line ends and tabs, are escaped.
func (s *Screen) Write(b []byte) (int, error) {
	if err := s.put(s.w, s.fold(hidden.Escape(plain(b)))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// fold wraps lines of text at words if the screen is a terminal.
func (s *Screen) fold(text []byte) []byte {
	if !Is(s.w) {
		return text
	}
	return Fold(text, s.columns())
}

// plain escapes C0 control characters other than line ends and tabs.
func plain(b []byte) []byte {
	control := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }
	if !bytes.ContainsFunc(b, control) {
		return b
	}
	var out []byte
	for _, c := range b {
		if control(rune(c)) {
			out = hidden.AppendEscape(out, rune(c))
		} else {
			out = append(out, c)
		}
	}
	return out
}

// Print writes text above the status. If the screen has colour, the first line is bold.
func (s *Screen) Print(text string) {
	first, rest, _ := strings.Cut(text, "\n")
	b := Row{{Text: first, Style: Bold}}.Whole(s.color) + "\n"
	_ = s.put(s.w, append([]byte(b), s.fold(hidden.Escape(plain([]byte(rest))))...)) // if the terminal is gone, the error cannot be shown
}

// Share returns a writer to w. If w is the terminal with the status, text appears above the status.
func (s *Screen) Share(w io.Writer) io.Writer {
	if s.live && sameFile(s.w, w) {
		return above{s, w}
	}
	return w
}

func sameFile(a, b io.Writer) bool {
	f, ok := a.(*os.File)
	g, too := b.(*os.File)
	if !ok || !too {
		return false
	}
	x, err := f.Stat()
	y, err2 := g.Stat()
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// above writes to the terminal of a screen, above the status.
type above struct {
	s *Screen
	w io.Writer
}

// Write implements io.Writer.
func (a above) Write(b []byte) (int, error) {
	if err := a.s.put(a.w, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// put replaces the status with text, and writes the status below it, all in one write: if the status were removed first, it would flicker.
func (s *Screen) put(w io.Writer, text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(text) == 0 {
		return nil
	}
	var b bytes.Buffer
	s.erase(&b)
	b.Write(text)
	s.cut = text[len(text)-1] != '\n'
	s.paint(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// Status replaces the status with these rows, truncated to the width of the terminal. Without rows there is no status.
func (s *Screen) Status(rows ...Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live {
		return
	}
	s.status = rows
	var b bytes.Buffer
	s.redraw(&b)
	_, _ = s.w.Write(b.Bytes()) // if the terminal is gone, the error cannot be shown
}

// Leave removes the status, for a process that exits immediately. It does nothing while another goroutine writes, since the terminal may
// hang.
func (s *Screen) Leave() {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	var b bytes.Buffer
	s.erase(&b)
	s.status = nil
	_, _ = s.w.Write(b.Bytes())
}

// erase removes the status from the screen and leaves the cursor at its start.
func (s *Screen) erase(b *bytes.Buffer) {
	if len(s.drawn) > 0 {
		s.home(b)
		b.WriteString("\x1b[J")
		s.drawn, s.last = nil, ""
	}
}

// home moves the cursor to the start of the status. If the terminal has become narrower, it has wrapped the status lines.
func (s *Screen) home(b *bytes.Buffer) {
	columns, up := s.columns(), -1
	for _, n := range s.drawn {
		up += max(1, (n+columns-1)/columns)
	}
	b.WriteByte('\r')
	if up > 0 {
		fmt.Fprintf(b, "\x1b[%dA", up)
	}
}

// redraw overwrites the status on the screen with the new one, without clearing it first.
func (s *Screen) redraw(b *bytes.Buffer) {
	switch text := s.text(); {
	case s.cut || text == "":
		s.erase(b)
	case text != s.last:
		if len(s.drawn) > 0 {
			s.home(b)
		}
		s.paint(b)
	}
}

// paint writes the status at the cursor.
func (s *Screen) paint(b *bytes.Buffer) {
	if !s.live || s.cut || len(s.status) == 0 {
		return
	}
	text := s.text()
	b.WriteString(text)
	s.drawn, s.last = s.drawn[:0], text
	for _, row := range s.status {
		s.drawn = append(s.drawn, min(row.Columns(), s.columns()-1))
	}
}

// text returns the status as text with escape sequences. Each line clears the rest of an earlier line, and the last one clears everything
// below. The last column stays free, because terminals differ in how they handle it.
func (s *Screen) text() string {
	if len(s.status) == 0 {
		return ""
	}
	var b bytes.Buffer
	b.WriteByte('\r')
	for i, row := range s.status {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(row.Text(s.columns()-1, s.color))
		b.WriteString("\x1b[K")
	}
	b.WriteString("\x1b[J")
	return b.String()
}
