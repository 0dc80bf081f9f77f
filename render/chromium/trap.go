package chromium

import (
	"context"
	"net"
	"sync/atomic"
)

// trap is where connections go that a browser makes by itself: a listener that accepts, counts and closes. With
// namespaces nothing can reach it, and there is none.
type trap struct {
	l     net.Listener
	count atomic.Int64
	ended chan struct{}
}

// discard is a port at which nobody listens (RFC 863), for browsers that could not reach a listener.
const discard = 9

func newTrap(ctx context.Context, iso Isolation) (*trap, error) {
	if iso == Namespace {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, &Error{reasonIsolation, "no port on 127.0.0.1 for the listener that stops the browser's connections", err}
	}
	t := &trap{l: l, ended: make(chan struct{})}
	go t.serve()
	return t, nil
}

func (t *trap) serve() {
	defer close(t.ended)
	for {
		c, err := t.l.Accept()
		if err != nil {
			return
		}
		t.count.Add(1)
		_ = c.Close()
	}
}

func (t *trap) port() int {
	if t == nil {
		return discard
	}
	return t.l.Addr().(*net.TCPAddr).Port
}

func (t *trap) stopped() int64 {
	if t == nil {
		return 0
	}
	return t.count.Load()
}

func (t *trap) close() {
	if t != nil {
		_ = t.l.Close()
		<-t.ended
	}
}
