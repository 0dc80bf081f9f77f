package fetcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// sending answers with a body of n bytes in one piece.
func sending(n int) func(net.Conn) {
	return func(c net.Conn) {
		if request(c) != "" {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", n, strings.Repeat("x", n))
			_, _ = io.Copy(io.Discard, c)
		}
	}
}

// A body reserves memory as it grows; a small body reserves none.
func TestBodiesReserveWhatTheyTake(t *testing.T) {
	for size, want := range map[int]int{1000: 0, knownBuffer - 1: 0, 300_000: 512<<10 - knownBuffer, 5 << 20: 5<<20 + 1 - knownBuffer} {
		reserved := 0
		c := Config{MaxBody: 5 << 20, Reserve: func(_ context.Context, n int) error { reserved += n; return nil }}
		bubble(t, c, sending(size), func(r *rig) {
			page := r.page("http://a.test/")
			if len(page.Body) != size || page.Truncated != "" {
				t.Errorf("%d bytes of %d, %s", len(page.Body), size, page.Truncated)
			}
		})
		if reserved != want {
			t.Errorf("a body of %d bytes has reserved %d, want %d", size, reserved, want)
		}
	}
}

// Waiting for memory does not count towards any time limit.
func TestWaitingForMemoryIsNotTheServersTime(t *testing.T) {
	c := Config{MinRate: 1000, Reserve: func(context.Context, int) error { time.Sleep(time.Hour); return nil }}
	bubble(t, c, sending(300_000), func(r *rig) {
		if page := r.page("http://a.test/"); page.Truncated != "" || len(page.Body) != 300_000 {
			t.Errorf("%d bytes, %s", len(page.Body), page.Truncated)
		}
	})
}

// After the wait, the time limits continue where they stopped.
func TestLimitsGoOnAfterTheWaitForMemory(t *testing.T) {
	c := Config{Reserve: func(context.Context, int) error { time.Sleep(time.Hour); return nil }}
	talk := dripping(0, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", strings.Repeat("x", 100_000))
	bubble(t, c, talk, func(r *rig) {
		start := time.Now()
		page := r.page("http://a.test/")
		if page.Truncated != reasonIdleTimeout || time.Since(start) != time.Hour+DefaultIdleTimeout {
			t.Errorf("%s after %v", page.Truncated, time.Since(start))
		}
	})
}

// A fetch that cannot get memory fails, without blaming the server.
func TestNoMemoryEndsTheFetch(t *testing.T) {
	why := errors.New("no more memory")
	bubble(t, Config{Reserve: func(context.Context, int) error { return why }}, sending(300_000), func(r *rig) {
		if e := r.wantReason("http://a.test/", PhaseBody, ReasonCanceled); !errors.Is(e, why) {
			t.Error(e)
		}
	})
}
