package terminal

import (
	"math"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/amble-crawler/amble/internal/cli"
)

// Style is a style of text. It only repeats what the text says, so nothing is lost without colour.
type Style string

// The styles, as SGR parameters.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
)

// Span is a part of a line. Text cannot move the cursor or change colours: unprintable characters are escaped.
type Span struct {
	Text  string
	Style Style
}

// Row is a line of styled text.
type Row []Span

// ellipsis marks a truncated line. It is ASCII, because every terminal can show that.
const ellipsis = "..."

// Whole returns the row at its full length, without a line end.
func (r Row) Whole(color bool) string { return r.Text(math.MaxInt, color) }

// Text returns the row, truncated to the given number of columns, without a line end.
func (r Row) Text(columns int, color bool) string {
	room, mark := max(0, columns), ""
	if r.Columns() > room {
		mark = ellipsis[:min(len(ellipsis), room)]
		room -= len(mark)
	}
	var b strings.Builder
	for _, span := range r {
		text, n := fit(cli.Printable(span.Text), room)
		room -= n
		paint := color && span.Style != Plain && text != ""
		if paint {
			b.WriteString("\x1b[" + string(span.Style) + "m")
		}
		b.WriteString(text)
		if paint {
			b.WriteString("\x1b[0m")
		}
	}
	return b.String() + mark
}

// Columns returns the number of columns of the whole row.
func (r Row) Columns() (n int) {
	for _, span := range r {
		n += Width(cli.Printable(span.Text))
	}
	return n
}

// Width returns the number of columns that printable text takes up.
func Width(s string) (n int) {
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth returns the number of columns that a character takes up: 0 for a combining one, 2 for a wide one such as Chinese.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// fit returns the longest beginning of s that fits the columns, and its width.
func fit(s string, columns int) (string, int) {
	used := 0
	for i, r := range s {
		n := runeWidth(r)
		if used+n > columns {
			return s[:i], used
		}
		used += n
	}
	return s, used
}

// Left returns text at the left of a field with this many columns. Longer text is cut.
func Left(text string, columns int) string {
	text = cli.Printable(text)
	if Width(text) > columns {
		text, _ = fit(text, columns-1)
		text += "~"
	}
	return text + strings.Repeat(" ", max(0, columns-Width(text)))
}

// Right returns text at the right of a field with this many columns. Longer text is not cut.
func Right(text string, columns int) string {
	return strings.Repeat(" ", max(0, columns-Width(text))) + text
}

// Wrap arranges facts, in order of importance, in at most the given number of rows. Two blanks separate facts. The last row may be too
// long: it is truncated later.
func Wrap(facts []Span, columns, rows int) []Row {
	var all []Row
	used := 0
	for _, fact := range facts {
		n := Width(cli.Printable(fact.Text))
		switch last := len(all) - 1; {
		case last >= 0 && (used+2+n <= columns || len(all) == rows):
			all[last] = append(all[last], Span{Text: "  "}, fact)
			used += 2 + n
		default:
			all, used = append(all, Row{fact}), n
		}
	}
	return all
}
