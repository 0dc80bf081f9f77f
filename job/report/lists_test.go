package report

import (
	"encoding/csv"
	"strings"
	"testing"
)

// TestHostileCells: no cell is computed by a spreadsheet or obeyed by a terminal.
func TestHostileCells(t *testing.T) {
	for _, text := range []string{"=1+1", "＝1+1", "\n=1+1", "\r@x", "a\x1b[31mred", "\x07", "a\u202eb", "+1"} {
		l := newTable("cell")
		l.row(text)
		rows, err := csv.NewReader(strings.NewReader(string(l.bytes()))).ReadAll()
		if err != nil || len(rows) != 2 {
			t.Fatalf("%q: %v, %q", text, err, rows)
		}
		cell := rows[1][0]
		if strings.ContainsAny(cell, "\x1b\x07\r\u202e") || strings.ContainsRune("=+@＝\n\t", []rune(cell)[0]) {
			t.Errorf("%q is the cell %q", text, cell)
		}
	}
}
