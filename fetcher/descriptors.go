package fetcher

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"time"
)

// descriptorPause is the time between two attempts to open what this process had no file descriptor for.
const descriptorPause = 100 * time.Millisecond

// full reports whether err says that this process, or this machine, can have no further file open.
func full(err error) bool {
	var dns *net.DNSError // wraps no other error
	if errors.As(err, &dns) {
		return strings.Contains(dns.Err, syscall.EMFILE.Error()) || strings.Contains(dns.Err, syscall.ENFILE.Error())
	}
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// makeRoom gives up the connections that only wait.
func (f *Fetcher) makeRoom() { f.pool.closeIf(func(*conn) bool { return true }) }

// connect opens the connection below TLS. While there is no file descriptor for it, it waits for one as long as the
// Permit holds, and time limits stand still.
func (a *attempt) connect(ctx context.Context) (net.Conn, error) {
	for {
		c, err := a.open(ctx)
		if !full(err) {
			return c, err
		}
		a.f.makeRoom()
		if !a.awaitRoom(ctx) {
			return nil, &Error{Phase: PhaseConnect, Reason: ReasonPermit, Err: err}
		}
	}
}

// awaitRoom waits before the next attempt. It reports whether there is to be one.
func (a *attempt) awaitRoom(ctx context.Context) bool {
	defer a.watch.pause()()
	left := time.Until(a.expires)
	return left > 0 && sleep(ctx, min(left, descriptorPause))
}

// sleep reports whether it was not ended by ctx.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
