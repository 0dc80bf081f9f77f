package cli

import (
	"strings"
	"testing"
)

func TestTableColumnsAreAsWideAsWhatIsInThem(t *testing.T) {
	table := NewTable("  ", "host", ">left", "waits for")
	table.Row("a.test", 1, "nothing")
	table.Line("    a note")
	table.Row("b.example.test", 1234, "its turn")
	want := "  host            left  waits for\n" +
		"  a.test             1  nothing\n" +
		"    a note\n" +
		"  b.example.test  1234  its turn\n"
	if got := table.String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A long name is shortened in the middle, so that the numbers fit a terminal. Text in the last column may be longer.
func TestTableFitsATerminal(t *testing.T) {
	table := NewTable("", "host", ">pages", ">delay")
	table.Row("shop-"+strings.Repeat("long-", 20)+"name.example.test", 7, "1s")
	for line := range strings.Lines(table.String()) {
		if len(line) != 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	if got := table.String(); !strings.Contains(got, "\nshop-long-") || !strings.Contains(got, "...") || !strings.Contains(got, "name.example.test      7     1s\n") {
		t.Errorf("%s", got)
	}
}
