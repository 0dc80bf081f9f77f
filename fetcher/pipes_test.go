package fetcher

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipeAddr is the address of every name in a pipes network.
var pipeAddr = netip.MustParseAddr("93.184.215.14")

// pipes is an in-memory network for one synctest bubble: talk serves every connection.
type pipes struct {
	talk  func(net.Conn)
	delay time.Duration // time to connect

	served sync.WaitGroup

	mu    sync.Mutex
	dials int
	conns int
}

func newPipes(talk func(net.Conn)) *pipes { return &pipes{talk: talk} }

func (n *pipes) rig(t *testing.T, c Config) *rig {
	t.Helper()
	c.DialContext, c.Resolver = n.dial, n
	t.Cleanup(n.served.Wait)
	return newRig(t, c)
}

func (n *pipes) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{pipeAddr}, nil
}

func (n *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	select {
	case <-time.After(n.delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.count(1, 1)
	client, server := net.Pipe()
	n.served.Go(func() {
		defer n.count(0, -1)
		defer server.Close()
		n.talk(server)
	})
	return client, nil
}

func (n *pipes) count(dials, conns int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials += dials
	n.conns += conns
}

func (n *pipes) dialled() int { n.mu.Lock(); defer n.mu.Unlock(); return n.dials }
func (n *pipes) open() int    { n.mu.Lock(); defer n.mu.Unlock(); return n.conns }

// keepAlive answers every request on a connection with text.
func keepAlive(text string) func(net.Conn) {
	return func(c net.Conn) {
		for request(c) != "" {
			io.WriteString(c, text)
		}
	}
}

// bubble runs f in a synctest bubble with a network whose servers run talk.
func bubble(t *testing.T, c Config, talk func(net.Conn), f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(newPipes(talk).rig(t, c)) })
}
