package fetcher

import (
	"errors"
	"io"
	"testing"
)

// hesitant is a reader that returns one byte in every few reads, and nothing in the others.
type hesitant struct{ every, reads, left int }

func (h *hesitant) Read(p []byte) (int, error) {
	h.reads++
	switch {
	case h.left == 0:
		return 0, io.EOF
	case h.reads%h.every != 0:
		return 0, nil
	}
	h.left--
	p[0] = 'x'
	return 1, nil
}

// A fetch gives up on a reader that returns neither bytes nor an error, but waits for one that only pauses.
func TestReaderWithoutProgressIsGivenUp(t *testing.T) {
	x := &exchange{f: newRig(t, Config{}).f}
	for _, tc := range []struct {
		every int
		want  error
	}{{50, io.EOF}, {1 << 20, io.ErrNoProgress}} {
		h := &hesitant{every: tc.every, left: 5}
		b, err := x.readTo(h, &source{}, x.f.buffers.get(100), 100)
		if !errors.Is(err, tc.want) || tc.every == 50 && len(b) != 5 || h.reads > 1000 {
			t.Errorf("one byte in %d reads: %d bytes after %d reads, %v", tc.every, len(b), h.reads, err)
		}
	}
}
