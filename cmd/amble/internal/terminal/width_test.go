package terminal

import (
	"bytes"
	"testing"
)

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "plain": 5, "ümlaut": 6, "日本": 4, "한국": 4, "ｆｕｌｌ": 8, "e\u0301": 1, "ไทย": 3, "ก้อน": 3, "😀": 2, "א": 1,
	} {
		if got := Width(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
	if got := (Row{{Text: "日本語"}}).Text(5, false); got != "日..." {
		t.Errorf("cut to %q", got)
	}
	if got := Left("日本語", 4); got != "日~ " {
		t.Errorf("in a field of 4 columns: %q", got)
	}
}

// If a terminal becomes narrower, the drawn status occupies more lines than before. All of them are replaced.
func TestStatusOfATerminalThatBecameNarrower(t *testing.T) {
	var out bytes.Buffer
	columns := 40
	s := NewScreen(&out, true, false)
	s.columns = func() int { return columns }
	s.Status(Row{{Text: "one one one one one one"}}, Row{{Text: "two"}})
	columns = 10
	out.Reset()
	s.Status(Row{{Text: "new"}})
	if got, want := out.String(), "\r\x1b[3A\rnew\x1b[K\x1b[J"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
