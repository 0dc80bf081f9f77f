package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// tableWidth is the terminal width for tables.
const tableWidth = 80

// Table arranges text in columns that are as wide as their widest cell. If the table is too wide for a terminal of 80 columns, the cells
// of the first column are shortened in the middle; left-aligned text in the last column may extend beyond the width.
type Table struct {
	indent string
	right  []bool // by column: whether its cells are right-aligned
	rows   []tableRow
}

// tableRow holds the cells of a row, or a line between rows.
type tableRow struct {
	cells []string
	line  string
}

// NewTable returns a table with a header row. Columns whose header begins with ">" are right-aligned.
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

// Row adds a row with as many cells as there are headers.
func (t *Table) Row(cells ...any) {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = Printable(fmt.Sprint(cell))
	}
	t.rows = append(t.rows, tableRow{cells: texts})
}

// Line adds a line without columns between rows.
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

// Middle returns a text in at most width characters. If it is longer, the middle is left out.
func Middle(text string, width int) string {
	all := []rune(text)
	if len(all) <= width {
		return text
	}
	front := (width - 3) / 2
	return string(all[:front]) + "..." + string(all[len(all)-(width-3-front):])
}
