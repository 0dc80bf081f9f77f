package fetcher

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"time"
)

// descriptorPause is the time between two attempts to open something for which there was no file descriptor.
const descriptorPause = 100 * time.Millisecond

// full reports whether err says that this process, or this machine, cannot open another file.
func full(err error) bool {
	var dns *net.DNSError // wraps no other error
	if errors.As(err, &dns) {
		return strings.Contains(dns.Err, syscall.EMFILE.Error()) || strings.Contains(dns.Err, syscall.ENFILE.Error())
	}
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// makeRoom closes the connections that are idle.
func (f *Fetcher) makeRoom() { f.pool.closeAll() }

// connect opens the connection below TLS. While there is no file descriptor for it, it waits for one as long as the
// Permit is valid, and time limits are suspended.
func (a *attempt) connect(ctx context.Context) (net.Conn, error) {
	for {
		c, err := a.open(ctx)
		if !full(err) {
			return c, err
		}
		a.f.makeRoom()
		if !a.awaitRoom(ctx) {
			return nil, &Error{Phase: phaseConnect, Reason: ReasonPermit, Err: err}
		}
	}
}

// awaitRoom waits before the next attempt and reports whether to make one.
func (a *attempt) awaitRoom(ctx context.Context) bool {
	defer a.watch.pause()()
	left := time.Until(a.expires)
	return left > 0 && sleep(ctx, min(left, descriptorPause))
}

// sleep waits for d and reports whether it did so to the end: false if ctx ended first.
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
