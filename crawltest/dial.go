package crawltest

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"
)

// listener is the listener of all connections of a Web.
type listener struct {
	conns chan net.Conn
	done  chan struct{}
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. The http.Server calls it once.
func (l *listener) Close() error {
	close(l.done)
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

// DialContext connects to a site's address. addr is ip:port; a name is looked up first, as by net.Dialer, so DialContext also serves as
// the DialContext of an http.Transport. Errors are like those of package net: *net.OpError with ECONNREFUSED if nothing listens, or the
// error of the context if a fault lets the attempt hang.
func (w *Web) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	to, err := w.dialTarget(ctx, network, addr)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if err := ctx.Err(); err != nil { // net.Dialer does not try, either
		return nil, &net.OpError{Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(to), Err: err}
	}
	d := w.newDial(to)
	c, err := w.connect(ctx, to, d)
	if err != nil {
		w.mu.Lock()
		d.End, d.Err = time.Now(), err.Error()
		w.mu.Unlock()
		return nil, &net.OpError{Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(to), Err: err}
	}
	return c, nil
}

func (w *Web) newDial(to netip.AddrPort) *Dial {
	d := &Dial{Addr: to, Start: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dials = append(w.dials, d)
	return d
}

func (w *Web) dialTarget(ctx context.Context, network, addr string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.AddrPort{}, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, &net.AddrError{Err: "invalid port", Addr: addr}
	}
	want := "ip"
	if last := network[len(network)-1]; last == '4' || last == '6' {
		want += string(last)
	}
	ips, err := w.LookupNetIP(ctx, want, host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	return netip.AddrPortFrom(ips[0].Unmap(), uint16(n)), nil
}

// connect opens the connection, or fails as the sites at the address are configured to fail.
func (w *Web) connect(ctx context.Context, to netip.AddrPort, d *Dial) (net.Conn, error) {
	listening, secure, fault := w.at(to)
	switch {
	case w.base.Err() != nil:
		return nil, net.ErrClosed
	case !listening || fault.kind == faultRefuse:
		return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case fault.kind == faultNoConnect:
		return nil, w.hang(ctx)
	case fault.kind == faultSlowConnect && !w.pause(ctx, fault.wait):
		return nil, cmp.Or(ctx.Err(), net.ErrClosed)
	}
	client, sc := w.newConn(to, secure, d)
	if sc == nil {
		return nil, net.ErrClosed
	}
	if fault.kind == faultResetOnConnect {
		sc.raw.reset()
		w.dropConn(sc)
		return client, nil
	}
	select {
	case w.lst.conns <- sc:
		return client, nil
	case <-ctx.Done():
		w.dropConn(sc)
		return nil, ctx.Err()
	case <-w.lst.done:
		w.dropConn(sc)
		return nil, net.ErrClosed
	}
}

// hang waits for the end of the context or of the Web.
func (w *Web) hang(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.base.Done():
		return net.ErrClosed
	}
}

// at returns whether a site listens at an address, whether it uses TLS, and the fault of this attempt.
func (w *Web) at(to netip.AddrPort) (listening, secure bool, fault Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sites {
		if s.port != to.Port() || !s.name.has(to.Addr()) {
			continue
		}
		listening = true
		secure = secure || s.scheme == "https"
		if f := s.fault(stageConnect, nil, nil); f != nil && fault.kind == 0 {
			fault = *f
		}
	}
	return listening, secure, fault
}

// newConn creates a connection and its record. Close waits for its end. After Close, newConn returns nil.
func (w *Web) newConn(to netip.AddrPort, secure bool, d *Dial) (net.Conn, *serverConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, nil
	}
	w.connID++
	from := &net.TCPAddr{IP: net.IPv4(198, 18, 0, 1), Port: 10000 + w.connID%50000}
	client, server := pipe(from, net.TCPAddrFromAddrPort(to))
	sc := &serverConn{Conn: server, raw: server, web: w, id: w.connID, addr: to, tls: secure, dial: d}
	server.out.pushed = func() { w.sent(sc) }
	client.closing = func() { w.hungUp(sc) }
	server.closing = func() { w.hungUp(sc) }
	if secure {
		sc.Conn = tls.Server(server, w.tlsConfig())
	}
	w.wg.Add(1)
	w.conns[sc] = struct{}{}
	return client, sc
}

// dropConn ends a connection that no server has accepted.
func (w *Web) dropConn(sc *serverConn) {
	_ = sc.Close()
	w.mu.Lock()
	over := sc.over
	sc.over = true
	w.mu.Unlock()
	if !over {
		w.wg.Done()
	}
}
