package ledger

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReader reads lines of any length with their offsets, and ignores an incomplete last line.
func TestReader(t *testing.T) {
	const first = `{"event":"start","run":"r","id":1,"agent":"a/1"}` + "\n"
	long := `{"event":"end","run":"r","id":1,"error":"` + strings.Repeat("x", 200_000) + `"}` + "\n"
	for _, torn := range []string{"", `{"event":"end"`, strings.Repeat("\x00", 3*maxLine)} {
		r := NewReader(strings.NewReader(first+long+first+torn), 7)
		for i, want := range []struct {
			event  string
			offset int
		}{{Start, 7}, {End, 7 + len(first)}, {Start, 7 + len(first) + len(long)}} {
			e, err := r.Next()
			if err != nil || e.Event != want.event || e.ID != 1 || e.Run != "r" || r.Offset() != int64(want.offset) {
				t.Fatalf("line %d at %d: %v, %v", i, r.Offset(), err, e)
			}
		}
		if e, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%.20q: %v, %v", torn, e, err)
		}
	}
}

func TestReaderErrors(t *testing.T) {
	for _, c := range []struct{ line, says string }{
		{"nonsense\n", "the line at byte 5: "}, {"\n", "at byte 5"}, {`{"event":"end","run":"r"} x` + "\n", "at byte 5"}, {`{"event":"end"}` + "\n", "at byte 5"},
		{`{"event":"end","run":"r","id":-1}` + "\n", "at byte 5"}, {strings.Repeat(" ", maxLine+1<<17) + "\n", "is longer than 1048576 bytes"},
	} {
		if _, err := NewReader(strings.NewReader(c.line), 5).Next(); !errors.Is(err, ErrLine) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.40q: %v", c.line, err)
		}
	}
	broken := errors.New("broken")
	if _, err := NewReader(iotest.ErrReader(broken), 0).Next(); !errors.Is(err, broken) || errors.Is(err, ErrLine) {
		t.Error(err)
	}
}

func TestClauseIDs(t *testing.T) {
	for id, name := range clauseNames {
		if c := ClauseIDOf(name); int(c) != id || c.String() != name {
			t.Errorf("%q: %d, %q", name, c, c)
		}
	}
	if c := ClauseIDOf("no clause"); c != 0 {
		t.Error(c)
	}
}
