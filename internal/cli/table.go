package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// tableWidth is the width of a terminal that a table is laid out for.
const tableWidth = 80

// Table lays out text in columns that are as wide as their widest cell. If that is too wide for a terminal of 80 columns, the first
// column is shortened in the middle of its cells; text in a last column that is aligned to the left may go on beyond.
type Table struct {
	indent string
	right  []bool // aligned to the right, by column
	rows   []tableRow
}

// tableRow holds the cells of a row, or a line between rows.
type tableRow struct {
	cells []string
	line  string
}

// NewTable returns a table with a header row. Columns whose head begins with ">" are aligned to the right.
func NewTable(indent string, heads ...string) *Table {
	t := &Table{indent: indent}
	names := make([]any, len(heads))
	for i, head := range heads {
		name, right := strings.CutPrefix(head, ">")
		names[i], t.right = name, append(t.right, right)
	}
	t.Row(names...)
	return t
}

// Row adds a row, of as many cells as there are heads.
func (t *Table) Row(cells ...any) {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = Printable(fmt.Sprint(cell))
	}
	t.rows = append(t.rows, tableRow{cells: texts})
}

// Line adds a line between rows, which has no columns.
func (t *Table) Line(text string) { t.rows = append(t.rows, tableRow{line: text}) }

// String returns the lines of the table.
func (t *Table) String() string {
	last := len(t.right) - 1
	widths, total := make([]int, len(t.right)), len(t.indent)+2*last
	for _, row := range t.rows {
		for i, cell := range row.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, n := range widths {
		if i < last || t.right[i] {
			total += n
		}
	}
	widths[0] = max(min(widths[0], 16), widths[0]-max(0, total-tableWidth))
	var b strings.Builder
	for _, row := range t.rows {
		text := t.indent
		for i, cell := range row.cells {
			if i == 0 {
				cell = Middle(cell, widths[0])
			}
			gap := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell)))
			if t.right[i] {
				cell = gap + cell
			} else {
				cell += gap
			}
			if i < last {
				cell += "  "
			}
			text += cell
		}
		if row.cells == nil {
			text = row.line
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	return b.String()
}

// Middle returns a text in at most width characters, with the middle left out if it is longer.
func Middle(text string, width int) string {
	all := []rune(text)
	if len(all) <= width {
		return text
	}
	front := (width - 3) / 2
	return string(all[:front]) + "..." + string(all[len(all)-(width-3-front):])
}
