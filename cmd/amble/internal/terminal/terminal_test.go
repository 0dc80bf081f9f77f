package terminal_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
	"github.com/amble-crawler/amble/cmd/amble/internal/terminal/vt"
	"github.com/amble-crawler/amble/internal/hidden"
)

func row(text string) terminal.Row { return terminal.Row{{Text: text}} }

// The screen shows all lines, complete and in order, and below them only the present status, whatever the lines and the status are.
func TestStatusStaysBelowEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tty := vt.New(terminal.DefaultColumns, 24)
		s := terminal.NewScreen(tty, true, rapid.Bool().Draw(t, "color"))
		var want, status []string
		for i := range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				line := fmt.Sprintf("line %d", i)
				fmt.Fprintln(s, line)
				want = append(want, line)
			case 1:
				s.Print(fmt.Sprintf("head %d\nbody\n", i))
				want = append(want, fmt.Sprintf("head %d", i), "body")
			default:
				status = nil
				var rows []terminal.Row
				for j := range rapid.IntRange(0, 3).Draw(t, "rows") {
					text := strings.Repeat("x", rapid.IntRange(1, 79).Draw(t, "length")) + fmt.Sprint(j)
					status, rows = append(status, text[:min(len(text), 79)]), append(rows, terminal.Row{{Text: text, Style: terminal.Red}})
				}
				s.Status(rows...)
			}
			for i, l := range status {
				if len(l) == 79 && !strings.HasSuffix(l, fmt.Sprint(i)) {
					status[i] = l[:76] + "..."
				}
			}
			got := strings.Split(strings.TrimSuffix(tty.String(), "\n"), "\n")
			if all := append(append([]string{}, want...), status...); strings.Join(got, "\n") != strings.Join(all, "\n") {
				t.Fatalf("the screen is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(all, "\n"))
			}
		}
		if len(tty.Odd) > 0 {
			t.Fatalf("controls that a terminal may not know: %v", tty.Odd)
		}
	})
}

// An unchanged status is not written again. A line and the status below it are written together.
func TestStatusDoesNotFlicker(t *testing.T) {
	w := &writes{}
	s := terminal.NewScreen(w, true, false)
	s.Status(row("one"))
	s.Status(row("one"))
	s.Status(row("two"), row("three"))
	fmt.Fprintln(s, "line")
	s.Status()
	want := []string{"\rone\x1b[K\x1b[J", "", "\r\rtwo\x1b[K\nthree\x1b[K\x1b[J", "\r\x1b[1A\x1b[Jline\n\rtwo\x1b[K\nthree\x1b[K\x1b[J", "\r\x1b[1A\x1b[J"}
	if got := fmt.Sprintf("%q", w.all); got != fmt.Sprintf("%q", want) {
		t.Errorf("%s, want\n%q", got, want)
	}
}

type writes struct{ all []string }

func (w *writes) Write(b []byte) (int, error) {
	w.all = append(w.all, string(b))
	return len(b), nil
}

// Without a terminal no status is written, and text is passed on unchanged.
func TestNoStatusWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	s := terminal.NewScreen(&out, false, false)
	s.Status(row("status"))
	fmt.Fprintln(s, "line")
	s.Print("head\nbody\n")
	if got := out.String(); got != "line\nhead\nbody\n" {
		t.Errorf("%q", got)
	}
}

// hostile generates text with which a site could try to control the terminal.
var hostile = rapid.Custom(func(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{
			"\x1b[2J", "\x1b]0;title\x07", "\x1b]8;;http://evil/\x1b\\", "\x1bc", "\x1b[31m", "\x9b31m", "\u009b2J", "\r", "\n", "\b\b", "\x00", "\x7f",
			"\u202e", "\u2066", "\u200b", "\ufeff", "\xff\xfe", "\U000e0041", "日本", "é", "e\u0301", "😀", "plain",
		}),
		rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	), 0, 6).Draw(t, "parts")
	return strings.Join(parts, "")
})

// A row fits the width, and no text in it can control the terminal. Without colour, it has no control characters at all.
func TestRowsAreSafeAndFit(t *testing.T) {
	styles := []terminal.Style{terminal.Plain, terminal.Bold, terminal.Dim, terminal.Red}
	rapid.Check(t, func(t *rapid.T) {
		r := terminal.Row{{Text: "|"}} // a base character for a combining character
		for range rapid.IntRange(1, 4).Draw(t, "spans") {
			r = append(r, terminal.Span{Text: hostile.Draw(t, "text"), Style: rapid.SampledFrom(styles).Draw(t, "style")})
		}
		columns := rapid.IntRange(4, 100).Draw(t, "columns")
		plain := r.Text(columns, false)
		check(t, plain)
		if n := terminal.Width(plain); n > columns {
			t.Fatalf("%q takes %d columns of %d", plain, n, columns)
		}
		tty := vt.New(200, 10)
		fmt.Fprint(tty, r.Text(columns, true))
		if got := tty.String(); len(tty.Odd) > 0 || got != strings.TrimRight(plain, " ") {
			t.Fatalf("with colour %q (%v), without %q", got, tty.Odd, plain)
		}
	})
}

// No text that is written to a screen can control the terminal.
func TestWrittenTextIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		s := terminal.NewScreen(&out, true, false)
		text := hostile.Draw(t, "text")
		fmt.Fprint(s, text)
		s.Print(text)
		for line := range strings.SplitSeq(out.String(), "\n") {
			check(t, strings.ReplaceAll(line, "\t", ""))
		}
	})
}

// check reports an error if text has a character that is invisible or could control a terminal.
func check(t *rapid.T, text string) {
	for _, r := range text {
		if unicode.IsControl(r) || hidden.Is(r) {
			t.Fatalf("%q contains %U", text, r)
		}
	}
}

func TestWrap(t *testing.T) {
	facts := []terminal.Span{{Text: "10 pages"}, {Text: "1.0/s"}, {Text: "5 queued"}, {Text: "eta 3s"}}
	for columns, want := range map[int]string{80: "10 pages  1.0/s  5 queued  eta 3s", 20: "10 pages  1.0/s|5 queued  eta 3s", 12: "10 pages|1.0/s  5 ..."} {
		var got []string
		for _, r := range terminal.Wrap(facts, columns, 2) {
			got = append(got, r.Text(columns, false))
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("in %d columns %q, want %q", columns, s, want)
		}
	}
}
