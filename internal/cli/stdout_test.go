package cli

import (
	"bytes"
	"io"
	"testing"
	"unicode/utf8"
)

// Hidden characters are escaped, and no others changed, however the output is split into writes.
func TestStdoutEscapesAcrossWrites(t *testing.T) {
	const text = "title: \u202eabc\u009b31m é日本😀\U000e0041 end\n"
	const want = `title: \u202eabc\u009b31m é日本😀\udb40\udc41 end` + "\n"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		s := &Stdout{w: &out}
		for rest := []byte(text); len(rest) > 0; {
			n := min(size, len(rest))
			if m, err := s.Write(rest[:n]); m != n || err != nil {
				t.Fatal(m, err)
			}
			rest = rest[n:]
		}
		if got := out.String(); got != want {
			t.Errorf("in pieces of %d: %q", size, got)
		}
	}
	var out bytes.Buffer
	s := &Stdout{w: &out}
	for _, b := range []byte("\x9b31m \xff\xc2 x\n") { // invalid UTF-8, which some terminals take for control characters
		if _, err := s.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if !utf8.Valid(out.Bytes()) || bytes.ContainsAny(out.Bytes(), "\x80\x9b") {
		t.Errorf("%q", &out)
	}
}

// Complete characters are written without a copy, because a crawl prints a line for each page.
func TestStdoutDoesNotCopy(t *testing.T) {
	out, line := NewStdout(io.Discard), []byte("{\"url\":\"http://example.org/für\"}\n")
	if n := testing.AllocsPerRun(100, func() { _, _ = out.Write(line) }); n > 0 {
		t.Errorf("%v allocations for a line", n)
	}
}
