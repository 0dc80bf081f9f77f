package article

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxColumns limits the columns of a Markdown table, because each row is padded. A wider table is written as blocks.
const maxColumns = 64

// gridOf returns the rows of a data table, with nil for positions that a spanning cell covers. ok is false for a table that Markdown cannot
// express, and for one that is only layout: with one column, blocks in its cells, or hardly any cells.
func gridOf(table *html.Node) (rows [][]*html.Node, ok bool) {
	width, cells := 0, 0
	var down []int // keyed by column: number of rows that a cell above still covers
	for _, tr := range rowsOf(table) {
		var row []*html.Node
		for c := tr.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom != atom.Td && c.DataAtom != atom.Th {
				continue
			}
			if !simple(c) {
				return nil, false
			}
			for len(row) < len(down) && down[len(row)] > 0 {
				down[len(row)]--
				row = append(row, nil)
			}
			cells++
			tall := span(c, "rowspan")
			for i := range span(c, "colspan") {
				cell := c
				if i > 0 {
					cell = nil
				}
				for len(down) <= len(row) {
					down = append(down, 0)
				}
				down[len(row)] = tall - 1
				row = append(row, cell)
				if len(row) > maxColumns {
					return nil, false
				}
			}
		}
		for i := len(row); i < len(down); i++ {
			down[i] = max(0, down[i]-1)
		}
		width = max(width, len(row))
		rows = append(rows, row)
	}
	return rows, width > 1 && width*len(rows) <= 8*cells+64
}

// rowsOf returns the rows of a table, without those of nested tables.
func rowsOf(table *html.Node) (rows []*html.Node) {
	for c := table.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Tr:
			rows = append(rows, c)
		case atom.Thead, atom.Tbody, atom.Tfoot:
			rows = append(rows, rowsOf(c)...)
		}
	}
	return rows
}

// simple reports whether a cell contains at most one paragraph.
func simple(cell *html.Node) bool {
	paragraphs := 0
	for d := range cell.Descendants() {
		switch d.DataAtom {
		case atom.Ul, atom.Ol, atom.Pre, atom.Table, atom.Blockquote, atom.Dl, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			return false
		case atom.P:
			if paragraphs++; paragraphs > 1 {
				return false
			}
		}
	}
	return true
}

func span(cell *html.Node, name string) int {
	n, err := strconv.Atoi(strings.TrimSpace(attr(cell, name)))
	if err != nil {
		return 1
	}
	return max(1, min(n, 1000))
}

// table writes a table. The first row is its header if it consists of TH elements or is in a THEAD; otherwise the header is empty.
func (w *mdWriter) table(table *html.Node, rows [][]*html.Node) {
	for c := table.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Caption {
			w.block(c)
		}
	}
	width := 0
	for _, row := range rows {
		width = max(width, len(row))
	}
	var lines []string
	var rule strings.Builder
	rule.WriteByte('|')
	for i := range width {
		rule.WriteString(" " + alignment(rows, i) + " |")
	}
	if !isHead(rows[0]) {
		lines = append(lines, "|"+strings.Repeat("  |", width), rule.String())
	}
	for _, row := range rows {
		var b strings.Builder
		b.WriteByte('|')
		for i := range width {
			b.WriteByte(' ')
			if i < len(row) && row[i] != nil {
				w.cell = true
				w.inside(row[i])
				b.WriteString(strings.ReplaceAll(w.take(), "\n", " "))
				w.cell = false
			}
			b.WriteString(" |")
		}
		lines = append(lines, b.String())
		if len(lines) == 1 {
			lines = append(lines, rule.String())
		}
	}
	w.lines(lines...)
}

var alignStyle = regexp.MustCompile(`(?i)text-align\s*:\s*(left|right|center)`)

// alignment returns the delimiter below the header of a column. It shows the alignment, if all cells of the column have the same.
func alignment(rows [][]*html.Node, column int) string {
	side, some := "", false
	for _, row := range rows {
		if column >= len(row) || row[column] == nil {
			continue
		}
		cell := row[column]
		own := strings.ToLower(attr(cell, "align"))
		if style := attr(cell, "style"); own == "" {
			if m := alignStyle.FindStringSubmatch(style[:min(len(style), 256)]); m != nil {
				own = strings.ToLower(m[1])
			}
		}
		if some && own != side {
			return "---"
		}
		side, some = own, true
	}
	switch side {
	case "left":
		return ":---"
	case "right":
		return "---:"
	case "center":
		return ":---:"
	}
	return "---"
}

func isHead(row []*html.Node) bool {
	for _, cell := range row {
		if cell != nil && cell.DataAtom != atom.Th && cell.Parent.Parent.DataAtom != atom.Thead {
			return false
		}
	}
	return len(row) > 0
}
