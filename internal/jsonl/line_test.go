package jsonl_test

import (
	"bufio"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/jsonl"
)

// spaces is a reader of n spaces.
type spaces struct{ n int64 }

func (s *spaces) Read(b []byte) (int, error) {
	if s.n == 0 {
		return 0, io.EOF
	}
	n := int(min(s.n, int64(len(b))))
	for i := range b[:n] {
		b[i] = ' '
	}
	s.n -= int64(n)
	return n, nil
}

// longLine returns a file of three lines, the second of the given length.
func longLine(n int64) io.Reader {
	return io.MultiReader(strings.NewReader("1\n"), &spaces{n}, strings.NewReader("\n3\n"))
}

// A line is read up to its maximum length, and the rest takes no memory.
func TestMemoryDoesNotGrowWithLine(t *testing.T) {
	skipLine := func(line []byte, _ *string) error { return nil }
	for name, read := range map[string]func(io.Reader) error{
		"Lines": func(r io.Reader) error { return jsonl.Lines(r, func(int, []byte) bool { return true }) },
		"Each": func(r io.Reader) error {
			return jsonl.Each(r, func() func([]byte, *string) error { return skipLine }, nil, func(*string) {})
		},
		"ReadLine": func(r io.Reader) error {
			br := bufio.NewReader(r)
			_, err := jsonl.ReadLine(br, nil)
			if _, long := jsonl.ReadLine(br, nil); long != nil {
				err = errors.Join(err, &jsonl.LineError{Line: 2, Err: long})
			}
			if line, after := jsonl.ReadLine(br, nil); after == nil && string(line) != "3\n" {
				t.Errorf("after the long line: %d bytes", len(line))
			}
			return err
		},
	} {
		if err := read(longLine(jsonl.MaxLine - 1)); err != nil {
			t.Errorf("%s: a line of MaxLine bytes: %v", name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := read(longLine(20 * jsonl.MaxLine))
		runtime.ReadMemStats(&after)
		var bad *jsonl.LineError
		if !errors.As(err, &bad) || bad.Line != 2 || !errors.Is(err, jsonl.ErrTooLong) || !strings.Contains(err.Error(), "longer than 16777216 bytes") {
			t.Errorf("%s: a longer line: %v", name, err)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 10*jsonl.MaxLine { // allows for the copies of append
			t.Errorf("%s: a line of %d bytes took %d", name, 20*jsonl.MaxLine, allocated)
		}
		if err := read(io.MultiReader(strings.NewReader("1\n2\n"), &spaces{jsonl.MaxLine + 1})); name != "ReadLine" && err != nil {
			t.Errorf("%s: an unfinished last line: %v", name, err)
		}
	}
}
